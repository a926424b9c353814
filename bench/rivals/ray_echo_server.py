"""An echo behind Ray Serve's gRPC ingress, ``/bench.Echo/Call``: HTTP on the given port, gRPC on the next."""

import os
import signal
import sys
import threading
from typing import Any

import grpc
import ray
from google.protobuf.wrappers_pb2 import BytesValue
from ray import serve
from ray.serve.config import gRPCOptions


def add_echo_to_server(servicer: Any, server: Any) -> None:
    """Add the one method; written as the generated code would do it."""
    handlers = {
        "Call": grpc.unary_unary_rpc_method_handler(
            servicer.Call, request_deserializer=BytesValue.FromString, response_serializer=BytesValue.SerializeToString
        )
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("bench.Echo", handlers),))


class Echo:
    """One replica."""

    async def Call(self, message: BytesValue) -> BytesValue:  # noqa: N802  # the method's name on the wire
        """Return what came."""
        return BytesValue(value=message.value)


def main() -> None:
    """Serve until SIGTERM."""
    stopped = threading.Event()
    ray.init(
        num_cpus=4,
        include_dashboard=False,
        logging_level="ERROR",
        runtime_env={"env_vars": {"PYTHONPATH": os.environ["PYTHONPATH"]}},
        object_store_memory=200 * 2**20,
    )
    add = f"{add_echo_to_server.__module__}.{add_echo_to_server.__name__}"
    if add.startswith("__main__"):
        add = f"bench.rivals.ray_echo_server.{add_echo_to_server.__name__}"
    serve.start(
        http_options={"host": "127.0.0.1", "port": int(sys.argv[1])},
        grpc_options=gRPCOptions(port=int(sys.argv[1]) + 1, grpc_servicer_functions=[add]),
    )
    quiet = {"enable_access_log": False}
    deployed = serve.deployment(max_ongoing_requests=2000, ray_actor_options={"num_cpus": 1}, logging_config=quiet)(
        Echo
    )
    serve.run(deployed.bind(), name="app", route_prefix="/predict")
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    stopped.wait()
    serve.shutdown()
    ray.shutdown()


if __name__ == "__main__":
    main()

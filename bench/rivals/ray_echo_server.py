"""An echo behind Ray Serve's gRPC ingress, ``/bench.Echo/Call``: HTTP on the given port, gRPC on the next."""

import sys
from typing import Any

import grpc
from google.protobuf.wrappers_pb2 import BytesValue
from ray.serve.config import gRPCOptions

from bench.rivals.ray_process import serve_until_told


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
    add = f"{add_echo_to_server.__module__}.{add_echo_to_server.__name__}"
    if add.startswith("__main__"):
        add = f"bench.rivals.ray_echo_server.{add_echo_to_server.__name__}"
    port = int(sys.argv[1])
    options = gRPCOptions(port=port + 1, grpc_servicer_functions=[add])
    serve_until_told(Echo, {}, http_options={"host": "127.0.0.1", "port": port}, grpc_options=options)


if __name__ == "__main__":
    main()

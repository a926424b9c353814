"""A process that serves one class with Ray Serve until SIGTERM, as both rivals here do. Runs in Ray's environment."""

import os
import signal
import threading
from typing import Any

import ray
from ray import serve

# A log line a request is no part of what is measured, and the others write none.
QUIET = {"enable_access_log": False}


def serve_until_told(served: type, variables: dict[str, str], **start: Any) -> None:
    """Serve one replica of ``served``; ``variables`` are its environment's, ``start`` is for ``serve.start``."""
    stopped = threading.Event()
    ray.init(
        num_cpus=4,
        include_dashboard=False,
        logging_level="ERROR",
        runtime_env={"env_vars": {"PYTHONPATH": os.environ["PYTHONPATH"], **variables}},
        object_store_memory=200 * 2**20,
    )
    serve.start(**start)
    as_deployment = serve.deployment(max_ongoing_requests=2000, ray_actor_options={"num_cpus": 1}, logging_config=QUIET)
    serve.run(as_deployment(served).bind(), name="app", route_prefix="/predict")
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    stopped.wait()
    serve.shutdown()
    ray.shutdown()

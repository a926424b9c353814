"""The benchmark's model behind Ray Serve's batching: ``POST /predict {"n": steps}`` on the port in the arguments."""

import os
import signal
import sys
import threading

import ray
from ray import serve
from starlette.requests import Request

from bench.rivals.model import MAX_BATCH, MAX_WAIT_S, PaddedMlp


class Model:
    """One replica; its loop is blocked while a batch runs, as in Ray's own examples."""

    def __init__(self) -> None:
        self._model = PaddedMlp()

    @serve.batch(max_batch_size=MAX_BATCH, batch_wait_timeout_s=MAX_WAIT_S)
    async def many(self, steps: list[int]) -> list[float]:
        """Run a batch."""
        return self._model.run(steps)

    async def __call__(self, request: Request) -> dict[str, float]:
        """Answer one request."""
        return {"out": await self.many((await request.json())["n"])}


def main() -> None:
    """Serve until SIGTERM."""
    stopped = threading.Event()
    variables = {"PYTHONPATH": os.environ["PYTHONPATH"], "OPENBLAS_NUM_THREADS": "1"}
    ray.init(
        num_cpus=4,
        include_dashboard=False,
        logging_level="ERROR",
        runtime_env={"env_vars": variables},
        object_store_memory=200 * 2**20,
    )
    serve.start(http_options={"host": "127.0.0.1", "port": int(sys.argv[1])})
    # A log line a request is no part of batching, and the others write none.
    quiet = {"enable_access_log": False}
    as_deployment = serve.deployment(max_ongoing_requests=2000, ray_actor_options={"num_cpus": 1}, logging_config=quiet)
    deployed = as_deployment(Model)
    serve.run(deployed.bind(), name="app", route_prefix="/predict")
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    stopped.wait()
    serve.shutdown()
    ray.shutdown()


if __name__ == "__main__":
    main()

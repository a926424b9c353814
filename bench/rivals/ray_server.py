"""The benchmark's model behind Ray Serve's batching: ``POST /predict {"n": steps}`` on the port in the arguments."""

import sys

from ray import serve
from starlette.requests import Request

from bench.rivals.model import MAX_BATCH, MAX_WAIT_S, PaddedMlp
from bench.rivals.ray_process import serve_until_told


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
    http = {"host": "127.0.0.1", "port": int(sys.argv[1])}
    serve_until_told(Model, {"OPENBLAS_NUM_THREADS": "1"}, http_options=http)


if __name__ == "__main__":
    main()

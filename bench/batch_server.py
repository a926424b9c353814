"""The benchmark's model behind this project's batcher, on gRPC as the services are; started by batching.py.

A request is its number of steps in ASCII, the answer a number in ASCII. ``Batches`` answers how many batches ran.
"""

import asyncio
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any

import grpc

from bench.rivals.model import MAX_BATCH, MAX_WAIT_S, PaddedMlp
from services.common.errors import Internal
from services.common.grpc_errors import status_from_error
from services.common.grpc_server import Hosted, open_server
from services.inference.batching import Batcher
from services.inference.isolated import IsolatedModel
from services.inference.lanes import BatchSettings

NAME = "attune.bench.Batch"
RUN = f"/{NAME}/Run"
BATCHES = f"/{NAME}/Batches"


def load_model() -> Callable[[list[int]], Sequence[float]]:
    """Return the model; called in its process."""
    return PaddedMlp().run


class BatchServicer:
    """The two methods, bound to a batcher."""

    def __init__(self, model: IsolatedModel[int, float]) -> None:
        self._model = model
        self._batches = 0
        settings = BatchSettings(max_batch=MAX_BATCH, max_wait_s=MAX_WAIT_S, workers=1, max_queue=4096)
        # numpy has its one thread from the environment; there is no torch here to be told.
        self.batcher: Batcher[int, float] = Batcher("bench", settings, self._run_batch, lambda: None)

    def _run_batch(self, steps: list[int]) -> Sequence[float | Exception]:
        self._batches += 1
        return self._model(steps)

    async def run(self, request: bytes, context: grpc.aio.ServicerContext[bytes, bytes]) -> bytes:
        """Answer one request."""
        steps = int(request)
        try:
            answer = await self.batcher.submit(steps, size=float(abs(steps)))
        except Exception as error:
            if isinstance(error, ValueError):
                error = Internal(str(error))
            await context.abort_with_status(status_from_error(error))
        return str(answer.value).encode()

    async def batches(self, _request: bytes, _context: Any) -> bytes:
        """Answer how many batches have run."""
        return str(self._batches).encode()


def hosted(servicer: BatchServicer) -> Hosted:
    """Return the service as the server hosts it; bytes travel as they are."""
    handlers: dict[str, grpc.RpcMethodHandler[bytes, bytes]] = {
        "Run": grpc.unary_unary_rpc_method_handler(servicer.run),
        "Batches": grpc.unary_unary_rpc_method_handler(servicer.batches),
    }
    handler = grpc.method_handlers_generic_handler(NAME, handlers)
    return Hosted(NAME, lambda server: server.add_generic_rpc_handlers((handler,)))


async def main(port: int) -> None:
    """Serve until SIGTERM."""
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    with IsolatedModel[int, float](load_model) as model:
        servicer = BatchServicer(model)
        await serve(servicer, port, stopped)


async def serve(servicer: BatchServicer, port: int, stopped: asyncio.Event) -> None:
    """Serve until ``stopped``."""
    async with servicer.batcher, open_server(f"127.0.0.1:{port}", [hosted(servicer)], drain_s=1.0):
        await stopped.wait()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))

"""Runs a model's batches in processes of their own: requests in, results out, as if the model were called.

For models that take and give the GIL hundreds of times a batch, as networks of many small layers do: beside a busy
event loop each of these times waits for it. A model that crashes takes its process with it, not the service. The
Batcher calls it on its worker threads, each of which has a process to itself.
"""

import multiprocessing
import signal
import threading
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Generic, Self, TypeVar

import structlog

from services.common.errors import Unavailable
from services.common.tether import tie_to_parent

Request = TypeVar("Request")
Result = TypeVar("Result")

Model = Callable[[list[Request]], Sequence[Result | Exception]]

log = structlog.get_logger(__name__)


class ModelDied(Unavailable):
    """The process of the model ended while it ran a batch; the next batch has a new one."""


class IsolatedModel(Generic[Request, Result]):
    """A model in as many processes as threads call it; ``load`` makes it there and must be importable by name.

    Requests, results and exceptions travel pickled.
    """

    def __init__(self, load: Callable[[], Model[Request, Result]]) -> None:
        self._load = load
        self._of_thread = threading.local()
        self._opened: list[_Worker[Request, Result]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._opened:
            worker.close()

    def __call__(self, requests: list[Request]) -> Sequence[Result | Exception]:
        """Return the model's results or raise what it raises; ModelDied when its process ended."""
        return self._worker().run(requests)

    def _worker(self) -> "_Worker[Request, Result]":
        worker: _Worker[Request, Result] | None = getattr(self._of_thread, "worker", None)
        if worker is not None and worker.alive:
            return worker
        if worker is not None:
            self._opened.remove(worker)
            worker.close()
        self._of_thread.worker = worker = _Worker(self._load)
        self._opened.append(worker)
        worker.load()
        return worker


class _Worker(Generic[Request, Result]):
    """One process and the pipe to it."""

    def __init__(self, load: Callable[[], Model[Request, Result]]) -> None:
        spawn = multiprocessing.get_context("spawn")  # a fork after gRPC has started its threads can hang
        self._pipe, theirs = spawn.Pipe()
        self._process: BaseProcess = spawn.Process(target=_serve, args=(theirs, load), daemon=True)
        self._process.start()
        theirs.close()

    def load(self) -> None:
        """Wait until the model is loaded; raises what loading raises."""
        self._receive()

    @property
    def alive(self) -> bool:
        """Whether the process can take a batch."""
        return self._process.is_alive()

    def run(self, requests: list[Request]) -> Sequence[Result | Exception]:
        """Return the results of a batch."""
        try:
            self._pipe.send(requests)
        except OSError as error:
            raise self._died() from error
        return self._receive()

    def close(self) -> None:
        """End the process; a batch that runs is lost."""
        self._process.kill()
        self._process.join()
        self._pipe.close()

    def _receive(self) -> Sequence[Result | Exception]:
        try:
            answer: Sequence[Result | Exception] | Exception = self._pipe.recv()
        except (EOFError, OSError) as error:
            raise self._died() from error
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _died(self) -> ModelDied:
        self._process.join()
        log.warning("model_process_died", exit_code=self._process.exitcode)
        return ModelDied(f"the model's process ended with {self._process.exitcode}")


def _serve(pipe: Connection, load: Callable[[], Model[Request, Result]]) -> None:
    """Load the model and run batches until the pipe closes; in the process."""
    tie_to_parent(signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal reaches the whole group: the parent decides
    try:
        model = load()
    except Exception as error:
        pipe.send(error)
        return
    pipe.send(())
    while True:
        try:
            requests = pipe.recv()
        except EOFError:
            return
        pipe.send(_answer(model, requests))


def _answer(model: Model[Request, Result], requests: list[Request]) -> Sequence[Result | Exception] | Exception:
    try:
        return model(requests)
    except Exception as error:
        return error

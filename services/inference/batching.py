"""Runs requests in batches on worker threads: single requests in, their results with what they cost out.

Engines submit; what to run when is the core's business, this is the thin shell of futures, threads and a timer around
it. A worker that is done asks the core itself for its next batch, so the device does not wait for a busy event loop;
all else but ``run_batch`` happens on the loop. One lock guards the core.
"""

import asyncio
import math
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Self, TypeVar

import structlog
from opentelemetry import context, trace

from services.common.deadlines import Deadline
from services.common.errors import DeadlineExceeded, Overloaded, Unavailable
from services.common.types import StageTiming
from services.inference.batch_core import Ask, BatchCore, Turn
from services.inference.batch_metrics import BatchMetrics
from services.inference.gate import Gate
from services.inference.lanes import LIVE, Batch, BatchSettings, Job, Ticket
from services.inference.worker import Timed, use_one_compute_thread

Request = TypeVar("Request")
Result = TypeVar("Result")

RunBatch = Callable[[list[Request]], Sequence[Result | Exception]]

NOTHING: Turn[Any] = Turn((), (), math.inf)

log = structlog.get_logger(__name__)
tracer = trace.get_tracer(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class _Call(Generic[Request, Result]):
    """A request, who waits for it, and the span it belongs to."""

    request: Request
    answer: "asyncio.Future[Timed[Result]]"
    parent: context.Context


@dataclass(frozen=True, slots=True)
class _Ran(Generic[Result]):
    """How a batch ended on its thread: results, or what it raised, or neither when it was not run."""

    started_ns: int
    seconds: float = 0.0
    results: Sequence[Result | Exception] = ()
    error: Exception | None = None


class Batcher(Generic[Request, Result]):
    """Batches calls of ``run_batch``, which blocks, on ``settings.workers`` threads.

    ``run_batch`` takes a list of requests and returns as many results, each a value or the exception for its caller.
    When it raises, halves are run again until the request that makes it raise is alone: it must bear being repeated.
    ``gate`` is where the batcher shares its device with others.
    """

    def __init__(
        self,
        name: str,
        settings: BatchSettings,
        run_batch: RunBatch[Request, Result],
        set_up_thread: Callable[[], object] = use_one_compute_thread,
        gate: Gate | None = None,
    ) -> None:
        self._name = name
        self._run_batch = run_batch
        self._core: BatchCore[_Call[Request, Result]] = BatchCore(settings, gate)
        self._gate = self._core.gate
        self._lock = threading.Lock()
        self._metrics = BatchMetrics(name)
        self._threads = ThreadPoolExecutor(settings.workers, thread_name_prefix=name, initializer=set_up_thread)
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._turn_is_due = False
        self._closed = False
        self._gate.opened(partial(self._loop.call_soon_threadsafe, self._turn), lambda: self._core.waiting)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Refuse what waits; wait for what runs."""
        with self._lock:
            self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        self._refuse_waiting()
        await asyncio.to_thread(self._threads.shutdown, wait=True)

    async def submit(
        self,
        request: Request,
        *,
        size: float = 1.0,
        kind: Hashable = None,
        deadline: Deadline | None = None,
        job: Job = LIVE,
    ) -> Timed[Result]:
        """Return the result of ``request``. A caller that is cancelled while it waits takes the request with it.

        ``size`` is what the cost depends on and what others would be padded to; ``run_batch`` is given requests of one
        ``kind`` at a time. Overloaded when the queue is full,
        DeadlineExceeded when the deadline passes before it runs, Unavailable when the batcher closes first.
        """
        if self._closed:
            raise Unavailable(f"{self._name} is shutting down")
        if self._core.full:
            raise self._overloaded()
        call: _Call[Request, Result] = _Call(request, self._loop.create_future(), context.get_current())
        ask = Ask(size, math.inf if deadline is None else deadline.at, job, kind)
        with self._lock:
            ticket = self._core.add(call, ask, time.monotonic())
        self._turn_soon()
        try:
            return await call.answer
        except asyncio.CancelledError:
            self._leave(ticket)
            raise

    def _overloaded(self) -> Overloaded:
        self._metrics.not_run("overloaded")
        waiting = f"{self._name}: {self._core.waiting} requests are waiting"
        return Overloaded(waiting, retry_after_s=self._core.retry_after_s())

    def _refuse_waiting(self) -> None:
        with self._lock:
            waiting = list(self._core.queued())
            self._gate.withdraw()
        for ticket in waiting:
            self._fail(ticket, Unavailable(f"{self._name} is shutting down"))

    def healthy(self) -> bool:
        """Return whether work moves on; for the health service."""
        with self._lock:
            return self._core.healthy(time.monotonic())

    def _leave(self, ticket: Ticket[_Call[Request, Result]]) -> None:
        if ticket.queued:
            self._metrics.not_run("left")
        with self._lock:
            self._core.leave(ticket)

    def _turn_soon(self) -> None:
        # Requests that arrive in one pass of the loop are seen together.
        if not self._turn_is_due:
            self._turn_is_due = True
            self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        self._turn_is_due = False
        if self._closed:
            self._refuse_waiting()  # halves of a batch that failed meanwhile
            return
        with self._lock:
            now = time.monotonic()
            turn = self._core.poll(now)
        for batch in turn.batches:
            self._threads.submit(self._work, batch)
        self._expire(turn.expired)
        self._wake(None if turn.wake_at == math.inf else turn.wake_at - now)

    def _expire(self, tickets: Sequence[Ticket[_Call[Request, Result]]]) -> None:
        for ticket in tickets:
            self._metrics.not_run("deadline")
            self._fail(ticket, DeadlineExceeded("the deadline passed while the request was waiting for a worker"))

    def _wake(self, delay_s: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if delay_s is None else self._loop.call_later(max(0.0, delay_s), self._turn)

    def _work(self, batch: Batch[_Call[Request, Result]]) -> None:
        """Run a batch, then whatever is due next; on a worker thread."""
        following: Batch[_Call[Request, Result]] | None = batch
        while following is not None:
            ran = self._ran(following)
            following = self._next_after(following, ran)

    def _ran(self, batch: Batch[_Call[Request, Result]]) -> _Ran[Result]:
        started_ns = time.time_ns()
        try:
            return _Ran(started_ns) if batch.abandoned else self._timed(batch, started_ns)
        except BaseException as error:  # whatever it raises, its callers must hear of it and its worker be free again
            return _Ran(started_ns, error=_for_caller(error))

    def _next_after(
        self, batch: Batch[_Call[Request, Result]], ran: _Ran[Result]
    ) -> Batch[_Call[Request, Result]] | None:
        """Take note that a batch has ended, and return what this worker runs next; the loop hears of both."""
        with self._lock:
            now = time.monotonic()
            culprit = self._core.failed(batch, now) if ran.error else None
            if ran.error is None:
                self._core.finished(batch, ran.seconds, now)
            turn = NOTHING if self._closed else self._core.poll(now)
            if self._closed:
                self._gate.withdraw()
            for other in turn.batches[1:]:
                self._threads.submit(self._work, other)
        self._loop.call_soon_threadsafe(self._ended, batch, ran, culprit, turn.expired)
        return turn.batches[0] if turn.batches else None

    def _timed(self, batch: Batch[_Call[Request, Result]], started_ns: int) -> _Ran[Result]:
        clock = time.perf_counter()
        results = self._run_batch(_requests(batch))
        seconds = time.perf_counter() - clock
        if len(results) != len(batch.tickets):
            raise ValueError(f"{self._name}: {len(batch.tickets)} requests were answered with {len(results)} results")
        return _Ran(started_ns, seconds, results)

    def _ended(
        self,
        batch: Batch[_Call[Request, Result]],
        ran: _Ran[Result],
        culprit: Ticket[_Call[Request, Result]] | None,
        expired: Sequence[Ticket[_Call[Request, Result]]],
    ) -> None:
        """Answer the callers of a batch; on the loop."""
        self._expire(expired)
        self._turn_soon()  # the core has moved on, and with it the moment to look again
        if ran.error is not None:
            log.warning("batch_failed", batcher=self._name, size=len(batch.tickets), error=repr(ran.error))
            if culprit is not None:
                self._metrics.poisoned()
                self._fail(culprit, ran.error)
        elif ran.results:
            self._metrics.ran(batch, self._core.empty_window_share)
            self._gate.ran(batch, ran.seconds, _requests(batch), ran.results)
            self._answer(batch, ran)

    def _answer(self, batch: Batch[_Call[Request, Result]], ran: _Ran[Result]) -> None:
        compute_us = round(ran.seconds * 1e6)
        for ticket, result in zip(batch.tickets, ran.results, strict=True):
            if isinstance(result, Exception):
                self._fail(ticket, result)
                continue
            timing = StageTiming(round((batch.started - ticket.arrived) * 1e6), compute_us)
            if not ticket.item.answer.done():
                ticket.item.answer.set_result(Timed(result, timing, batch.shape.count))
            self._trace(ticket.item.parent, batch, ran, timing)

    def _trace(
        self, parent: context.Context, batch: Batch[_Call[Request, Result]], ran: _Ran[Result], timing: StageTiming
    ) -> None:
        span = tracer.start_span(f"{self._name}.compute", parent, start_time=ran.started_ns)
        span.set_attribute("queue_us", timing.queue_us)
        span.set_attribute("batch_size", batch.shape.count)
        span.end(ran.started_ns + round(ran.seconds * 1e9))

    def _fail(self, ticket: Ticket[_Call[Request, Result]], error: Exception) -> None:
        if not ticket.item.answer.done():
            ticket.item.answer.set_exception(error)


def _requests(batch: Batch[_Call[Request, Result]]) -> list[Request]:
    return [ticket.item.request for ticket in batch.tickets]


def _for_caller(error: BaseException) -> Exception:
    """Return what a future can carry: a caller must not be cancelled, ended or stopped by what its model raises."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    return RuntimeError(f"the model raised {error!r}")

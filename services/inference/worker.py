"""Runs model work off the event loop: a pool of threads with one compute thread each, and a bounded queue before it.

On CPU two workers with one thread each do more than one worker with two (docs/benchmarks.md). Engines call ``run``.
"""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Generic, Self, TypeVar

from opentelemetry import context, trace

from services.common.errors import Overloaded
from services.common.types import StageTiming

Result = TypeVar("Result")

# Shorter jobs leave no span: a live session steps several times a second even in silence.
SPAN_FROM_US = 3_000

tracer = trace.get_tracer(__name__)


@dataclass(frozen=True, slots=True)
class Timed(Generic[Result]):
    """A result and what it cost; the compute time was spent on so many results ``together``."""

    value: Result
    timing: StageTiming
    together: int = 1


class Workers:
    """``count`` threads; at most ``queue_size`` jobs wait, the next caller is refused with Overloaded."""

    def __init__(self, name: str, count: int, queue_size: int) -> None:
        self._name = name
        self._limit = count + queue_size
        self._running = 0
        self._threads = ThreadPoolExecutor(count, thread_name_prefix=name, initializer=use_one_compute_thread)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self._threads.shutdown, wait=True, cancel_futures=True)

    async def run(self, job: Callable[[], Result]) -> Timed[Result]:
        """Run ``job`` on a worker. A caller that is cancelled while its job waits takes the job with it."""
        if self._running >= self._limit:
            raise Overloaded(f"{self._name}: {self._limit} jobs are waiting or running", retry_after_s=1.0)
        self._running += 1
        try:
            queued_ns = time.monotonic_ns()
            parent = context.get_current()
            return await asyncio.wrap_future(self._threads.submit(self._timed, job, queued_ns, parent))
        finally:
            self._running -= 1

    def _timed(self, job: Callable[[], Result], queued_ns: int, parent: context.Context) -> Timed[Result]:
        started_ns = time.monotonic_ns()
        value = job()
        timing = StageTiming((started_ns - queued_ns) // 1000, (time.monotonic_ns() - started_ns) // 1000)
        if timing.compute_us >= SPAN_FROM_US:
            self._trace(timing, parent)
        return Timed(value, timing)

    def _trace(self, timing: StageTiming, parent: context.Context) -> None:
        ended_ns = time.time_ns()
        started_ns = ended_ns - timing.compute_us * 1000
        attributes = {"queue_us": timing.queue_us, "compute_us": timing.compute_us}
        tracer.start_span(f"{self._name}.compute", parent, attributes=attributes, start_time=started_ns).end(ended_ns)


def use_one_compute_thread() -> None:
    """Keep torch from spreading one worker's work over all cores; every worker thread calls it first."""
    import torch  # here, so that a process whose engines need no torch does not load it

    torch.set_num_threads(1)

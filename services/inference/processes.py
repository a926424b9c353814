"""Decodes media in processes of its own: decoding holds the GIL, and a broken file may take its process with it.

Engines hand it module-level functions from modules that import neither torch nor grpc. Jobs may write into an arena.
"""

import asyncio
import multiprocessing
import signal
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial
from typing import Any, Self, TypeVar

import structlog

from services.common.errors import InvalidInput, Overloaded, Unavailable
from services.common.tether import tie_to_parent
from services.inference.arena import Arena, set_arena_here

Result = TypeVar("Result")

NOTHING = nullcontext()

log = structlog.get_logger(__name__)


class Processes:
    """``count`` spawned processes; at most ``queue_size`` jobs wait, and none may run longer than ``timeout_s``.

    Each process opens ``arena`` once, when it starts.
    """

    def __init__(self, name: str, count: int, queue_size: int, timeout_s: float, *, arena: Arena | None = None) -> None:
        self._name = name
        self._count = count
        self._limit = count + queue_size
        self._timeout_s = timeout_s
        self._arena = arena
        self._running = 0
        self._closed = False
        self._pools: set[ProcessPoolExecutor] = set()
        # A pool for each process: a file that kills its process takes no other file along.
        self._idle: asyncio.Queue[ProcessPoolExecutor] = asyncio.Queue()
        for _ in range(count):
            self._idle.put_nowait(self._new_pool())

    def _new_pool(self) -> ProcessPoolExecutor:
        # spawn: a fork after gRPC has started its threads can hang.
        spawn = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(1, mp_context=spawn, initializer=_begin, initargs=(self._arena,))
        self._pools.add(pool)
        return pool

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._closed = True
        for pool in self._pools:
            _kill(pool)
            await asyncio.to_thread(pool.shutdown)

    async def warm_up(self, job: Callable[..., Any], *args: Any) -> None:
        """Start every process now, so that the first request does not wait for it."""
        await asyncio.gather(*(self.run(job, *args) for _ in range(self._count)))

    async def run(
        self, job: Callable[..., Result], *args: Any, using: AbstractContextManager[object] = NOTHING
    ) -> Result:
        """Run ``job(*args)`` in a process; InvalidInput when two processes die of it or it takes too long.

        ``using`` is entered for as long as a process is at it, which may be longer than its caller waits; a second
        process enters it again. Overloaded when there is no room; Unavailable when the processes are ended meanwhile.
        """
        if self._running >= self._limit:
            raise Overloaded(f"{self._name}: {self._limit} files are waiting or being decoded", retry_after_s=1.0)
        self._running += 1
        try:
            return await self._run_twice(partial(job, *args), using)
        finally:
            self._running -= 1

    async def _run_twice(self, job: Callable[[], Result], using: AbstractContextManager[object]) -> Result:
        try:
            return await self._run_on(await self._idle.get(), job, using)
        except BrokenProcessPool as error:
            if self._closed:
                raise Unavailable(f"{self._name}: ended while a file was decoded") from error
            # Something else may have killed it, such as the kernel for want of memory.
            log.warning("decoder_died", pool=self._name)
        try:
            return await self._run_on(await self._idle.get(), job, using)
        except BrokenProcessPool as error:
            raise InvalidInput("the file made its decoder fail") from error

    async def _run_on(
        self, pool: ProcessPoolExecutor, job: Callable[[], Result], using: AbstractContextManager[object]
    ) -> Result:
        loop = asyncio.get_running_loop()
        try:
            future = pool.submit(job)
        except BrokenProcessPool:  # it died while it was idle
            pool = self._replaced(pool)
            future = pool.submit(job)
        held = ExitStack()
        held.enter_context(using)
        # The process that hangs cannot be told to stop otherwise; its end ends the job.
        overdue = loop.call_later(self._timeout_s, _kill, pool)
        held.callback(overdue.cancel)
        future.add_done_callback(lambda done: loop.call_soon_threadsafe(self._finish, pool, done, held))
        try:
            # A caller that leaves does not end the job: its process is idle again only after it.
            return await asyncio.shield(asyncio.wrap_future(future))
        except BrokenProcessPool as error:
            if loop.time() >= overdue.when():
                raise InvalidInput(f"the file took longer than {self._timeout_s:g} s to decode") from error
            raise

    def _finish(self, pool: ProcessPoolExecutor, done: Future[Any], held: ExitStack) -> None:
        held.close()
        if self._closed:
            return
        broken = isinstance(done.exception(), BrokenProcessPool)
        self._idle.put_nowait(self._replaced(pool) if broken else pool)

    def _replaced(self, broken: ProcessPoolExecutor) -> ProcessPoolExecutor:
        log.warning("decoder_process_replaced", pool=self._name)
        self._pools.discard(broken)
        broken.shutdown(wait=False)
        return self._new_pool()


def _begin(arena: Arena | None) -> None:
    """Set a new process up; in the process."""
    # A worker whose service was killed would wait for work for ever. SIGKILL: it has nothing to finish, and one that is
    # stopped would not hear anything else.
    tie_to_parent(signal.SIGKILL)
    if arena is not None:
        set_arena_here(arena)


def _kill(pool: ProcessPoolExecutor) -> None:
    for process in list((pool._processes or {}).values()):  # no public way to end a running job
        process.kill()  # a stopped process does not hear SIGTERM

"""Decodes media in processes of its own: decoding holds the GIL, and a broken file may take its process with it.

Engines hand it module-level functions from modules that import neither torch nor grpc.
"""

import asyncio
import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Self, TypeVar

import structlog

from services.common.errors import InvalidInput, Overloaded

Result = TypeVar("Result")

log = structlog.get_logger(__name__)


class Processes:
    """``count`` spawned processes; at most ``queue_size`` jobs wait, and none may take longer than ``timeout_s``."""

    def __init__(self, name: str, count: int, queue_size: int, timeout_s: float) -> None:
        self._name = name
        self._count = count
        self._limit = count + queue_size
        self._timeout_s = timeout_s
        self._running = 0
        self._pool = self._new_pool()

    def _new_pool(self) -> ProcessPoolExecutor:
        # spawn: a fork after gRPC has started its threads can hang.
        return ProcessPoolExecutor(self._count, mp_context=multiprocessing.get_context("spawn"))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stop(self._pool)

    async def warm_up(self, job: Callable[..., Any], *args: Any) -> None:
        """Start every process now, so that the first request does not wait for it."""
        await asyncio.gather(*(self.run(job, *args) for _ in range(self._count)))

    async def run(self, job: Callable[..., Result], *args: Any) -> Result:
        """Run ``job(*args)`` in a process; InvalidInput when the process dies of it or it takes too long."""
        if self._running >= self._limit:
            raise Overloaded(f"{self._name}: {self._limit} files are waiting or being decoded", retry_after_s=1.0)
        self._running += 1
        pool = self._pool
        try:
            async with asyncio.timeout(self._timeout_s):
                return await asyncio.wrap_future(pool.submit(job, *args))
        except BrokenProcessPool as error:
            self._replace(pool)
            raise InvalidInput("the file made its decoder fail") from error
        except TimeoutError as error:
            self._replace(pool)  # the process that hangs cannot be told to stop otherwise
            raise InvalidInput(f"the file took longer than {self._timeout_s:g} s to decode") from error
        finally:
            self._running -= 1

    def _replace(self, broken: ProcessPoolExecutor) -> None:
        if self._pool is broken:  # only the first of several victims replaces it
            log.warning("decoder_processes_replaced", pool=self._name)
            self._pool = self._new_pool()
            self._stop(broken)

    @staticmethod
    def _stop(pool: ProcessPoolExecutor) -> None:
        for process in list((pool._processes or {}).values()):  # no public way to end a running job
            process.terminate()
        pool.shutdown(wait=False, cancel_futures=True)

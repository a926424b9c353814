"""Model work off the event loop."""

import asyncio
import threading
import time

import pytest

from services.common.errors import Overloaded
from services.inference.worker import Workers


async def test_results_come_with_their_cost():
    """A job's value comes back with the time it waited and the time it took."""
    async with Workers("w", count=1, queue_size=1) as workers:
        done = await workers.run(lambda: time.sleep(0.02) or 7)
    assert done.value == 7
    assert done.timing.compute_us >= 20_000


async def test_a_full_queue_refuses_at_once():
    """With count + queue_size jobs inside, the next is Overloaded and those inside are done."""
    gate = threading.Event()
    async with Workers("w", count=1, queue_size=1) as workers:
        jobs = [asyncio.create_task(workers.run(lambda: gate.wait(5))) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(Overloaded) as caught:
            await workers.run(lambda: None)
        assert caught.value.retry_after_s
        gate.set()
        assert [done.value for done in await asyncio.gather(*jobs)] == [True, True]
        assert (await workers.run(lambda: 1)).value == 1


async def test_a_caller_that_leaves_takes_its_waiting_job_with_it():
    """A job whose caller was cancelled before it started is never run."""
    gate, ran = threading.Event(), []
    async with Workers("w", count=1, queue_size=5) as workers:
        first = asyncio.create_task(workers.run(lambda: gate.wait(5)))
        second = asyncio.create_task(workers.run(lambda: ran.append(1)))
        await asyncio.sleep(0.01)
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)
        gate.set()
        await first
        await workers.run(lambda: None)
    assert ran == []


async def test_a_job_that_fails_fails_alone():
    """The error is the caller's; the worker goes on."""
    async with Workers("w", count=1, queue_size=1) as workers:
        with pytest.raises(ZeroDivisionError):
            await workers.run(lambda: 1 // 0)
        assert (await workers.run(lambda: 2)).value == 2

"""Work that emits, as a stream."""

import asyncio
from contextlib import aclosing

import pytest

from services.asr.produced import produced
from services.common.errors import InvalidInput


async def test_what_is_emitted_comes_out():
    """In order, and then the stream ends."""

    async def work(emit):
        for number in range(5):
            await emit(number)

    assert [number async for number in produced(work, 2)] == [0, 1, 2, 3, 4]


async def test_an_error_comes_after_what_was_emitted():
    """Also one from inside a task group, by itself."""

    async def work(emit):
        await emit(1)
        async with asyncio.TaskGroup():
            raise InvalidInput("no")

    numbers = produced(work, 2)
    assert await anext(numbers) == 1
    with pytest.raises(InvalidInput):
        await anext(numbers)


async def test_work_waits_for_a_slow_reader():
    """No more than the room is made ahead."""
    made = []

    async def work(emit):
        for number in range(10):
            made.append(number)
            await emit(number)

    async with aclosing(produced(work, 2)) as numbers:
        await anext(numbers)
        for _ in range(10):
            await asyncio.sleep(0)
        assert len(made) <= 4


async def test_closing_the_stream_ends_the_work():
    """No task is left when the reader goes away."""
    ended = asyncio.Event()

    async def work(emit):
        try:
            await emit(1)
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with aclosing(produced(work, 2)) as numbers:
        await anext(numbers)
    assert ended.is_set()
    assert len(asyncio.all_tasks()) == 1

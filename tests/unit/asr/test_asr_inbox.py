"""What waits while a pass runs."""

import asyncio

import pytest

from services.asr.inbox import LEAST_US, Inbox
from services.asr.live import End
from services.common.types import AudioChunk, Flush


def inbox(max_ms=1_000):
    return Inbox(max_ms * 1_000, lambda chunk: len(chunk.data) * 1_000)


def chunk(length, seq=1):
    return AudioChunk(seq, 0, bytes(length))


async def stream(*items):
    for item in items:
        yield item


async def test_audio_is_handed_out_when_it_is_enough():
    """A take waits for as much audio as it asks for."""
    box = inbox()
    async with asyncio.TaskGroup() as group:
        taking = group.create_task(box.take(300_000))
        await box._put(chunk(200))
        assert not taking.done()
        await box._put(chunk(200))
        assert await taking == [chunk(200), chunk(200)]


async def test_a_flush_and_the_end_are_handed_out_at_once():
    """They do not wait for audio."""
    box = inbox()
    await box.fill(stream(chunk(1), Flush("m")))
    assert await box.take(10**9) == [chunk(1), Flush("m"), End()]


async def test_the_sender_waits_when_the_inbox_is_full():
    """Nothing is lost, and nothing more is read until what was taken is done."""
    box = inbox(1_000)
    read = []

    async def sender():
        for seq in range(5):
            read.append(seq)
            yield chunk(400, seq)

    async with asyncio.TaskGroup() as group:
        filling = group.create_task(box.fill(sender()))
        first = await box.take(800_000)
        await asyncio.sleep(0)
        assert read == [0, 1, 2]  # the third waits for room
        second = await box.take(800_000)
        third = await box.take(400_000)
        await filling
    assert [item.seq for item in [*first, *second, *third] if isinstance(item, AudioChunk)] == [0, 1, 2, 3, 4]


async def test_a_chunk_longer_than_the_inbox_is_taken_alone():
    """It could never come in otherwise."""
    box = inbox(100)
    await box._put(chunk(5_000))
    assert await box.take(1) == [chunk(5_000)]


@pytest.mark.parametrize("item", [Flush("m"), chunk(0)])
async def test_what_holds_no_audio_takes_room_too(item):
    """A storm of flushes or empty chunks makes its sender wait; all of it comes through."""
    box = inbox(1_000)
    read = 0

    async def storm():
        nonlocal read
        for _ in range(10_000):
            read += 1
            yield item

    async with asyncio.TaskGroup() as group:
        group.create_task(box.fill(storm()))
        items = await box.take(10**9)
        await asyncio.sleep(0)
        assert read <= 1_000_000 // LEAST_US + 1
        while End() not in items:
            items += await box.take(10**9)
    assert len(items) == 10_001


async def test_a_chunk_that_has_no_room_hurries_the_taker():
    """Else the sender would wait for room and the taker for audio, forever."""
    box = inbox(1_000)
    async with asyncio.TaskGroup() as group:
        group.create_task(box.fill(stream(chunk(100), chunk(950))))
        assert await box.take(200_000) == [chunk(100)]
        assert await box.take(200_000) == [chunk(950), End()]

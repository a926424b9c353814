"""The async side of the ring: two stages that wait for each other."""

import asyncio

import pytest

from services.inference.handoff import Handoff, HandoffClosed
from services.inference.slots import Entry


async def drain(handoff: Handoff[int], most: int) -> list[Entry[int]]:
    """Take until the hand-off ends."""
    seen: list[Entry[int]] = []
    while True:
        try:
            async with handoff.taking(most) as entries:
                await asyncio.sleep(0)
                seen += entries
        except HandoffClosed:
            return seen


@pytest.mark.parametrize(("size", "most"), [(1, 1), (4, 2), (8, 3), (64, 32)])
async def test_batches_of_eight_pass_a_ring_of_any_size(size: int, most: int):
    """All entries come out in order with their batch, even where a batch is larger than the ring."""
    handoff: Handoff[int] = Handoff(size)

    async def produce() -> None:
        for batch in range(5):
            assert await handoff.put(range(batch * 8, batch * 8 + 8)) == batch + 1
        handoff.close()

    async with asyncio.TaskGroup() as group:
        group.create_task(produce())
        draining = group.create_task(drain(handoff, most))
    entries = draining.result()
    assert [entry.value for entry in entries] == list(range(40))
    assert [(entry.batch, entry.index, entry.count) for entry in entries[8:10]] == [(2, 0, 8), (2, 1, 8)]


async def test_a_full_ring_holds_the_producer_back():
    """The producer goes on only when slots are free again, and then without being asked to."""
    handoff: Handoff[int] = Handoff(2)
    putting = asyncio.create_task(handoff.put([1, 2, 3]))
    for _ in range(5):
        await asyncio.sleep(0)
    assert not putting.done()
    async with handoff.taking(1):
        pass
    await putting


async def test_a_consumer_that_fails_gives_its_entries_back():
    """What a failed or cancelled consumer held is taken again, by another and only once."""
    handoff: Handoff[int] = Handoff(4)
    await handoff.put([1, 2, 3])
    with pytest.raises(ZeroDivisionError):
        async with handoff.taking(2):
            raise ZeroDivisionError

    async def stuck() -> None:
        async with handoff.taking(2):
            await asyncio.Event().wait()

    hanging = asyncio.create_task(stuck())
    await asyncio.sleep(0)
    handoff.close()
    others = asyncio.create_task(drain(handoff, 4))
    await asyncio.sleep(0)
    hanging.cancel()
    await asyncio.gather(hanging, return_exceptions=True)
    assert sorted(entry.value for entry in await others) == [1, 2, 3]


async def test_a_producer_cancelled_in_between_leaves_whole_parts_only():
    """What it had handed over is there, the rest is not, and nobody hangs on it."""
    handoff: Handoff[int] = Handoff(2)
    putting = asyncio.create_task(handoff.put([1, 2, 3, 4]))
    await asyncio.sleep(0)
    putting.cancel()
    await asyncio.gather(putting, return_exceptions=True)
    handoff.close()
    assert [entry.value for entry in await drain(handoff, 4)] == [1, 2]


async def test_nothing_is_put_after_the_end():
    """A producer that is late learns it at once, one that waits for room as well."""
    handoff: Handoff[int] = Handoff(1)
    waiting = asyncio.create_task(handoff.put([1, 2]))
    await asyncio.sleep(0)
    handoff.close()
    with pytest.raises(HandoffClosed):
        await waiting
    with pytest.raises(HandoffClosed):
        await handoff.put([3])

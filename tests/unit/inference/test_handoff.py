"""The async side of the slots: callers wait for them, threads take from them."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from services.common.errors import Overloaded
from services.common.ports import Priority
from services.inference.handoff import Handoff
from services.inference.slots import Entry, SlotError


async def settled() -> None:
    """Let all other tasks run as far as they can."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_an_entry_passes_with_its_batch():
    """What is committed is taken by its number, and the slot is free when the taker is done."""
    handoff: Handoff[str] = Handoff(1, most_waiting=0)
    with await handoff.lease() as lease:
        lease.commit("pixels")
        with handoff.taking([lease.sequence]) as entries:
            assert entries == (Entry(lease.sequence, 0, 1, "pixels"),)
            assert handoff.free == 0
        assert handoff.free == 1


async def test_a_full_hand_off_holds_callers_back_in_their_order():
    """Callers go on when slots are free again, the first first, and without being asked to."""
    handoff: Handoff[int] = Handoff(1, most_waiting=9)
    order = []

    async def pass_through(number: int) -> None:
        with await handoff.lease() as lease:
            order.append(number)
            lease.commit(number)
            await asyncio.to_thread(take, lease.sequence)

    def take(sequence: int) -> None:
        with handoff.taking([sequence]):
            pass

    async with asyncio.TaskGroup() as group:
        for number in range(9):
            group.create_task(pass_through(number))
    assert order == list(range(9))
    assert handoff.free == 1


async def test_files_leave_half_of_the_slots_to_live_callers():
    """However many files wait, a live caller has a slot at once, and is not refused because of them."""
    handoff: Handoff[int] = Handoff(4, most_waiting=1)
    with await handoff.lease(Priority.FILE) as first, await handoff.lease(Priority.FILE):
        waiting = asyncio.create_task(handoff.lease(Priority.FILE))
        await settled()
        with pytest.raises(Overloaded):
            await handoff.lease(Priority.FILE)
        with await handoff.lease(), await handoff.lease():
            leaving = asyncio.create_task(handoff.lease())
            await settled()
            leaving.cancel()
        assert not waiting.done()
        with first:
            pass
    with await waiting, await handoff.lease(Priority.FILE):
        pass
    await settled()
    assert handoff.free == 4


async def test_too_many_waiters_are_overloaded():
    """Who would wait beyond the bound is refused; a caller that stops waiting makes room for one."""
    handoff: Handoff[int] = Handoff(1, most_waiting=1)
    with await handoff.lease():
        waiting = asyncio.create_task(handoff.lease())
        await settled()
        with pytest.raises(Overloaded):
            await handoff.lease()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        again = asyncio.create_task(handoff.lease())
        await settled()
        assert not again.done()
    with await again:
        pass
    await settled()
    assert handoff.free == 1


async def test_a_slot_is_given_up_by_its_last_holder():
    """A process that still writes keeps the slot when its caller has left, so nobody else writes there."""
    handoff: Handoff[int] = Handoff(1, most_waiting=1)
    with await handoff.lease() as lease:
        process = lease.__enter__()
    assert handoff.free == 0
    process.__exit__(None, None, None)
    assert handoff.free == 1


async def test_a_caller_that_leaves_while_its_entry_is_read_frees_it_after():
    """The memory stays the reader's to its end, and is free then."""
    handoff: Handoff[int] = Handoff(1, most_waiting=0)
    with await handoff.lease() as lease:
        lease.commit(1)
        reading = handoff.taking([lease.sequence])
        reading.__enter__()
    assert handoff.free == 0
    reading.__exit__(None, None, None)
    assert handoff.free == 1
    with pytest.raises(SlotError), handoff.taking([lease.sequence]):
        pass


async def test_a_batch_that_fails_can_be_taken_again_in_parts():
    """A taker that raises gives its entries back."""
    handoff: Handoff[int] = Handoff(2, most_waiting=0)
    with await handoff.lease() as first, await handoff.lease() as second:
        first.commit(1)
        second.commit(2)
        with pytest.raises(ZeroDivisionError), handoff.taking([first.sequence, second.sequence]):
            raise ZeroDivisionError
        assert handoff.free == 0
        for lease in (first, second):
            with handoff.taking([lease.sequence]):
                pass
    assert handoff.free == 2


async def test_any_threads_and_callers_at_once():
    """Four threads take by up to three what forty callers commit, a quarter of whom leave: each entry once."""
    handoff: Handoff[int] = Handoff(5, most_waiting=40)
    taken: list[int] = []

    def take(sequence: int) -> None:
        with handoff.taking([sequence]) as entries:
            taken.extend(entry.value for entry in entries)

    with ThreadPoolExecutor(4) as threads:

        async def pass_through(number: int) -> None:
            with await handoff.lease() as lease:
                lease.commit(number)
                if number % 4:
                    await asyncio.wrap_future(threads.submit(take, lease.sequence))

        async with asyncio.TaskGroup() as group:
            for number in range(40):
                group.create_task(pass_through(number))
    assert sorted(taken) == [number for number in range(40) if number % 4]
    assert handoff.free == 5

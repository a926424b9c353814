"""The async side of ``slots.py``: callers wait for a slot and commit what was put into it, worker threads take entries.

Claims and commits happen on one event loop; takes happen on any thread. A full hand-off holds its producers back.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import Generic, TypeVar

from services.common.errors import Overloaded
from services.common.ports import Priority
from services.inference.slots import Claim, Entry, Slots, numbered

Value = TypeVar("Value")


class Lease(Generic[Value]):
    """One claimed slot, held by all who have entered it: its caller, and a process that writes into it.

    A caller may leave before the process is done. The slot is given up when the last of them leaves; an entry that is
    being read then is freed after that.
    """

    def __init__(self, handoff: "Handoff[Value]", claim: Claim, priority: Priority) -> None:
        self._handoff = handoff
        self._claim = claim
        self._priority = priority
        self._holders = 0

    @property
    def slot(self) -> int:
        """The number of the slot."""
        return self._claim.slots[0]

    @property
    def sequence(self) -> int:
        """The number of this use of the slot, by which its entry is taken."""
        return self._claim.first

    def __enter__(self) -> "Lease[Value]":
        self._holders += 1
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._holders -= 1
        if self._holders == 0:
            self._handoff.abandon(self._claim)
            self._handoff.left(self._priority)

    def commit(self, value: Value) -> None:
        """Hand the slot over as an entry. SlotError for a second time."""
        self._handoff.commit(self._claim, value)


class Handoff(Generic[Value]):
    """``size`` slots; of each class at most ``most_waiting`` callers wait for one, first come first served.

    Files have at most half of the slots at a time: they may wait long for their turn on the device, and whoever listens
    live must not wait for them to have a slot.
    """

    def __init__(self, size: int, most_waiting: int) -> None:
        self._slots: Slots[Value] = Slots(size)
        self._lock = threading.Lock()
        self._room = asyncio.Semaphore(size)
        self._room_for_files = asyncio.Semaphore(max(1, size // 2))
        self._loop = asyncio.get_running_loop()
        self._most_waiting = most_waiting
        self._waiting = dict.fromkeys(Priority, 0)

    @property
    def free(self) -> int:
        """How many slots nobody uses."""
        return self._slots.free

    async def lease(self, priority: Priority = Priority.LIVE) -> Lease[Value]:
        """Wait for a slot; enter what is returned at once. Overloaded when too many of its class wait already."""
        rooms = [self._room_for_files, self._room] if priority is Priority.FILE else [self._room]
        if any(room.locked() for room in rooms) and self._waiting[priority] >= self._most_waiting:
            raise Overloaded(f"{self._waiting[priority]} wait for a slot", retry_after_s=1.0)
        self._waiting[priority] += 1
        try:
            await _acquire_all(rooms)
        finally:
            self._waiting[priority] -= 1
        with self._lock:
            claim = self._slots.claim(1)
        assert claim is not None, "the semaphore counts the free slots"
        return Lease(self, claim, priority)

    def left(self, priority: Priority) -> None:
        """Take note that a caller of this class has no lease any more."""
        if priority is Priority.FILE:
            self._room_for_files.release()

    def commit(self, claim: Claim, value: Value) -> None:
        """Hand a claimed slot over, as a batch of one."""
        with self._lock:
            self._slots.commit(claim, numbered(claim.first, [value]))

    def abandon(self, claim: Claim) -> None:
        """Give a slot up that is neither written by anybody nor wanted any more."""
        self._change(lambda: self._slots.abandon(claim))

    @contextmanager
    def taking(self, sequences: Sequence[int]) -> Iterator[tuple[Entry[Value], ...]]:
        """Yield committed entries to work on and free their slots; a body that raises gives them back.

        SlotError where one cannot be read: its caller has left, or it is at work elsewhere.
        """
        with self._lock:
            take = self._slots.take(sequences)
        try:
            yield take.entries
            self._change(lambda: self._slots.release(take))
        finally:
            self._change(lambda: self._slots.abandon_take(take))  # nothing, once it is released

    def _change(self, change: Callable[[], None]) -> None:
        with self._lock:
            before = self._slots.free
            change()
            freed = self._slots.free - before
        if freed:
            self._loop.call_soon_threadsafe(self._make_room, freed)

    def _make_room(self, slots: int) -> None:
        for _ in range(slots):
            self._room.release()


async def _acquire_all(rooms: Sequence[asyncio.Semaphore]) -> None:
    """Acquire one after the other; a caller that leaves in between keeps none."""
    with ExitStack() as held:
        for room in rooms:
            await room.acquire()
            held.callback(room.release)
        held.pop_all()

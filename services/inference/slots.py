"""A bounded ring of numbered slots between two stages of unlike devices and batch sizes. Pure: no async, no clock.

The producer claims slots, writes an entry into each and commits them together; the consumer takes committed entries,
in order and as many as suit it, and releases them. Each entry carries its batch's number and count, so a batch of 8 can
be taken by twos and still be known whole. A stage that dies abandons its claim or take: the claim's slots become void,
for its entries were never handed over, and the take's entries come back, before all later ones. ``handoff.py`` is the
async side.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from heapq import heappop, heappush
from typing import Generic, TypeVar

Value = TypeVar("Value")


class SlotError(RuntimeError):
    """A stage used a slot that is not its own, not written yet, or written already."""


class State(StrEnum):
    """Where a slot is in its life; void is a slot whose writer died, to be passed over."""

    FREE = "free"
    WRITING = "writing"
    READY = "ready"
    READING = "reading"
    VOID = "void"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Entry(Generic[Value]):
    """One item of a batch: ``index`` of ``count``, numbered from 0."""

    batch: int
    index: int
    count: int
    value: Value


@dataclass(frozen=True, slots=True)
class Claim:
    """Slots that one producer may write: consecutive sequence numbers from ``first``."""

    number: int
    first: int
    count: int

    @property
    def sequences(self) -> range:
        """The sequence numbers of the slots."""
        return range(self.first, self.first + self.count)


@dataclass(frozen=True, slots=True)
class Take(Generic[Value]):
    """Entries that one consumer works on, oldest first, and the sequence numbers of their slots."""

    number: int
    sequences: tuple[int, ...]
    entries: tuple[Entry[Value], ...]


@dataclass(slots=True)
class _Slot(Generic[Value]):
    # The sequence number tells the slot's present use from the one a lap earlier.
    sequence: int
    state: State = State.FREE
    entry: Entry[Value] | None = None


@dataclass(slots=True)
class Ring(Generic[Value]):
    """``size`` slots. Sequence numbers only grow; number ``n`` lies in slot ``n % size``."""

    size: int
    _slots: list[_Slot[Value]] = field(init=False)
    _oldest: int = 0  # before it every slot is free again
    _next_take: int = 0
    _next_claim: int = 0
    _number: int = 0
    _claims: dict[int, Claim] = field(default_factory=dict)
    _takes: dict[int, Take[Value]] = field(default_factory=dict)
    _returned: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError("a ring needs at least one slot")
        self._slots = [_Slot(sequence) for sequence in range(self.size)]

    @property
    def free(self) -> int:
        """How many slots can be claimed now."""
        return self.size - (self._next_claim - self._oldest)

    @property
    def ready(self) -> int:
        """How many entries can be taken now."""
        self._pass_over_void()
        sequence = self._next_take
        while sequence < self._next_claim and self._slot(sequence).state in (State.READY, State.VOID):
            sequence += 1
        held = sum(self._slot(at).state is State.READY for at in range(self._next_take, sequence))
        return held + len(self._returned)

    @property
    def idle(self) -> bool:
        """Whether nothing is claimed, waiting or being worked on."""
        return self._oldest == self._next_claim

    def claim(self, most: int) -> Claim | None:
        """Return up to ``most`` slots to write, None where there is no room. ValueError for fewer than one."""
        if most < 1:
            raise ValueError("a claim needs at least one slot")
        count = min(most, self.free)
        if count == 0:
            return None
        claim = Claim(self._new_number(), self._next_claim, count)
        for sequence in claim.sequences:
            self._slots[sequence % self.size] = _Slot(sequence, State.WRITING)
        self._next_claim += count
        self._claims[claim.number] = claim
        return claim

    def write(self, claim: Claim, sequence: int, entry: Entry[Value]) -> None:
        """Put an entry into a claimed slot. SlotError for a claim that ended, a foreign slot or a second write."""
        self._check(claim.number in self._claims and sequence in claim.sequences, "is not the writer's", sequence)
        slot = self._slot(sequence)
        self._check(slot.entry is None, "is written already", sequence)
        slot.entry = entry

    def commit(self, claim: Claim) -> None:
        """Hand all slots of a claim over at once. SlotError where one is unwritten, and then none is handed over."""
        self._check(claim.number in self._claims, "is not the writer's", claim.first)
        for sequence in claim.sequences:
            self._check(self._slot(sequence).entry is not None, "was not written", sequence)
        del self._claims[claim.number]
        self._set(claim.sequences, State.READY)

    def abandon_claim(self, claim: Claim) -> None:
        """End a claim whose writer died: what it wrote is torn and is never read. Nothing happens after its commit."""
        if self._claims.pop(claim.number, None) is not None:
            self._set(claim.sequences, State.VOID)
            self._pass_over_void()

    def take(self, most: int) -> Take[Value] | None:
        """Return up to ``most`` of the oldest entries, None where there is none. ValueError for fewer than one."""
        if most < 1:
            raise ValueError("a take needs at least one entry")
        sequences: list[int] = []
        while len(sequences) < most and (sequence := self._next_ready()) is not None:
            sequences.append(sequence)
        if not sequences:
            return None
        self._set(sequences, State.READING)
        take = Take(self._new_number(), tuple(sequences), tuple(self._entry(sequence) for sequence in sequences))
        self._takes[take.number] = take
        return take

    def release(self, take: Take[Value]) -> None:
        """Free the slots of a take whose work is done. SlotError for a take that ended: its work must not count."""
        self._check(take.number in self._takes, "is not the reader's", take.sequences[0])
        del self._takes[take.number]
        self._set(take.sequences, State.DONE)
        self._free_oldest()

    def abandon_take(self, take: Take[Value]) -> None:
        """Give the entries of a reader that died back, to be taken again. Nothing happens after their release."""
        if self._takes.pop(take.number, None) is not None:
            self._set(take.sequences, State.READY)
            for sequence in take.sequences:
                heappush(self._returned, sequence)

    def _next_ready(self) -> int | None:
        if self._returned:
            return heappop(self._returned)
        self._pass_over_void()
        if self._next_take == self._next_claim or self._slot(self._next_take).state is not State.READY:
            return None
        self._next_take += 1
        return self._next_take - 1

    def _pass_over_void(self) -> None:
        while self._next_take < self._next_claim and self._slot(self._next_take).state is State.VOID:
            self._slot(self._next_take).state = State.DONE
            self._next_take += 1
        self._free_oldest()

    def _free_oldest(self) -> None:
        while self._oldest < self._next_take and self._slot(self._oldest).state is State.DONE:
            self._slots[self._oldest % self.size] = _Slot(self._oldest + self.size)
            self._oldest += 1

    def _entry(self, sequence: int) -> Entry[Value]:
        entry = self._slot(sequence).entry
        if entry is None:
            raise SlotError(f"slot {sequence} was not written")
        return entry

    def _set(self, sequences: Sequence[int], state: State) -> None:
        for sequence in sequences:
            self._slot(sequence).state = state

    def _slot(self, sequence: int) -> _Slot[Value]:
        slot = self._slots[sequence % self.size]
        self._check(slot.sequence == sequence, "has gone on to another entry", sequence)
        return slot

    def _check(self, holds: bool, complaint: str, sequence: int) -> None:
        if not holds:
            raise SlotError(f"slot {sequence} {complaint}")

    def _new_number(self) -> int:
        self._number += 1
        return self._number


def numbered(batch: int, values: Sequence[Value]) -> deque[Entry[Value]]:
    """Return the values of a batch as entries that know their place in it."""
    return deque(Entry(batch, index, len(values), value) for index, value in enumerate(values))

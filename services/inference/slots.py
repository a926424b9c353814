"""Numbered slots between a producer and a consumer of unlike batch sizes. Pure: no async, no clock, no memory.

The producer claims slots, fills them and commits them together as a batch; the consumer takes committed entries, in
whatever order and number suit it, and releases them. Each entry carries its batch's number and count, so a batch of 8
can be taken by twos and still be known whole. Nothing waits for its turn here: a slot that is filled slowly holds no
other back. Whoever dies abandons what it had: a claim's entries are never read again, a take's entries come back.
``handoff.py`` is the async side.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, TypeVar

Value = TypeVar("Value")


class SlotError(RuntimeError):
    """Somebody used a slot that is not its own, not written yet, or written already."""


class State(StrEnum):
    """Where a slot in use is in its life."""

    WRITING = "writing"
    READY = "ready"
    READING = "reading"


@dataclass(frozen=True, slots=True)
class Entry(Generic[Value]):
    """One item of a batch: ``index`` of ``count``, numbered from 0."""

    batch: int
    index: int
    count: int
    value: Value


@dataclass(frozen=True, slots=True)
class Claim:
    """Slots that one producer may fill. Each use of a slot has a sequence number, from ``first`` on, that never recurs.

    ``slots[i]`` is where the use ``first + i`` lies.
    """

    first: int
    slots: tuple[int, ...]

    @property
    def sequences(self) -> range:
        """The sequence numbers of the slots."""
        return range(self.first, self.first + len(self.slots))


@dataclass(frozen=True, slots=True)
class Take(Generic[Value]):
    """Entries that one consumer works on, in the order it asked for, and the sequence numbers of their slots."""

    number: int
    sequences: tuple[int, ...]
    entries: tuple[Entry[Value], ...]


@dataclass(slots=True)
class _Use(Generic[Value]):
    slot: int
    state: State = State.WRITING
    entry: Entry[Value] | None = None
    abandoned: bool = False  # by its writer while it was being read: it does not come back


@dataclass(slots=True)
class Slots(Generic[Value]):
    """``size`` slots, numbered from 0."""

    size: int
    _free: list[int] = field(init=False)
    _uses: dict[int, _Use[Value]] = field(default_factory=dict)
    _takes: set[int] = field(default_factory=set)
    _next_sequence: int = 0
    _next_take: int = 0

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError("at least one slot is needed")
        # The slot that was freed last is claimed first: its memory is the warmest, and what is never needed stays cold.
        self._free = list(reversed(range(self.size)))

    @property
    def free(self) -> int:
        """How many slots can be claimed now."""
        return len(self._free)

    @property
    def ready(self) -> int:
        """How many entries can be taken now."""
        return sum(use.state is State.READY for use in self._uses.values())

    def claim(self, most: int) -> Claim | None:
        """Return up to ``most`` slots to fill, None where there is no room. ValueError for fewer than one."""
        if most < 1:
            raise ValueError("a claim needs at least one slot")
        count = min(most, self.free)
        if count == 0:
            return None
        claim = Claim(self._next_sequence, tuple(self._free.pop() for _ in range(count)))
        self._next_sequence += count
        self._uses.update((sequence, _Use(slot)) for sequence, slot in zip(claim.sequences, claim.slots, strict=True))
        return claim

    def commit(self, claim: Claim, entries: Sequence[Entry[Value]]) -> None:
        """Hand all slots of a claim over at once. SlotError for a claim that ended, or not one entry for each slot."""
        uses = self._in_state(claim.sequences, State.WRITING, "is not the writer's")
        if len(entries) != len(uses):
            raise SlotError(f"{len(entries)} entries cannot fill {len(uses)} slots")
        for use, entry in zip(uses, entries, strict=True):
            use.state, use.entry = State.READY, entry

    def abandon(self, claim: Claim) -> None:
        """End a claim whose writer died or whose caller left, committed or not; nobody may write into it any more.

        What is being read now is freed when that ends, even if its reader dies. What was released is left alone.
        """
        for sequence in claim.sequences:
            use = self._uses.get(sequence)
            if use is not None and use.state is State.READING:
                use.abandoned = True
            elif use is not None:
                self._end(sequence)

    def take(self, sequences: Sequence[int]) -> Take[Value]:
        """Return these entries to work on. SlotError where one is not committed, is taken, abandoned or released.

        ValueError for fewer than one entry or one twice.
        """
        if not sequences or len(set(sequences)) < len(sequences):
            raise ValueError("a take needs at least one entry, and each once")
        uses = self._in_state(sequences, State.READY, "cannot be read")
        self._next_take += 1
        self._takes.add(self._next_take)
        for use in uses:
            use.state = State.READING
        entries = tuple(use.entry for use in uses if use.entry is not None)
        return Take(self._next_take, tuple(sequences), entries)

    def release(self, take: Take[Value]) -> None:
        """Free the slots of a take whose work is done. SlotError for a take that ended: its work must not count."""
        if take.number not in self._takes:
            raise SlotError(f"take {take.number} has ended")
        self._takes.remove(take.number)
        for sequence in take.sequences:
            self._end(sequence)

    def abandon_take(self, take: Take[Value]) -> None:
        """Give the entries of a reader that died back, to be taken again. Nothing happens after their release."""
        if take.number in self._takes:
            self._takes.remove(take.number)
            for sequence in take.sequences:
                self._give_back(sequence)

    def _give_back(self, sequence: int) -> None:
        use = self._uses[sequence]
        use.state = State.READY
        if use.abandoned:
            self._end(sequence)

    def _end(self, sequence: int) -> None:
        self._free.append(self._uses.pop(sequence).slot)

    def _in_state(self, sequences: Iterable[int], state: State, complaint: str) -> list[_Use[Value]]:
        uses = []
        for sequence in sequences:
            use = self._uses.get(sequence)
            if use is None or use.state is not state:
                raise SlotError(f"use {sequence} {complaint}")
            uses.append(use)
        return uses


def numbered(batch: int, values: Sequence[Value]) -> list[Entry[Value]]:
    """Return the values of a batch as entries that know their place in it."""
    return [Entry(batch, index, len(values), value) for index, value in enumerate(values)]

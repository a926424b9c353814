"""Numbered slots between producers and consumers: nothing lost, nothing doubled, nothing torn, nobody held back."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from services.inference.slots import Claim, Entry, SlotError, Slots, Take, numbered

SIZE = 7


def claimed(slots: Slots[int], most: int) -> Claim:
    claim = slots.claim(most)
    assert claim is not None
    return claim


def filled(slots: Slots[int], batch: int, count: int) -> Claim:
    """Claim and commit a batch whose values are their own numbers."""
    claim = claimed(slots, count)
    slots.commit(claim, numbered(batch, range(len(claim.slots))))
    return claim


def test_a_batch_of_eight_is_taken_by_twos_and_known_whole():
    """Batch number, index and count travel with each entry, so the consumer's own size does not matter."""
    slots: Slots[int] = Slots(8)
    sequences = filled(slots, batch=5, count=8).sequences
    seen: list[Entry[int]] = []
    for at in range(0, 8, 2):
        take = slots.take(sequences[at : at + 2])
        seen += take.entries
        slots.release(take)
    assert [(entry.batch, entry.index, entry.count) for entry in seen] == [(5, index, 8) for index in range(8)]
    assert slots.free == 8


def test_one_batch_is_taken_from_several():
    """A consumer of eight takes what a producer of twos has committed, in the order it asks for."""
    slots: Slots[int] = Slots(8)
    first, second = filled(slots, batch=1, count=2), filled(slots, batch=2, count=2)
    take = slots.take([*second.sequences, *first.sequences])
    assert [(entry.batch, entry.index, entry.count) for entry in take.entries] == [
        (2, 0, 2),
        (2, 1, 2),
        (1, 0, 2),
        (1, 1, 2),
    ]


def test_a_slow_writer_and_a_slow_reader_hold_nobody_back():
    """What is committed later is taken earlier, and what is released is claimed again, whatever is still at work."""
    slots: Slots[int] = Slots(3)
    slow = claimed(slots, 1)
    reading = slots.take(filled(slots, batch=1, count=1).sequences)
    for batch in range(2, 20):
        slots.release(slots.take(filled(slots, batch, count=1).sequences))
    slots.commit(slow, numbered(0, [7]))
    slots.release(slots.take(slow.sequences))
    slots.release(reading)
    assert slots.free == 3


def test_nothing_is_read_before_it_is_written():
    """A claimed slot is not taken, not even with one that is ready; a batch that lacks an entry is not committed."""
    slots: Slots[int] = Slots(4)
    claim, ready = claimed(slots, 2), filled(slots, batch=2, count=1)
    with pytest.raises(SlotError, match="2 slots"):
        slots.commit(claim, numbered(1, [10]))
    with pytest.raises(SlotError, match="cannot be read"):
        slots.take([*ready.sequences, *claim.sequences])
    assert slots.take(ready.sequences).entries == (Entry(2, 0, 1, 0),)


def test_what_a_dead_writer_had_is_free_and_its_late_commit_refused():
    """An abandoned claim's slots are claimed again at once, and cannot be mistaken for their earlier use."""
    slots: Slots[int] = Slots(2)
    dead = claimed(slots, 2)
    slots.abandon(dead)
    again = claimed(slots, 2)
    assert sorted(again.slots) == sorted(dead.slots)
    with pytest.raises(SlotError):
        slots.commit(dead, numbered(1, [1, 2]))
    slots.abandon(dead)
    slots.commit(again, numbered(2, [3, 4]))
    with pytest.raises(SlotError):
        slots.take(dead.sequences)
    assert slots.ready == 2


def test_what_a_dead_reader_held_comes_back():
    """An abandoned take's entries are taken again, and its first reader can no longer release them."""
    slots: Slots[int] = Slots(4)
    sequences = filled(slots, batch=1, count=4).sequences
    dead = slots.take(sequences[:2])
    slots.abandon_take(dead)
    again = slots.take(sequences)
    with pytest.raises(SlotError):
        slots.release(dead)
    slots.abandon_take(dead)
    assert slots.ready == 0
    slots.release(again)
    assert slots.free == 4


@pytest.mark.parametrize("reader_dies", [False, True])
def test_a_caller_that_leaves_while_its_entry_is_read_frees_it_after(reader_dies: bool):
    """What is being read is not written over; nor does it come back to stay for ever."""
    slots: Slots[int] = Slots(1)
    claim = filled(slots, batch=1, count=1)
    take = slots.take(claim.sequences)
    slots.abandon(claim)
    assert slots.free == 0
    if reader_dies:
        slots.abandon_take(take)
    else:
        slots.release(take)
    assert (slots.free, slots.ready) == (1, 0)


def test_ends_happen_once():
    """A second commit and a second release are refused; a second end of either kind changes nothing."""
    slots: Slots[int] = Slots(1)
    claim = filled(slots, batch=1, count=1)
    with pytest.raises(SlotError):
        slots.commit(claim, numbered(1, [2]))
    take = slots.take(claim.sequences)
    slots.release(take)
    with pytest.raises(SlotError):
        slots.release(take)
    slots.abandon_take(take)
    slots.abandon(claim)
    assert slots.free == 1


@pytest.mark.parametrize("most", [0, -1])
def test_empty_claims_and_takes_are_mistakes(most: int):
    """Asking for less than one is a ValueError, as are no slots at all and one entry twice."""
    with pytest.raises(ValueError, match="at least one"):
        Slots[int](1).claim(most)
    with pytest.raises(ValueError, match="at least one"):
        Slots[int](most)
    slots: Slots[int] = Slots(1)
    (sequence,) = filled(slots, 1, 1).sequences
    for sequences in ([], [sequence, sequence]):
        with pytest.raises(ValueError, match="each once"):
            slots.take(sequences)


@given(size=st.integers(1, 9), fill=st.integers(1, 9), drain=st.integers(1, 9), items=st.integers(1, 60))
def test_producers_and_consumers_of_any_sizes_pass_everything(size: int, fill: int, drain: int, items: int):
    """Whatever the number of slots, the producer's and the consumer's size: all comes out once, and nobody blocks."""
    slots: Slots[int] = Slots(size)
    sent, seen, waiting = 0, [], []
    while len(seen) < items:
        claim = slots.claim(min(fill, items - sent)) if sent < items else None
        if claim is not None:
            count = len(claim.slots)
            slots.commit(claim, [Entry(0, sent + at, items, sent + at) for at in range(count)])
            sent += count
            waiting += claim.sequences
        take = slots.take(waiting[:drain])
        del waiting[:drain]
        seen += [entry.value for entry in take.entries]
        slots.release(take)
    assert seen == list(range(items))


class SlotsLife(RuleBasedStateMachine):
    """Many writers and readers that finish or die at any point, against a model of who has what.

    ``memory`` is what lies in the slots themselves: a writer fills its own bit by bit, as a process does.
    """

    def __init__(self) -> None:
        super().__init__()
        self.slots: Slots[int] = Slots(SIZE)
        self.memory: list[tuple[int, int]] = [(-1, -1)] * SIZE  # two halves: a torn slot has unlike ones
        self.value = 0
        self.writing: list[tuple[Claim, list[int]]] = []  # and the values it will commit
        self.committed: list[tuple[Claim, list[int]]] = []  # whose caller still waits
        self.ready: dict[int, tuple[int, Entry[int]]] = {}  # by sequence number: slot and entry
        self.takes: list[tuple[Take[int], list[int]]] = []  # and their slots
        self.unwanted: set[int] = set()  # sequence numbers that were abandoned while they were read
        self.released: list[int] = []
        self.handed_over = 0
        self.withdrawn = 0

    @rule(most=st.integers(1, SIZE + 2))
    def claim(self, most: int) -> None:
        room = self.slots.free
        claim = self.slots.claim(most)
        assert (claim is None) == (room == 0)
        if claim is not None:
            assert len(claim.slots) == min(most, room)
            assert not set(claim.slots) & self.held()
            values = [self.value + at for at in range(len(claim.slots))]
            self.value += len(values)
            for slot, value in zip(claim.slots, values, strict=True):
                self.memory[slot] = (value, -1)
            self.writing.append((claim, values))

    @precondition(lambda self: self.writing)
    @rule(data=st.data())
    def commit(self, data: st.DataObject) -> None:
        claim, values = data.draw(st.sampled_from(self.writing))
        for slot, value in zip(claim.slots, values, strict=True):
            self.memory[slot] = (value, value)
        with pytest.raises(SlotError):
            self.slots.take(claim.sequences)
        self.slots.commit(claim, numbered(claim.first, values))
        self.writing.remove((claim, values))
        self.committed.append((claim, values))
        self.handed_over += len(values)
        entries = numbered(claim.first, values)
        self.ready.update(zip(claim.sequences, zip(claim.slots, entries, strict=True), strict=True))

    @precondition(lambda self: self.writing)
    @rule(data=st.data())
    def writer_dies(self, data: st.DataObject) -> None:
        claim, values = data.draw(st.sampled_from(self.writing))
        self.slots.abandon(claim)
        self.writing.remove((claim, values))
        with pytest.raises(SlotError):
            self.slots.commit(claim, numbered(claim.first, values))

    @precondition(lambda self: self.committed)
    @rule(data=st.data())
    def caller_leaves(self, data: st.DataObject) -> None:
        claim, values = data.draw(st.sampled_from(self.committed))
        self.slots.abandon(claim)
        self.committed.remove((claim, values))
        for sequence in claim.sequences:
            self.withdrawn += self.ready.pop(sequence, None) is not None
        self.unwanted |= {sequence for take, _ in self.takes for sequence in take.sequences} & set(claim.sequences)

    @precondition(lambda self: self.ready)
    @rule(data=st.data())
    def take(self, data: st.DataObject) -> None:
        sequences = data.draw(st.lists(st.sampled_from(sorted(self.ready)), min_size=1, max_size=SIZE, unique=True))
        take = self.slots.take(sequences)
        places = [self.ready.pop(sequence) for sequence in sequences]
        assert take.entries == tuple(entry for _, entry in places)
        self.takes.append((take, [slot for slot, _ in places]))

    @precondition(lambda self: self.takes)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        take, places = data.draw(st.sampled_from(self.takes))
        self.reads_whole(take, places)
        self.slots.release(take)
        self.takes.remove((take, places))
        self.unwanted -= set(take.sequences)
        self.released += [entry.value for entry in take.entries]

    @precondition(lambda self: self.takes)
    @rule(data=st.data())
    def reader_dies(self, data: st.DataObject) -> None:
        take, places = data.draw(st.sampled_from(self.takes))
        self.dies(take, places)
        with pytest.raises(SlotError):
            self.slots.release(take)

    def dies(self, take: Take[int], places: list[int]) -> None:
        self.reads_whole(take, places)
        self.slots.abandon_take(take)
        self.takes.remove((take, places))
        for sequence, slot, entry in zip(take.sequences, places, take.entries, strict=True):
            if sequence in self.unwanted:
                self.unwanted.remove(sequence)
                self.withdrawn += 1
            else:
                self.ready[sequence] = (slot, entry)

    def reads_whole(self, take: Take[int], places: list[int]) -> None:
        """Find in each slot, to the end of its take, what was committed, both halves of it."""
        for slot, entry in zip(places, take.entries, strict=True):
            assert self.memory[slot] == (entry.value, entry.value)

    def held(self) -> set[int]:
        """Return the slots that somebody writes, reads, or has left for a reader."""
        written = {slot for claim, _ in self.writing for slot in claim.slots}
        read = {slot for _, places in self.takes for slot in places}
        return written | read | {slot for slot, _ in self.ready.values()}

    @invariant()
    def counts_agree(self) -> None:
        reading = sum(len(places) for _, places in self.takes)
        assert self.slots.ready == len(self.ready)
        assert self.slots.free == SIZE - len(self.held())
        assert len(set(self.released)) == len(self.released)
        assert self.handed_over == len(self.released) + len(self.ready) + reading + self.withdrawn

    def teardown(self) -> None:
        """Once all are dead or done, everything handed over and still wanted comes out once, and all slots are free."""
        for claim, _ in self.writing:
            self.slots.abandon(claim)
        for take, places in list(self.takes):
            self.dies(take, places)
        for sequence, (_, entry) in self.ready.items():
            take = self.slots.take([sequence])
            assert take.entries == (entry,)
            self.slots.release(take)
        assert self.slots.free == SIZE


TestSlotsLife = SlotsLife.TestCase
TestSlotsLife.settings = settings(max_examples=80, stateful_step_count=50, deadline=None)

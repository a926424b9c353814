"""The ring between two stages: nothing lost, nothing doubled, nothing torn."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from services.inference.slots import Claim, Entry, Ring, SlotError, Take, numbered

SIZE = 7


def filled(ring: Ring[int], batch: int, count: int) -> Claim:
    """Claim, write and commit a batch whose values are their own numbers."""
    claim = ring.claim(count)
    assert claim is not None
    for sequence, entry in zip(claim.sequences, numbered(batch, range(claim.count)), strict=True):
        ring.write(claim, sequence, entry)
    ring.commit(claim)
    return claim


def taken(ring: Ring[int], most: int) -> Take[int]:
    take = ring.take(most)
    assert take is not None
    return take


def test_a_batch_of_eight_is_taken_by_twos_and_known_whole():
    """Batch number, index and count travel with each entry, so the consumer's own size does not matter."""
    ring: Ring[int] = Ring(8)
    filled(ring, batch=5, count=8)
    seen: list[Entry[int]] = []
    while (take := ring.take(2)) is not None:
        assert len(take.entries) == 2
        seen += take.entries
        ring.release(take)
    assert [(entry.batch, entry.index, entry.count) for entry in seen] == [(5, index, 8) for index in range(8)]
    assert ring.free == 8


def test_nothing_is_read_before_it_is_written():
    """Claimed and half-written slots are not taken, and neither is what was committed behind them."""
    ring: Ring[int] = Ring(4)
    claim = ring.claim(2)
    assert claim is not None
    ring.write(claim, claim.first, Entry(1, 0, 2, 10))
    filled(ring, batch=2, count=1)
    assert ring.take(4) is None
    with pytest.raises(SlotError, match="was not written"):
        ring.commit(claim)
    assert ring.take(4) is None


def test_what_a_dead_writer_left_is_torn_and_passed_over():
    """An abandoned claim's entries are never read, later ones are; the dead writer's late writes are refused."""
    ring: Ring[int] = Ring(4)
    claim = ring.claim(2)
    assert claim is not None
    ring.write(claim, claim.first, Entry(1, 0, 2, 10))
    filled(ring, batch=2, count=1)
    ring.abandon_claim(claim)
    assert [entry.batch for entry in taken(ring, 4).entries] == [2]
    with pytest.raises(SlotError):
        ring.write(claim, claim.first + 1, Entry(1, 1, 2, 11))
    with pytest.raises(SlotError):
        ring.commit(claim)


def test_what_a_dead_reader_held_comes_back_first():
    """An abandoned take is taken again before all that is newer, and its first reader can no longer release it."""
    ring: Ring[int] = Ring(4)
    filled(ring, batch=1, count=4)
    dead, alive = taken(ring, 2), taken(ring, 1)
    ring.abandon_take(dead)
    again = taken(ring, 4)
    assert [entry.index for entry in again.entries] == [0, 1, 3]
    with pytest.raises(SlotError):
        ring.release(dead)
    ring.release(again)
    assert ring.free == 2  # slot 2 is still read
    ring.release(alive)
    assert ring.free == 4


def test_a_slot_is_written_once():
    """A second write, a second commit and a second release are refused."""
    ring: Ring[int] = Ring(2)
    claim = ring.claim(1)
    assert claim is not None
    ring.write(claim, claim.first, Entry(1, 0, 1, 10))
    with pytest.raises(SlotError, match="written already"):
        ring.write(claim, claim.first, Entry(1, 0, 1, 11))
    ring.commit(claim)
    with pytest.raises(SlotError):
        ring.commit(claim)
    take = taken(ring, 1)
    ring.release(take)
    with pytest.raises(SlotError):
        ring.release(take)


def test_abandoning_after_the_end_changes_nothing():
    """Clean-up may always abandon: a committed claim and a released take stay what they are."""
    ring: Ring[int] = Ring(2)
    ring.abandon_claim(filled(ring, batch=1, count=1))
    take = taken(ring, 1)
    ring.release(take)
    ring.abandon_take(take)
    assert ring.take(1) is None
    assert ring.idle


@pytest.mark.parametrize("most", [0, -1])
def test_empty_claims_and_takes_are_mistakes(most: int):
    """Asking for less than one is a ValueError, as is a ring without slots."""
    with pytest.raises(ValueError, match="at least one"):
        Ring[int](1).claim(most)
    with pytest.raises(ValueError, match="at least one"):
        Ring[int](1).take(most)
    with pytest.raises(ValueError, match="at least one"):
        Ring[int](most)


@given(size=st.integers(1, 9), fill=st.integers(1, 9), drain=st.integers(1, 9), items=st.integers(1, 60))
def test_stages_of_any_sizes_pass_everything_in_order(size: int, fill: int, drain: int, items: int):
    """Whatever the ring's, the producer's and the consumer's size: all comes out once, in order, and nobody blocks."""
    ring: Ring[int] = Ring(size)
    sent, seen = 0, []
    while len(seen) < items:
        claim = ring.claim(min(fill, items - sent)) if sent < items else None
        if claim is not None:
            for sequence in claim.sequences:
                ring.write(claim, sequence, Entry(0, sent, items, sent))
                sent += 1
            ring.commit(claim)
        if (take := ring.take(drain)) is not None:
            seen += [entry.value for entry in take.entries]
            ring.release(take)
    assert seen == list(range(items))


class RingLife(RuleBasedStateMachine):
    """Many writers and readers that finish or die at any point, against a model that only keeps lists."""

    def __init__(self) -> None:
        super().__init__()
        self.ring: Ring[int] = Ring(SIZE)
        self.value = 0
        self.claims: list[tuple[Claim, list[int]]] = []  # and the values written so far
        self.takes: list[Take[int]] = []
        self.committed: dict[int, int] = {}  # value by sequence number
        self.released: list[int] = []

    @rule(most=st.integers(1, SIZE + 2))
    def claim(self, most: int) -> None:
        room = self.ring.free
        claim = self.ring.claim(most)
        assert (claim is None) == (room == 0)
        if claim is not None:
            assert claim.count == min(most, room)
            self.claims.append((claim, []))

    @precondition(lambda self: self.claims)
    @rule(data=st.data())
    def write(self, data: st.DataObject) -> None:
        claim, values = data.draw(st.sampled_from(self.claims))
        if len(values) < claim.count:
            self.value += 1
            self.ring.write(claim, claim.first + len(values), Entry(claim.number, len(values), claim.count, self.value))
            values.append(self.value)

    @precondition(lambda self: self.claims)
    @rule(data=st.data())
    def commit(self, data: st.DataObject) -> None:
        claim, values = data.draw(st.sampled_from(self.claims))
        if len(values) < claim.count:
            with pytest.raises(SlotError):
                self.ring.commit(claim)
            return
        self.ring.commit(claim)
        self.claims.remove((claim, values))
        self.committed.update(zip(claim.sequences, values, strict=True))

    @precondition(lambda self: self.claims)
    @rule(data=st.data())
    def writer_dies(self, data: st.DataObject) -> None:
        claim, values = data.draw(st.sampled_from(self.claims))
        self.ring.abandon_claim(claim)
        self.claims.remove((claim, values))
        with pytest.raises(SlotError):
            self.ring.commit(claim)

    @rule(most=st.integers(1, SIZE + 2))
    def take(self, most: int) -> None:
        expected = self.takeable()[:most]
        take = self.ring.take(most)
        assert ([] if take is None else list(take.sequences)) == expected
        if take is not None:
            assert [entry.value for entry in take.entries] == [self.committed[sequence] for sequence in expected]
            self.takes.append(take)

    @precondition(lambda self: self.takes)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        take = data.draw(st.sampled_from(self.takes))
        self.ring.release(take)
        self.takes.remove(take)
        self.released += [entry.value for entry in take.entries]
        for sequence in take.sequences:
            del self.committed[sequence]

    @precondition(lambda self: self.takes)
    @rule(data=st.data())
    def reader_dies(self, data: st.DataObject) -> None:
        take = data.draw(st.sampled_from(self.takes))
        self.ring.abandon_take(take)
        self.takes.remove(take)
        with pytest.raises(SlotError):
            self.ring.release(take)

    def takeable(self) -> list[int]:
        """Return the sequence numbers that may be taken: committed, not held, none of an open claim before them."""
        held = {sequence for take in self.takes for sequence in take.sequences}
        barrier = min((claim.first for claim, _ in self.claims), default=float("inf"))
        return sorted(sequence for sequence in self.committed if sequence < barrier and sequence not in held)

    @invariant()
    def counts_agree(self) -> None:
        assert self.ring.ready == len(self.takeable())
        assert 0 <= self.ring.free <= SIZE - len(self.committed) - sum(claim.count for claim, _ in self.claims)
        assert len(set(self.released)) == len(self.released)

    def teardown(self) -> None:
        """Once all are dead or done, everything handed over comes out once, and the ring is empty."""
        for claim, _ in self.claims:
            self.ring.abandon_claim(claim)
        for take in self.takes:
            self.ring.abandon_take(take)
        left = []
        while (rest := self.ring.take(2)) is not None:
            left += [entry.value for entry in rest.entries]
            self.ring.release(rest)
        assert left == [self.committed[sequence] for sequence in sorted(self.committed)]
        assert self.ring.idle
        assert self.ring.free == SIZE


TestRingLife = RingLife.TestCase
TestRingLife.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)

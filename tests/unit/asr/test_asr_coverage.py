"""What became of the audio."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from services.asr.coverage import Ledger
from services.common.coverage import FURTHER, MAX_DROPPED
from services.common.types import Coverage, Dropped


def test_each_kind_is_counted():
    """What is neither transcribed nor dropped is silent."""
    ledger = Ledger(1_000)
    ledger.transcribed(2_000, 5_000)
    ledger.dropped(6_000, 7_000, "gap")
    assert ledger.coverage(10_000) == Coverage(9_000, 3_000, 5_000, (Dropped(6_000, 7_000, "gap"),))


def test_overlapping_stretches_count_once():
    """Windows are widened and may overlap; audio may not be counted twice."""
    ledger = Ledger(0)
    ledger.transcribed(0, 5_000)
    ledger.transcribed(3_000, 6_000)
    assert ledger.coverage(6_000).transcribed_us == 6_000


def test_neighbours_are_one_stretch():
    """Gaps that follow or overlap each other are one; another reason or a hole between begins a new one."""
    ledger = Ledger(0)
    for start, end, reason in [(0, 10, "gap"), (10, 20, "gap"), (15, 30, "gap"), (30, 40, "lost"), (41, 50, "lost")]:
        ledger.dropped(start, end, reason)
    assert ledger.coverage(50).dropped == (Dropped(0, 30, "gap"), Dropped(30, 40, "lost"), Dropped(41, 50, "lost"))


def test_thousands_of_gaps_are_a_short_account():
    """The first are named; the last entry is as long as all others, and claims no time of theirs."""
    ledger = Ledger(0)
    for start in range(0, 50_000, 10):
        ledger.dropped(start, start + 3, "gap")
        ledger.transcribed(start + 3, start + 10)
    coverage = ledger.coverage(50_000)
    assert len(coverage.dropped) == MAX_DROPPED
    assert coverage.dropped[-1] == Dropped(990, 990 + (5_000 - 99) * 3, FURTHER)
    assert (coverage.transcribed_us, coverage.silent_us) == (35_000, 0)


STRETCHES = st.tuples(st.integers(-20, 100), st.integers(0, 100), st.booleans(), st.sampled_from(["gap", "lost"]))


@given(st.lists(STRETCHES, max_size=300), st.integers(0, 50))
def test_the_parts_add_up_to_the_duration(parts, tail):
    """Transcribed, silent and dropped are the duration, none is negative, and the account stays short and in order."""
    ledger = Ledger(0)
    now = 0
    for skipped, length, is_gap, reason in parts:
        start = max(0, now + skipped)
        end = max(now, start + length)
        ledger.dropped(start, end, reason) if is_gap else ledger.transcribed(start, end)
        now = end
    coverage = ledger.coverage(now + tail)
    lost = sum(part.end_us - part.start_us for part in coverage.dropped)
    assert coverage.duration_us == now + tail == coverage.transcribed_us + coverage.silent_us + lost
    assert min(coverage.transcribed_us, coverage.silent_us) >= 0
    assert len(coverage.dropped) <= MAX_DROPPED
    assert all(one.end_us <= two.start_us for one, two in pairwise(coverage.dropped))

"""What became of the audio."""

from hypothesis import given
from hypothesis import strategies as st

from services.asr.coverage import Ledger
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


@given(st.lists(st.tuples(st.integers(0, 100), st.integers(0, 100), st.booleans()), max_size=20), st.integers(0, 50))
def test_the_parts_add_up_to_the_duration(parts, tail):
    """Transcribed, silent and dropped are the duration, and none is negative."""
    ledger = Ledger(0)
    now = 0
    for skipped, length, is_gap in parts:
        start, end = now + skipped, now + skipped + length
        ledger.dropped(start, end, "gap") if is_gap else ledger.transcribed(start, end)
        now = end
    coverage = ledger.coverage(now + tail)
    lost = sum(part.end_us - part.start_us for part in coverage.dropped)
    assert coverage.duration_us == now + tail == coverage.transcribed_us + coverage.silent_us + lost
    assert min(coverage.transcribed_us, coverage.silent_us) >= 0

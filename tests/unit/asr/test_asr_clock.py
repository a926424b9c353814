"""The media clock of a live stream."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from services.asr.clock import TOLERANCE_US, MediaClock


def clock(start_us=0, rate_hz=48_000):
    return MediaClock(start_us, rate_hz, Fraction(rate_hz, 16_000))


def test_samples_are_the_clock():
    """A second of samples is a second, whatever the stamps say."""
    media = clock(5_000_000)
    media.advance(48_000)
    assert media.now_us == 6_000_000


def test_a_stamp_within_the_tolerance_is_on_time():
    """Up to 20 ms are how clients round."""
    assert clock().ahead_us(TOLERANCE_US) == 0
    assert clock(1_000_000).ahead_us(1_000_000 - TOLERANCE_US) == 0


def test_a_stamp_beyond_it_is_a_gap_or_an_overlap():
    """Ahead is positive, behind negative."""
    assert clock().ahead_us(50_000) == 50_000
    assert clock(1_000_000).ahead_us(900_000) == -100_000


def test_positions_follow_a_jump():
    """After a gap, positions of the 16 kHz stream lie after it."""
    media = clock()
    media.advance(48_000)
    media.jump(3_000_000, 16_000)
    media.advance(48_000)
    assert (media.us(16_000), media.us(24_000), media.now_us) == (3_000_000, 3_500_000, 4_000_000)


def test_no_position_lies_in_the_future():
    """The padding at a stream's end has no time of its own."""
    media = clock()
    media.advance(480)
    assert media.us(512) == 10_000


@given(st.lists(st.integers(0, 10_000), max_size=30), st.sampled_from([8_000, 11_025, 44_100, 48_000]))
def test_time_never_drifts_from_the_sample_count(counts, rate_hz):
    """However the samples come, the time is that of their sum."""
    media = clock(7, rate_hz)
    for count in counts:
        media.advance(count)
    assert media.now_us == 7 + sum(counts) * 1_000_000 // rate_hz

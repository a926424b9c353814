"""The pure state of a live session."""

from hypothesis import given
from hypothesis import strategies as st

from services.common.types import Committed, Word
from services.gateway.session import Ack, AckLedger, AudioClock, Sequence, Session


def test_audio_is_acked_up_to_the_settled_time():
    """A chunk is acked once all of it is settled, not before."""
    acks = AckLedger()
    for seq in (1, 2, 3):
        acks.audio_came(seq, seq * 50_000)
    acks.audio_settled(99_000)
    assert acks.ack() == Ack(1, 0)
    acks.audio_settled(149_950)  # rounding of 50 us on the way
    assert acks.ack() == Ack(3, 0)


def test_images_are_acked_without_a_gap():
    """An image that is still open holds back the ack of those after it."""
    acks = AckLedger()
    for seq in (1, 2, 3):
        acks.image_came(seq)
    acks.image_decided(1)
    acks.image_decided(3)
    assert acks.ack() == Ack(0, 1)
    acks.image_decided(2)
    assert acks.ack() == Ack(0, 3)


@given(st.lists(st.integers(1, 30), min_size=1))
def test_every_image_is_acked_once_all_are_decided(order: list[int]):
    """Whatever the order of decisions, the ack ends at the last image."""
    acks = AckLedger()
    for seq in sorted(set(order)):
        acks.image_came(seq)
    for seq in order:
        acks.image_decided(seq)
    assert acks.ack().image_seq == max(order)


def test_a_sequence_knows_repeats_and_gaps():
    """Numbers that were here are repeats; numbers skipped are counted."""
    sequence = Sequence()
    assert sequence.missing_before(1) == 0
    assert sequence.is_repeat(1)
    assert sequence.missing_before(4) == 2
    assert not sequence.is_repeat(5)


def test_a_sequence_refuses_absurd_jumps_and_warns_of_repeats_once():
    """A number from nowhere must not shut out those that follow; the first repeat is news, the second is not."""
    sequence = Sequence()
    assert sequence.is_absurd(2**32 - 1)
    assert not sequence.is_absurd(100)
    assert [sequence.warns_of_repeats(), sequence.warns_of_repeats()] == [True, False]


def test_the_sample_count_is_the_clock_and_a_gap_moves_it():
    """Jitter of a client's stamps does not move the clock; a jump of more than 20 ms ahead does."""
    clock = AudioClock(bytes_per_s=32_000)
    assert clock.end_us(0, 1600) == 50_000
    assert clock.end_us(61_000, 1600) == 100_000
    assert clock.end_us(0, 1600) == 150_000
    assert clock.end_us(1_000_000, 1600) == 1_050_000


def test_events_count_from_one_without_gaps():
    """Every numbered event gets the next number."""
    session = Session()
    assert [session.numbered({"type": "x"})["event_no"] for _ in range(3)] == [1, 2, 3]


def test_words_get_the_sessions_numbers():
    """Word ids go on counting over commits."""
    session = Session()
    word = Word("a", 0, 1, 1.0)
    assert [w.id for w in session.spoken(Committed((word, word)))] == [1, 2]
    assert [w.id for w in session.spoken(Committed((word,)))] == [3]


def test_flow_is_told_when_the_lag_enters_another_band():
    """A lag that stays in its band is no news."""
    session = Session()
    assert session.settle(0, 500_000) is None
    assert session.settle(0, 1_500_000) == {"type": "flow", "lag_us": 1_500_000, "window_us": 1_500_000}
    assert session.settle(0, 1_900_000) is None
    assert session.settle(1_800_000, 2_000_000) == {"type": "flow", "lag_us": 200_000, "window_us": 200_000}

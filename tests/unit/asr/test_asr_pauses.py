"""Pauses, and words without them."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from services.asr.endpoint import WINDOW
from services.asr.pauses import MARGIN, SHORTEST, Pauses, without_gaps, without_pauses
from tests.unit.asr.asr_words import heard

LONG = SHORTEST + 3


def pauses_of(probabilities):
    pauses = Pauses(0.35)
    for probability in probabilities:
        pauses.push(probability)
    return pauses


def test_a_long_quiet_run_is_a_pause():
    """It is told without its edges, which the detector blurs."""
    assert pauses_of([0.9] * 2 + [0.1] * LONG + [0.9]).stretches() == [
        (2 * WINDOW + MARGIN, (2 + LONG) * WINDOW - MARGIN)
    ]


def test_a_short_quiet_run_is_none():
    """Consonants have closures."""
    assert pauses_of([0.9] + [0.1] * (SHORTEST - 1) + [0.9] + [0.1]).stretches() == []


def test_forgotten_pauses_are_gone():
    """Nothing is kept from before the position."""
    pauses = pauses_of([0.1] * LONG + [0.9] * 20)
    pauses.forget(LONG * WINDOW)
    assert pauses.stretches() == []


def test_a_pause_at_either_end_of_a_word_is_cut_off():
    """The alignment gave it to the word; the word is what was said."""
    words = [heard("times", 0, 40_000), heard("it", 40_000, 80_000)]
    spoken = without_pauses(words, [(10_000, 39_000), (41_000, 70_000)])
    assert [(word.start, word.end) for word in spoken] == [(0, 10_000), (70_000, 80_000)]


def test_a_word_that_would_vanish_is_left():
    """A word that is nearly all pause keeps its time."""
    words = [heard("a", 1_000, 9_000)]
    assert without_pauses(words, [(1_100, 8_900)]) == words


@given(
    st.lists(st.tuples(st.integers(0, 50_000), st.integers(0, 20_000)), max_size=8),
    st.lists(st.floats(0, 1), max_size=120),
)
def test_words_only_shrink(spans, probabilities):
    """No word is moved out of where it was."""
    words = [heard("x", start, start + length) for start, length in spans]
    for before, after in zip(words, without_pauses(words, pauses_of(probabilities).stretches()), strict=True):
        assert before.start <= after.start <= after.end <= before.end


def test_a_gap_in_running_speech_belongs_to_the_word_after_it():
    """Where nobody paused, a word begins where the one before ended, so that no phrase ends there."""
    words = [heard("to", 0, 10_000), heard("heaven", 30_000, 40_000)]
    assert [(word.start, word.end) for word in without_gaps(words, [])] == [(0, 10_000), (10_000, 40_000)]


def test_a_word_set_behind_the_pause_after_it_is_moved_back():
    """Speech that nothing claims before a pause is the word that the alignment put behind the pause."""
    words = [heard("to", 0, 10_000), heard("heaven", 30_000, 33_000), heard("we", 33_000, 40_000)]
    moved = without_gaps(words, [(15_000, 29_000)])
    assert [(word.start, word.end) for word in moved] == [(0, 10_000), (10_000, 15_000), (33_000, 40_000)]


def test_a_gap_that_is_a_pause_stays_and_so_does_a_narrow_one():
    """A real pause is kept, and the small gaps between words are none of our business."""
    words = [heard("to", 0, 10_000), heard("heaven", 30_000, 40_000), heard("the", 42_000, 50_000)]
    assert without_gaps(words, [(12_000, 28_000)]) == words


@given(
    st.lists(st.tuples(st.integers(0, 9_000), st.integers(0, 9_000)), max_size=8),
    st.lists(st.floats(0, 1), max_size=120),
)
def test_words_stay_in_order(steps, probabilities):
    """Words keep their order and never overlap, whatever the pauses."""
    at, words = 0, []
    for gap, length in steps:
        words.append(heard("x", at + gap, at + gap + length))
        at += gap + length
    closed = without_gaps(words, pauses_of(probabilities).stretches())
    assert all(word.start <= word.end for word in closed)
    assert all(a.end <= b.start for a, b in pairwise(closed))

"""Where a long window is cut."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from services.asr.cut import best_cut
from tests.unit.asr.asr_words import heard


def test_the_largest_pause_wins():
    """The cut lies in the longest silence between words."""
    words = [heard("a", 0, 16_000), heard("b", 32_000, 40_000), heard("c", 41_000, 50_000), heard("d", 51_000, 60_000)]
    assert best_cut(words, 3, 0) == 1


def test_a_sentence_end_beats_an_equal_pause():
    """Between equal pauses, the one after a full stop is taken."""
    words = [heard("a", 0, 16_000), heard("b.", 16_000, 20_000), heard("c", 20_000, 24_000), heard("d", 24_000, 28_000)]
    assert best_cut(words, 3, 0) == 2


def test_only_committed_words_lie_before_a_cut():
    """A window without committed words, or with one word only, has no place to cut."""
    assert best_cut([heard("a"), heard("b")], 0, 0) is None
    assert best_cut([heard("a")], 1, 0) is None


def test_the_beginning_of_a_window_is_no_place_to_cut():
    """A cut that takes nothing off the window is none."""
    assert best_cut([heard("a", 0, 1_000), heard("b", 1_000, 2_000)], 1, 0) is None


@given(st.lists(st.integers(0, 40_000), min_size=1, max_size=20), st.integers(0, 20))
def test_a_cut_lies_between_a_committed_word_and_another(edges, committed):
    """The count is within the committed words, and a word follows."""
    edges = sorted(edges)
    words = [heard("x", start, end) for start, end in itertools.pairwise(edges)]
    count = best_cut(words, min(committed, len(words)), 0)
    assert count is None or 1 <= count <= min(committed, len(words) - 1)

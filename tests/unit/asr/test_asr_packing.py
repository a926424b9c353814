"""Windows of a file."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from services.asr.endpoint import WINDOW, EndpointRules
from services.asr.packing import packed, shortened, stretches, widened

RULES = EndpointRules(min_speech=3 * WINDOW, min_silence=4 * WINDOW)


def test_stretches_are_the_speech():
    """Speech that runs into the end is speech too."""
    assert stretches([0.9] * 5 + [0.0] * 6 + [0.9] * 2, RULES) == [(0, 5 * WINDOW), (11 * WINDOW, 13 * WINDOW)]


def test_a_long_stretch_is_split_where_it_is_quietest():
    """The split lies in the second half of what fits."""
    probabilities = [0.9] * 20
    probabilities[7] = 0.5
    assert shortened((0, 20 * WINDOW), probabilities, 10 * WINDOW)[:2] == [(0, 7 * WINDOW), (7 * WINDOW, 12 * WINDOW)]


def test_neighbours_share_a_window():
    """As long as it is short enough, and the pause between them too."""
    parts = [(0, 10), (12, 20), (50, 60), (61, 80)]
    assert packed(parts, 25, 5) == [(0, 20), (50, 60), (61, 80)]


def test_windows_take_of_the_silence_around_them():
    """Never past the ends of the file, and never into each other."""
    assert widened([(3, 20), (24, 40), (40, 90)], 5, 100) == [(0, 22), (22, 40), (40, 95)]
    assert widened([], 5, 100) == []


@given(st.lists(st.floats(0, 1), max_size=300))
def test_every_stretch_is_in_exactly_one_window(probabilities):
    """Windows are in order, short enough, and hold all speech."""
    longest = 20 * WINDOW
    parts = [p for s in stretches(probabilities, RULES) for p in shortened(s, probabilities, longest)]
    windows = packed(parts, longest, 10 * WINDOW)
    assert all(end - start <= longest for start, end in windows)
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(windows))
    assert all(sum(start <= part[0] and part[1] <= end for start, end in windows) == 1 for part in parts)

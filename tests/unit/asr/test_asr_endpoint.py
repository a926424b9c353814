"""Where speech starts and stops."""

from hypothesis import given
from hypothesis import strategies as st

from services.asr.endpoint import WINDOW, Endpointer, EndpointRules, Started, Stopped

RULES = EndpointRules(start=0.5, stop=0.35, min_speech=3 * WINDOW, min_silence=4 * WINDOW)


def changes(probabilities):
    endpointer = Endpointer(RULES)
    return [change for probability in probabilities if (change := endpointer.push(probability)) is not None]


def test_speech_starts_where_its_first_loud_window_begins():
    """The start is the beginning of the run, not the moment it was long enough."""
    assert changes([0.1, 0.1, 0.9, 0.9, 0.9]) == [Started(2 * WINDOW)]


def test_short_sounds_are_not_speech():
    """A run shorter than the shortest speech starts nothing."""
    assert changes([0.9, 0.9, 0.1, 0.9, 0.9, 0.1]) == []


def test_a_probability_between_the_thresholds_keeps_the_state():
    """Hysteresis: between the thresholds neither speech nor silence begins."""
    assert changes([0.9, 0.4, 0.4, *[0.4] * 10]) == [Started(0)]


def test_speech_stops_where_its_silence_begins():
    """The stop is the beginning of a silence that is long enough."""
    assert changes([0.9] * 5 + [0.1] * 4) == [Started(0), Stopped(5 * WINDOW)]


def test_a_short_pause_does_not_stop_speech():
    """A silence shorter than the shortest one leaves speech running."""
    assert changes([0.9] * 5 + [0.1] * 3 + [0.9] * 5) == [Started(0)]


def test_a_cut_takes_speech_that_is_too_short_yet():
    """A flush makes a run speech, however short it is."""
    endpointer = Endpointer(RULES)
    endpointer.push(0.9)
    assert endpointer.cut() == Started(0)
    assert endpointer.stop() == Stopped(WINDOW)
    assert endpointer.stop() is None


@given(st.lists(st.floats(0, 1), max_size=200))
def test_starts_and_stops_alternate_and_never_go_back(probabilities):
    """Changes alternate, and their positions grow."""
    found = changes(probabilities)
    assert [type(change) for change in found] == [Started, Stopped] * (len(found) // 2) + [Started] * (len(found) % 2)
    positions = [change.position for change in found]
    assert positions == sorted(set(positions))

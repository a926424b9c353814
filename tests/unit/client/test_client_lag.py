"""How late words come."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attune_client.events import Word
from attune_client.lag import LagMeter, WordLag, percentile


def word(text: str, end_us: int = 100) -> Word:
    return Word(text, 0, end_us)


def test_a_word_settles_with_the_partial_that_stays() -> None:
    """A word shown at 300 and never changed until its commit at 900 has a lag of 200 and a commit lag of 800."""
    meter = LagMeter()
    meter.partial([word("the")], 300)
    meter.partial([word("the"), word("cat")], 500)
    meter.committed([word("the")], 900)
    assert meter.lags == [WordLag(200, 800)]


def test_a_word_that_changes_settles_later() -> None:
    """Only the last run of partials that agree with the commit counts."""
    meter = LagMeter()
    meter.partial([word("cat")], 300)
    meter.partial([word("cap")], 400)
    meter.partial([word("cat")], 500)
    meter.committed([word("cat")], 900)
    assert meter.lags == [WordLag(400, 800)]


def test_a_word_that_was_never_partial_settles_with_its_commit() -> None:
    """Without a partial both lags are the same; so they are when the commit differs from the partial."""
    meter = LagMeter()
    meter.committed([word("cat")], 900)
    meter.partial([word("hat")], 950)
    meter.committed([word("bat")], 1000)
    assert meter.lags == [WordLag(800, 800), WordLag(900, 900)]


def test_words_left_in_the_partial_keep_their_time() -> None:
    """Committed words leave the front; the others have stood there all along."""
    meter = LagMeter()
    meter.partial([word("the"), word("cat")], 300)
    meter.committed([word("the")], 400)
    meter.partial([word("cat")], 600)
    meter.committed([word("cat")], 900)
    assert [lag.settled_us for lag in meter.lags] == [200, 200]


def test_lags_are_in_real_time() -> None:
    """At twice the speed a word that ends at 100 was heard at 50."""
    meter = LagMeter(speed=2)
    meter.committed([word("cat")], 900)
    assert meter.lags == [WordLag(850, 850)]


@settings(deadline=None)
@given(st.lists(st.floats(0, 1e6), min_size=1), st.integers(1, 100))
def test_a_percentile_is_a_value_that_so_many_do_not_exceed(values: list[float], percent: int) -> None:
    """Nearest rank: one of the values, and the smallest that does."""
    found = percentile(values, percent)
    assert found in values
    assert sum(value <= found for value in values) >= len(values) * percent / 100
    assert sum(value < found for value in values) < len(values) * percent / 100


def test_no_values_have_no_percentile() -> None:
    """Nothing measured reads as 0."""
    assert percentile([], 95) == pytest.approx(0)

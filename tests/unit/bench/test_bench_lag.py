"""The lag of words, from recorded events."""

from hypothesis import given
from hypothesis import strategies as st

from attune_client.events import Committed, Event, Partial, SessionEnded, Word
from bench.lag import WordLag, captions, matched, word_lags
from bench.recording import Arrival
from bench.speech import TrueWord

SECOND_US = 1_000_000


def word(text: str, second: float, id: int | None = None) -> Word:
    """Return a word of half a second that starts at ``second``."""
    return Word(text, int(second * SECOND_US), int((second + 0.5) * SECOND_US), 0.9, id)


def true(*texts: str) -> list[TrueWord]:
    """Return words of half a second, one a second from 0 on."""
    return [TrueWord(text, at * SECOND_US, at * SECOND_US + SECOND_US // 2) for at, text in enumerate(texts)]


def partial(*words: Word) -> Partial:
    return Partial(" ".join(each.text for each in words), words)


def came(*events: tuple[float, Event]) -> list[Arrival]:
    return [Arrival(int(second * SECOND_US), event) for second, event in events]


def lags(arrivals: list[Arrival], truth: list[TrueWord]) -> list[WordLag]:
    return word_lags(list(captions(arrivals)), truth)


def test_a_word_settles_with_the_partial_that_stays() -> None:
    """A word that a partial showed rightly and nothing changed has the partial's lag; its commit is counted apart."""
    arrivals = came((1, partial(word("one", 0))), (3, Committed((word("One,", 0, 0),))))
    assert lags(arrivals, true("one")) == [WordLag(settled_us=500_000, committed_us=2_500_000)]


def test_a_word_that_changed_twice_settles_at_its_last_change() -> None:
    """Right, then wrong, then right again: only the last counts."""
    arrivals = came(
        (1, partial(word("one", 0))),
        (2, partial(word("won", 0))),
        (4, partial(word("one", 0))),
        (6, Committed((word("one", 0, 0),))),
    )
    assert lags(arrivals, true("one")) == [WordLag(settled_us=3_500_000, committed_us=5_500_000)]


def test_a_commit_does_not_unsettle_the_rest_of_the_partial() -> None:
    """Words that a partial showed behind the committed ones stay on show until the next partial."""
    arrivals = came(
        (2, partial(word("one", 0), word("two", 1))),
        (3, Committed((word("one", 0, 0),))),
        (4, Committed((word("two", 1, 1),))),
    )
    assert lags(arrivals, true("one", "two")) == [WordLag(1_500_000, 2_500_000), WordLag(500_000, 2_500_000)]


def test_a_word_that_came_before_others_were_put_in_front_of_it_has_not_changed() -> None:
    """A missed word that appears later has its own lag; its neighbours keep theirs."""
    arrivals = came(
        (3, partial(word("one", 0), word("three", 2))),
        (4, Committed((word("one", 0, 0), word("two", 1, 1), word("three", 2, 2)))),
    )
    assert [lag.settled_us for lag in lags(arrivals, true("one", "two", "three"))] == [2_500_000, 2_500_000, 500_000]


def test_words_that_were_never_committed_have_no_lag() -> None:
    """A partial that the session's end leaves behind was not said."""
    arrivals = came((1, partial(word("one", 0))), (2, SessionEnded()))
    assert lags(arrivals, true("one")) == []


def test_a_session_without_words_has_no_lags() -> None:
    """Nothing heard, nothing measured."""
    assert lags([], true("one")) == []


def test_repeated_phrases_are_matched_in_order() -> None:
    """The start of a speech that repeats itself is matched with its start, not with a later copy."""
    truth = ("it", "was", "the", "best", "it", "was", "the", "worst")
    assert matched(("it", "was", "the"), truth, whole=False) == {0, 1, 2}


@given(st.lists(st.sampled_from(["a", "b", "c"]), max_size=12), st.integers(0, 12))
def test_a_true_start_is_wholly_matched(truth: list[str], length: int) -> None:
    """Any start of the true words, heard without fault, is matched word for word."""
    heard = tuple(truth[:length])
    assert matched(heard, tuple(truth), whole=False) == frozenset(range(len(heard)))


@given(st.lists(st.sampled_from(["a", "b"]), max_size=8), st.lists(st.sampled_from(["a", "b"]), max_size=8))
def test_no_more_words_are_matched_than_were_heard(heard: list[str], truth: list[str]) -> None:
    """Each heard word stands for at most one true word, and each match exists."""
    found = matched(tuple(heard), tuple(truth), whole=True)
    assert len(found) <= len(heard)
    assert all(truth[at] in heard for at in found)

"""How late words come: from a word's true end in the audio to the event after which it no longer changes.

Pure: recorded events and true words in, microseconds out. Called by live.py. A word settles at the first event from
which on every later state of the captions holds it; committed or not makes no difference.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from attune_client.events import Committed, Partial, SessionEnded, Word
from bench.measure import tokens
from bench.recording import Arrival
from bench.speech import TrueWord


@dataclass(frozen=True, slots=True)
class Caption:
    """All words on show after an event: those committed, then those that may still change."""

    at_us: int
    committed: tuple[str, ...]
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WordLag:
    """One true word's lags: until it stayed, and until it was committed. Negative when it was guessed early."""

    settled_us: int
    committed_us: int


def captions(arrivals: Sequence[Arrival]) -> Iterator[Caption]:
    """Yield what is on show after each event that changes it."""
    committed: tuple[str, ...] = ()
    committed_until_us = 0
    pending: tuple[Word, ...] = ()
    for arrival in arrivals:
        match arrival.event:
            case Committed(words) if words:
                committed += _tokens_of(words)
                committed_until_us = words[-1].end_us
            case Partial(_, words):
                pending = words
            case SessionEnded():
                pending = ()
            case _:
                continue
        # A commit takes its words out of the partial that showed them.
        pending = tuple(word for word in pending if word.start_us + word.end_us >= 2 * committed_until_us)
        yield Caption(arrival.at_us, committed, committed + _tokens_of(pending))


def _tokens_of(words: Sequence[Word]) -> tuple[str, ...]:
    return tokens(" ".join(word.text for word in words))


def word_lags(shown: Sequence[Caption], truth: Sequence[TrueWord]) -> list[WordLag]:
    """Return the lags of the true words that the final captions hold."""
    if not shown:
        return []
    wanted = tuple(word.text for word in truth)
    settled = _first_of_run(shown, [matched(each.words, wanted, whole=each is shown[-1]) for each in shown])
    committed = _first_of_run(shown, [matched(each.committed, wanted, whole=each is shown[-1]) for each in shown])
    ends = [word.end_us for word in truth]
    return [WordLag(settled[at] - ends[at], committed[at] - ends[at]) for at in sorted(settled.keys() & committed)]


def _first_of_run(shown: Sequence[Caption], held: Sequence[frozenset[int]]) -> dict[int, int]:
    """Return when each word of the last state came to stay."""
    since: dict[int, int] = {}
    for caption, words in zip(shown, held, strict=True):
        since = {word: since.get(word, caption.at_us) for word in words}
    return since


@cache  # captions often stay the same from one event to the next
def matched(heard: tuple[str, ...], truth: tuple[str, ...], *, whole: bool) -> frozenset[int]:
    """Return which true words ``heard`` holds, by Levenshtein alignment; unless ``whole``, truth may go on after it."""
    costs = _costs(heard, truth)
    column = len(truth) if whole else min(range(len(truth) + 1), key=lambda at: (costs[-1][at], -at))
    row = len(heard)
    found = set()
    while row and column:
        same = heard[row - 1] == truth[column - 1]
        if costs[row][column] == costs[row - 1][column - 1] + (not same):
            row, column = row - 1, column - 1
            if same:
                found.add(column)
        elif costs[row][column] == costs[row - 1][column] + 1:
            row -= 1
        else:
            column -= 1
    return frozenset(found)


def _costs(heard: Sequence[str], truth: Sequence[str]) -> list[list[int]]:
    costs = [list(range(len(truth) + 1))]
    for row, word in enumerate(heard, 1):
        above, line = costs[-1], [row]
        for column, true_word in enumerate(truth):
            line.append(min(above[column] + (word != true_word), above[column + 1] + 1, line[column] + 1))
        costs.append(line)
    return costs

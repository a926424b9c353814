"""Cuts committed words into phrases as they come. No clock, no async; the session calls it.

A phrase ends at sentence punctuation, a pause, a flush, or when the text encoder's tokens are used up.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from services.common.types import SpokenWord

PAUSE_US = 600_000
MAX_TOKENS = 32
# A phrase with less room than an ordinary word needs ends now: waiting for the word that does not fit costs a commit.
ROOM_TOKENS = 3

_SENTENCE_END = re.compile(r"[.?!…][^\w,;:]*$")
# "J." or "U.S." or "e.g.": letters with a full stop after each; "I." is more often the end of a sentence.
_LETTERS = re.compile(r"^\W*(?!I\.)([A-Za-z]\.)+$")
_ABBREVIATION = re.compile(
    r"^\W*(dr|mr|mrs|ms|prof|st|mt|sr|jr|vs|etc|cf|ca|approx|figs?|vol|dept|gen|col|capt|lt|sgt|rev|hon|gov|sen|rep)\.$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words that are aligned as one; times are those of the first and the last word."""

    word_ids: tuple[int, ...]
    text: str
    start_us: int
    end_us: int


def ends_sentence(word: str) -> bool:
    """Return whether a sentence ends with this word; full stops of abbreviations and initials do not end one."""
    word = word.strip()
    return bool(_SENTENCE_END.search(word)) and not (_LETTERS.match(word) or _ABBREVIATION.match(word))


class PhraseCutter:
    """Takes words in order and returns phrases as they end. ``count_tokens`` is the text encoder's."""

    def __init__(self, count_tokens: Callable[[str], int]) -> None:
        self._count_tokens = count_tokens
        self._words: list[SpokenWord] = []
        self._tokens = 0

    def add(self, words: Iterable[SpokenWord]) -> list[Phrase]:
        """Take words and return the phrases that end with or before them."""
        return [phrase for word in words for phrase in self._add(word)]

    def _add(self, word: SpokenWord) -> list[Phrase]:
        tokens = max(1, self._count_tokens(word.text))  # endless empty words must end too
        paused = bool(self._words) and word.start_us - self._words[-1].end_us >= PAUSE_US
        ended = self.end() if paused or self._tokens + tokens > MAX_TOKENS else []
        self._words.append(word)
        self._tokens += tokens
        return ended + self.end() if ends_sentence(word.text) or self._tokens > MAX_TOKENS - ROOM_TOKENS else ended

    def progress(self, until_us: int) -> list[Phrase]:
        """Return the open phrase when no word can follow it without a pause: all words before ``until_us`` are in."""
        if self._words and until_us >= self._words[-1].end_us + PAUSE_US:
            return self.end()
        return []

    def end(self) -> list[Phrase]:
        """Return the open phrase, if there is one, and begin anew."""
        words, self._words, self._tokens = self._words, [], 0
        if not words:
            return []
        text = " ".join(filter(None, (word.text.strip() for word in words)))
        return [Phrase(tuple(word.id for word in words), text, words[0].start_us, words[-1].end_us)]

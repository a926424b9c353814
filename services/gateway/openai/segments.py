"""Cuts words into segments that read well as captions. Pure; called by formats.py.

A segment ends with a sentence, before a pause, with the window it was heard in, or when it gets too long to read.
"""

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from services.common.types import Committed, Token, Window, Word
from services.gateway.events import text_of

SENTENCE_ENDS = (".", "?", "!")
PAUSE_US = 600_000  # what ends a phrase elsewhere, too
LONGEST_US = 7_000_000  # what subtitlers allow


@dataclass(frozen=True, slots=True)
class Segment:
    """Consecutive words of one window."""

    words: tuple[Word, ...]
    window: Window | None

    @property
    def start_us(self) -> int:
        """Return where the first word begins."""
        return self.words[0].start_us

    @property
    def end_us(self) -> int:
        """Return where the last word ends."""
        return self.words[-1].end_us

    @property
    def text(self) -> str:
        """Return the words as running text."""
        return text_of(self.words)

    @property
    def tokens(self) -> list[Token]:
        """Return the tokens of all words."""
        return [token for word in self.words for token in word.tokens]

    @property
    def avg_logprob(self) -> float:
        """Return the mean log probability of its tokens; 0 where none are known."""
        return sum(token.logprob for token in self.tokens) / max(1, len(self.tokens))

    @property
    def compression_ratio(self) -> float:
        """Return how many bytes of its text zlib makes one of: loops have much more than 2 (openai/whisper)."""
        data = self.text.encode()
        return len(data) / len(zlib.compress(data))


def segmented(windows: Iterable[Committed]) -> list[Segment]:
    """Return the segments of all windows, in order; together they hold every word once."""
    return [Segment(words, window.window) for window in windows for words in _cut(window.words)]


def _cut(words: Sequence[Word]) -> Iterator[tuple[Word, ...]]:
    first = 0
    for number, word in enumerate(words):
        following = words[number + 1] if number + 1 < len(words) else None
        if following is None or _ends(words[first], word, following):
            yield tuple(words[first : number + 1])
            first = number + 1


def _ends(first: Word, word: Word, following: Word) -> bool:
    return (
        word.text.endswith(SENTENCE_ENDS)
        or following.start_us - word.end_us >= PAUSE_US
        or following.end_us - first.start_us > LONGEST_US
    )

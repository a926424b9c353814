"""Finds pauses in speech, and sets the times of words by them. Pure.

Cross-attention gives a pause to the word before or after it, and leaves gaps where nobody paused. ``hearing.py`` finds
pauses, ``recognition.py`` sets the times, ``offline.py`` does both.
"""

from collections.abc import Sequence
from dataclasses import replace

from services.asr.endpoint import WINDOW
from services.asr.words import HeardWord

Stretch = tuple[int, int]

SHORTEST = 5  # windows, 160 ms: the closure of a consonant is shorter
MARGIN = WINDOW  # the detector needs a window to notice
SHORTEST_WORD = 1_280  # 80 ms
WIDEST_GAP = 3_200  # 200 ms between two words of running speech


class Pauses:
    """The pauses of one stream, by position; the last one may still be going on."""

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold
        self._position = 0
        self._quiet: list[Stretch] = []

    def push(self, probability: float) -> None:
        """Take the speech probability of the next 512 samples."""
        begin, self._position = self._position, self._position + WINDOW
        if probability >= self._threshold:
            return
        if self._quiet and self._quiet[-1][1] == begin:
            begin = self._quiet.pop()[0]
        elif self._quiet and _length(self._quiet[-1]) < SHORTEST * WINDOW:
            self._quiet.pop()
        self._quiet.append((begin, self._position))

    def forget(self, before: int) -> None:
        """Let go of the pauses that end before a position."""
        self._quiet = [(max(begin, before), end) for begin, end in self._quiet if end > before]

    def stretches(self) -> list[Stretch]:
        """Return the pauses that are long enough to be one, without their edges."""
        return [(begin + MARGIN, end - MARGIN) for begin, end in self._quiet if end - begin >= SHORTEST * WINDOW]


def without_pauses(words: Sequence[HeardWord], pauses: Sequence[Stretch]) -> list[HeardWord]:
    """Return the words with each one's time cut to the longest part of it that is no pause."""
    return [
        _spoken(word, [pause for pause in pauses if pause[0] < word.end and pause[1] > word.start]) for word in words
    ]


def without_gaps(words: Sequence[HeardWord], pauses: Sequence[Stretch], after: int | None = None) -> list[HeardWord]:
    """Return the words with no stretch of speech between them, or ``after`` an earlier one, that belongs to none.

    Speech that follows a word without a pause is the beginning of the next one. When the alignment has set that next
    word behind the pause instead, it is moved to where it was said.
    """
    closed: list[HeardWord] = []
    for word in words:
        before = closed[-1].end if closed else after
        closed.append(word if before is None else _begun(word, before, pauses))
    return closed


def _begun(word: HeardWord, before: int, pauses: Sequence[Stretch]) -> HeardWord:
    pause = next((pause for pause in pauses if pause[1] > before and pause[0] < word.start), None)
    speech_end = word.start if pause is None else pause[0]
    if speech_end - before <= WIDEST_GAP:
        return word
    return replace(word, start=before, end=word.end if pause is None else speech_end)


def _spoken(word: HeardWord, pauses: Sequence[Stretch]) -> HeardWord:
    edges = [word.start, *(edge for pause in pauses for edge in pause), word.end]
    start, end = max(zip(edges[::2], edges[1::2], strict=True), key=_length)
    return replace(word, start=start, end=end) if end - start >= SHORTEST_WORD else word


def _length(stretch: Stretch) -> int:
    return stretch[1] - stretch[0]

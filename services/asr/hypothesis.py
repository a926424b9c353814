"""Decides which words of a pass are final. Pure; called by ``recognition.py``.

A pass hears the whole window again, so its last words may still change. LocalAgreement-2 (Liu et al. 2020; Macháček
et al. 2023) commits what two passes in a row agree on.
"""

from collections.abc import Sequence
from itertools import takewhile
from typing import Protocol

from services.asr.words import HeardWord

HOLD_BACK = 3_200  # 200 ms: a word this close to the end of the audio may be cut in two


class CommitPolicy(Protocol):
    """Looks at one pass after the other; told when a new stretch of speech begins."""

    def decide(self, words: Sequence[HeardWord], until: int) -> int:
        """Return how many of the undecided ``words``, heard in audio up to ``until``, are final."""
        ...

    def reset(self) -> None:
        """Forget the passes so far."""
        ...


class LocalAgreement:
    """Commits the longest common beginning of two passes in a row."""

    def __init__(self) -> None:
        self._previous: list[str] = []

    def decide(self, words: Sequence[HeardWord], until: int) -> int:
        """Return the length of the beginning that this pass and the one before have in common."""
        pairs = zip(words, self._previous, strict=False)
        agreed = sum(1 for _ in takewhile(lambda pair: pair[0].text == pair[1], pairs))
        early = sum(1 for _ in takewhile(lambda word: word.end <= until - HOLD_BACK, words))
        count = min(agreed, early)
        self._previous = [word.text for word in words[count:]]
        return count

    def reset(self) -> None:
        """Forget the pass before."""
        self._previous = []

"""Chooses the word after which a long window is cut. Pure; called by ``recognition.py``."""

from collections.abc import Sequence

from services.asr.words import HeardWord

SENTENCE_BONUS = 4_800  # a sentence end is worth 300 ms of pause
CLAUSE_BONUS = 2_400
KEPT = 8_000  # leave half a second at least on either side


def best_cut(words: Sequence[HeardWord], committed: int, start: int) -> int | None:
    """Return how many of the first ``committed`` words lie before the cut: the largest pause, later ones first.

    ``words`` are all words of the window from ``start`` on; None when no committed word has one after it.
    """
    candidates = [
        count for count in range(1, min(committed, len(words) - 1) + 1) if words[count - 1].end >= start + KEPT
    ]
    return max(candidates, key=lambda count: (_worth(words, count), count), default=None)


def _worth(words: Sequence[HeardWord], count: int) -> int:
    pause = words[count].start - words[count - 1].end
    ending = words[count - 1].text[-1]
    bonus = SENTENCE_BONUS if ending in ".?!" else CLAUSE_BONUS if ending in ",;:" else 0
    # Late cuts leave short windows behind, and those are cheap.
    return pause + bonus + (words[count - 1].end - words[0].start) // 16

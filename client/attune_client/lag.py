"""How late words come: from a word's end in the audio to the event after which it no longer changes.

Pure: times are passed in. Used by the transcript; shown in the live view and written to session.json.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from attune_client.events import Word


@dataclass(frozen=True)
class WordLag:
    """One committed word's lags: until it stayed as it is, and until it was committed."""

    settled_us: int
    committed_us: int


@dataclass
class LagMeter:
    """Follows partials and commits; ``lags`` has one entry per committed word.

    ``speed`` is how fast the recording is played, so that lags are in real time.
    """

    speed: float = 1.0
    lags: list[WordLag] = field(default_factory=list)
    _pending: list[tuple[str, int]] = field(default_factory=list)

    def partial(self, words: Sequence[Word], now_us: int) -> None:
        """Take the words of a new partial; a word that reads as before at its place keeps its time."""
        self._pending = [(word.text, self._since(at, word, now_us)) for at, word in enumerate(words)]

    def committed(self, words: Sequence[Word], now_us: int) -> None:
        """Take committed words; they leave the front of the partial."""
        for at, word in enumerate(words):
            ended_us = int(word.end_us / self.speed)
            self.lags.append(WordLag(self._since(at, word, now_us) - ended_us, now_us - ended_us))
        del self._pending[: len(words)]

    def _since(self, at: int, word: Word, now_us: int) -> int:
        known = self._pending[at] if at < len(self._pending) else None
        return known[1] if known and known[0] == word.text else now_us


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the value that ``percent`` of the values do not exceed (nearest rank); 0 for none."""
    ordered = sorted(values)
    rank = -(-len(ordered) * percent // 100)
    return ordered[max(0, int(rank) - 1)] if ordered else 0.0

"""The phrases of a session that may still be revised: what was last said of each, and when it becomes final.

Pure; the session calls it. A phrase's window is open until all words are known up to its end plus the window.
"""

from dataclasses import dataclass, field, replace
from typing import Generic

from services.aligner.judge import NOTHING, Answer
from services.aligner.phrases import Phrase
from services.aligner.scorer import Reading
from services.common.types import Alignment, StageTiming


@dataclass(slots=True)
class OpenPhrase(Generic[Reading]):
    """A phrase, its reading, what was last said of it, and whether that is still to be told."""

    phrase: Phrase
    reading: Reading
    answer: Answer = NOTHING
    timing: StageTiming = field(default_factory=StageTiming)
    revision: int = -1
    untold: bool = False

    def revise(self, answer: Answer, timing: StageTiming) -> None:
        """Take an answer; it counts as a revision when it says something else than the last one."""
        if self.revision >= 0 and _says(answer) == _says(self.answer):
            return
        self.answer, self.timing, self.untold = answer, timing, True
        self.revision += 1

    def told(self, *, final: bool) -> Alignment:
        """Return the event that tells the last answer."""
        self.untold = False
        phrase, answer = self.phrase, self.answer
        event = Alignment(
            phrase.word_ids, phrase.text, answer.frame_id, answer.relation, answer.age_us, answer.regions, answer.score
        )
        return replace(event, revision=self.revision, final=final, timing=self.timing)


def _says(answer: Answer) -> tuple[object, ...]:
    return answer.frame_id, answer.relation, answer.regions


class Window(Generic[Reading]):
    """At most ``max_open`` open phrases, oldest first; each stays open until ``length_us`` after its end."""

    def __init__(self, length_us: int, max_open: int) -> None:
        self._length_us = length_us
        self._max_open = max_open
        self._until_us = 0
        self._open: list[OpenPhrase[Reading]] = []

    def add(self, entry: OpenPhrase[Reading]) -> None:
        """Take a phrase that has its first answer."""
        self._open.append(entry)

    def advance(self, until_us: int) -> None:
        """Note that all words that end before ``until_us`` are known; time never goes back."""
        self._until_us = max(self._until_us, until_us)

    def within(self, pts_us: int) -> list[OpenPhrase[Reading]]:
        """Return the open phrases that a frame first shown at ``pts_us`` may change."""
        return [entry for entry in self._open if pts_us <= entry.phrase.end_us + self._length_us]

    def due(self) -> list[Alignment]:
        """Return what is to be told now: changed answers, and the final ones of phrases whose window has closed."""
        surplus = len(self._open) - self._max_open
        closed = [i < surplus or self._past(entry.phrase) for i, entry in enumerate(self._open)]
        events = [
            entry.told(final=final) for entry, final in zip(self._open, closed, strict=True) if final or entry.untold
        ]
        self._open = [entry for entry, final in zip(self._open, closed, strict=True) if not final]
        return events

    def close(self) -> list[Alignment]:
        """Return the final answers of all open phrases."""
        closed, self._open = self._open, []
        return [entry.told(final=True) for entry in closed]

    def _past(self, phrase: Phrase) -> bool:
        return self._until_us >= phrase.end_us + self._length_us

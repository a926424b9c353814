"""What a session has said so far: applies events one by one and notes where the server broke its word.

Pure: the time is passed in. Used by the live view and the report; useful to any reader of a session.
"""

from collections.abc import Callable
from typing import Any

from attune_client.events import (
    Alignment,
    Committed,
    Degraded,
    Event,
    Failed,
    Flow,
    Frame,
    Partial,
    Recovered,
    SessionEnded,
    SessionReady,
    Warned,
    Word,
)
from attune_client.lag import LagMeter


class Transcript:
    """The state that a session's events add up to.

    ``words`` are committed, ``partial`` may still change, ``frames`` are by id, ``faults`` says in words what the
    protocol forbids and the server did: a gap in the numbers, a word changed, a final alignment revised.
    """

    def __init__(self, speed: float = 1.0) -> None:
        self.words: list[Word] = []
        self.partial: tuple[Word, ...] = ()
        self.frames: dict[str, Frame] = {}
        self.degraded: dict[str, Degraded] = {}
        self.problems: list[Warned | Failed] = []
        self.faults: list[str] = []
        self.flow: Flow | None = None
        self.ready: SessionReady | None = None
        self.ended: SessionEnded | None = None
        self.lag = LagMeter(speed)
        self._alignments: dict[int, Alignment] = {}  # by the phrase's first word
        self._last_event_no = 0

    @property
    def alignments(self) -> list[Alignment]:
        """The newest alignment of every phrase, in the order of their words."""
        return [self._alignments[key] for key in sorted(self._alignments)]

    @property
    def final_alignments(self) -> list[Alignment]:
        """The alignments that never change again, in the order of their words."""
        return [alignment for alignment in self.alignments if alignment.final]

    def text_of(self, alignment: Alignment) -> str:
        """Return the phrase an alignment is about."""
        wanted = set(alignment.word_ids)
        return alignment.text or " ".join(word.text.strip() for word in self.words if word.id in wanted)

    def apply(self, event: Event, now_us: int) -> None:
        """Take the next event, which came ``now_us`` after the first audio was played."""
        self._check_number(event)
        take = _TAKES.get(type(event))
        if take:
            take(self, event, now_us)

    def _check_number(self, event: Event) -> None:
        if event.event_no is None:
            return
        if event.event_no != self._last_event_no + 1:
            self.faults.append(f"event {event.event_no} follows event {self._last_event_no}")
        self._last_event_no = event.event_no

    def _take_partial(self, event: Partial, now_us: int) -> None:
        self.partial = event.words
        self.lag.partial(event.words, now_us)

    def _take_committed(self, event: Committed, now_us: int) -> None:
        for word in event.words:
            self._check_word(word)
            self.words.append(word)
        self.lag.committed(event.words, now_us)
        # The committed words stood at the front of the partial; the next partial says what is left.
        self.partial = self.partial[len(event.words) :]

    def _check_word(self, word: Word) -> None:
        last = self.words[-1] if self.words else None
        if word.id is None or (last and last.id is not None and word.id <= last.id):
            self.faults.append(f"word {word.id} follows word {last.id if last else None}")
        if word.end_us < word.start_us or (last and word.start_us < last.start_us):
            self.faults.append(f"word {word.id} goes back in time")

    def _take_alignment(self, event: Alignment, _now_us: int) -> None:
        if not event.word_ids:
            self.faults.append("an alignment of no words")
            return
        known = self._alignments.get(event.word_ids[0])
        if known:
            self._check_revision(known, event)
        self._alignments[event.word_ids[0]] = event

    def _check_revision(self, known: Alignment, event: Alignment) -> None:
        phrase = f"of the phrase from word {event.word_ids[0]}"
        if known.final:
            self.faults.append(f"the final alignment {phrase} was revised")
        elif event.revision < known.revision:
            self.faults.append(f"revision {event.revision} {phrase} follows revision {known.revision}")
        elif event.revision == known.revision and _says(event) != _says(known):
            self.faults.append(f"revision {event.revision} {phrase} says two things")

    def _take_frame(self, event: Frame, _now_us: int) -> None:
        self.frames[event.id] = event

    def _take_degraded(self, event: Degraded, _now_us: int) -> None:
        self.degraded[event.stage] = event

    def _take_recovered(self, event: Recovered, _now_us: int) -> None:
        self.degraded.pop(event.stage, None)

    def _take_problem(self, event: Warned | Failed, _now_us: int) -> None:
        self.problems.append(event)

    def _take_flow(self, event: Flow, _now_us: int) -> None:
        self.flow = event

    def _take_ready(self, event: SessionReady, _now_us: int) -> None:
        self.ready = event

    def _take_ended(self, event: SessionEnded, _now_us: int) -> None:
        self.ended = event
        self.partial = ()


def _says(alignment: Alignment) -> tuple[object, ...]:
    return alignment.frame_id, alignment.relation, alignment.regions


_TAKES: dict[type[Event], Callable[[Transcript, Any, int], None]] = {
    Partial: Transcript._take_partial,
    Committed: Transcript._take_committed,
    Alignment: Transcript._take_alignment,
    Frame: Transcript._take_frame,
    Degraded: Transcript._take_degraded,
    Recovered: Transcript._take_recovered,
    Warned: Transcript._take_problem,
    Failed: Transcript._take_problem,
    Flow: Transcript._take_flow,
    SessionReady: Transcript._take_ready,
    SessionEnded: Transcript._take_ended,
}

"""The frames of one session in the order shown; each is shown until the next one. Pure; the session calls it."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Generic

from services.aligner.phrases import Phrase
from services.aligner.scorer import View
from services.aligner.timing import Placement, Span, place
from services.common.types import Relation


@dataclass(frozen=True, slots=True)
class Shown(Generic[View]):
    """A frame as the scorer sees it."""

    id: str
    pts_us: int
    view: View


@dataclass(frozen=True, slots=True)
class Candidate(Generic[View]):
    """A frame that a phrase may be about."""

    frame: Shown[View]
    placement: Placement


@dataclass(frozen=True, slots=True)
class Reach:
    """How far from a phrase its frame may lie: when the frame was last shown, when it is first shown."""

    before_us: int
    after_us: int


class Timeline(Generic[View]):
    """At most ``max_frames`` frames, sorted by time whatever order they come in; the oldest is dropped first."""

    def __init__(self, max_frames: int, reach: Reach) -> None:
        self._max_frames = max_frames
        self._reach = reach
        self._frames: list[Shown[View]] = []

    def add(self, frame: Shown[View]) -> None:
        """Take a frame; one of the same id is replaced."""
        frames = [kept for kept in self._frames if kept.id != frame.id]
        frames.insert(bisect_right(frames, frame.pts_us, key=lambda kept: kept.pts_us), frame)
        self._frames = frames[-self._max_frames :]

    def candidates(self, phrase: Phrase) -> tuple[Candidate[View], ...]:
        """Return the frames within reach of a phrase, oldest first."""
        placed = (Candidate(frame, place(phrase.start_us, phrase.end_us, span)) for frame, span in self._spans())
        return tuple(candidate for candidate in placed if self._reaches(candidate.placement))

    def _spans(self) -> Iterator[tuple[Shown[View], Span]]:
        # Frames of the same time share their span: none of them ended the other.
        ends = dict(pairwise(sorted({frame.pts_us for frame in self._frames})))
        return ((frame, Span(frame.pts_us, ends.get(frame.pts_us))) for frame in self._frames)

    def _reaches(self, placement: Placement) -> bool:
        after = placement.relation is Relation.NEAREST_AFTER
        return placement.age_us <= (self._reach.after_us if after else self._reach.before_us)

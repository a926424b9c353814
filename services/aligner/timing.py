"""Where a frame lies in time, seen from a phrase, and how much that speaks for it. Pure; the timeline calls it."""

import math
from dataclasses import dataclass

from services.common.types import Relation

# Speakers come back to what was shown before, seldom to what is shown next; both fade slowly.
BEFORE, AFTER = 0.8, 0.6
FADE_US = 120_000_000


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of media time, end excluded; ``end_us`` None has not ended."""

    start_us: int
    end_us: int | None


@dataclass(frozen=True, slots=True)
class Placement:
    """A frame's place in time: ``age_us`` is its distance from the phrase, ``temporal`` lies in [0, 1]."""

    relation: Relation
    age_us: int
    temporal: float


def place(start_us: int, end_us: int, shown: Span) -> Placement:
    """Return where a frame shown over ``shown`` lies, seen from a phrase from ``start_us`` to ``end_us``."""
    end_us = max(end_us, start_us + 1)  # a phrase without length still has a moment
    if shown.start_us >= end_us:
        age_us = shown.start_us - end_us
        return Placement(Relation.NEAREST_AFTER, age_us, AFTER * math.exp(-age_us / FADE_US))
    if shown.end_us is not None and shown.end_us <= start_us:
        age_us = start_us - shown.end_us
        return Placement(Relation.NEAREST_BEFORE, age_us, BEFORE * math.exp(-age_us / FADE_US))
    until_us = end_us if shown.end_us is None else min(end_us, shown.end_us)
    share = (until_us - max(start_us, shown.start_us)) / (end_us - start_us)
    return Placement(Relation.DURING, 0, BEFORE + (1 - BEFORE) * share)

"""Decides which frame and regions a phrase is about. Readings and candidates in, answers out; runs on a worker."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic

from services.aligner.regions import regions_of
from services.aligner.score import joined
from services.aligner.scorer import Reading, Scorer, View
from services.aligner.timeline import Candidate
from services.common.types import Relation, Score, ScoredRegion


@dataclass(frozen=True, slots=True)
class Answer:
    """What a phrase is about; without a frame the score is that of the one that came nearest."""

    frame_id: str | None
    relation: Relation
    age_us: int
    regions: tuple[ScoredRegion, ...]
    score: Score


NOTHING = Answer(None, Relation.NONE, 0, (), Score(0.0, 0.0, 0.0))


@dataclass(frozen=True, slots=True)
class Judge(Generic[Reading, View]):
    """A scorer and the least probability that names a frame."""

    scorer: Scorer[Reading, View]
    min_probability: float

    def answer(self, reading: Reading, candidates: Sequence[Candidate[View]]) -> Answer:
        """Return the likeliest of the candidates with its regions; of equals, the one shown last."""
        semantics = self.scorer.semantic(reading, [candidate.frame.view for candidate in candidates])
        best, score = None, NOTHING.score
        for candidate, semantic in zip(candidates, semantics, strict=True):
            found = joined(semantic, candidate.placement.temporal)
            if found.combined >= score.combined:
                best, score = candidate, found
        if best is None or score.combined < self.min_probability:
            return Answer(None, Relation.NONE, 0, (), score)
        regions = regions_of(self.scorer.heat(reading, best.frame.view))
        return Answer(best.frame.id, best.placement.relation, best.placement.age_us, regions, score)

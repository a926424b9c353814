"""Whether phrases were matched with the right picture and the right part of it.

Pure: truth and alignments in, counts out. Called by demo.py.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from attune_client.events import Alignment, Word
from bench.measure import tokens
from bench.tour import Box, Phrase

SAME_PHRASE = 0.5  # share of a sentence's words that an alignment must hold to be about that sentence


@dataclass(frozen=True, slots=True)
class Heard:
    """A final alignment, the file of its frame, and when its words were said."""

    alignment: Alignment
    file: str | None
    text: str
    start_us: int
    end_us: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one phrase; the shares are None where there is no region to judge."""

    matched: bool
    frame_correct: bool = False
    region_correct: bool = False
    region_inside: float | None = None
    region_iou: float | None = None


def heard(alignments: Sequence[Alignment], words: Sequence[Word], files: Mapping[str, str]) -> list[Heard]:
    """Return alignments with their words' text and times; ``files`` says which file each frame was."""
    by_id = {word.id: word for word in words}
    return [_heard(alignment, by_id, files) for alignment in alignments]


def _heard(alignment: Alignment, by_id: Mapping[int | None, Word], files: Mapping[str, str]) -> Heard:
    words = [by_id[id_] for id_ in alignment.word_ids]
    file = None if alignment.frame_id is None else files[alignment.frame_id]
    text = " ".join(word.text.strip() for word in words)
    return Heard(alignment, file, text, words[0].start_us, words[-1].end_us)


def judged(phrase: Phrase, others: Sequence[Box], candidates: Sequence[Heard]) -> Verdict:
    """Return what became of ``phrase``; ``others`` are the boxes of other subjects in the same picture."""
    best = _said_as(phrase, candidates)
    if best is None:
        return Verdict(matched=False)
    if best.file != phrase.file:
        return Verdict(matched=True)
    if phrase.box is None or not best.alignment.regions:
        return Verdict(matched=True, frame_correct=True)
    box = max(best.alignment.regions, key=lambda region: region.score).box
    return Verdict(
        matched=True,
        frame_correct=True,
        region_correct=points_at(box, phrase.box, others),
        region_inside=area(overlap(box, phrase.box)) / area(box),
        region_iou=iou(box, phrase.box),
    )


def _said_as(phrase: Phrase, candidates: Sequence[Heard]) -> Heard | None:
    """Return the candidate that holds most of the sentence's words, said while the sentence is."""
    near = [each for each in candidates if each.start_us < phrase.end_us and each.end_us > phrase.start_us]
    best = max(near, key=lambda each: recall(phrase.text, each.text), default=None)
    return best if best and recall(phrase.text, best.text) >= SAME_PHRASE else None


def recall(text: str, said: str) -> float:
    """Return the share of the words of ``text`` that ``said`` holds."""
    wanted = Counter(tokens(text))
    return (wanted & Counter(tokens(said))).total() / wanted.total()


def points_at(box: Box, subject: Box, others: Sequence[Box]) -> bool:
    """Return whether a box's centre lies in the subject's and no more than half of it in another subject's."""
    across, along = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    centred = subject[0] <= across <= subject[2] and subject[1] <= along <= subject[3]
    return centred and all(area(overlap(box, other)) <= area(box) / 2 for other in others)


def overlap(one: Box, other: Box) -> Box:
    """Return the rectangle that both cover; of no area when they do not meet."""
    x0, y0 = max(one[0], other[0]), max(one[1], other[1])
    return x0, y0, max(x0, min(one[2], other[2])), max(y0, min(one[3], other[3]))


def area(box: Box) -> float:
    """Return the share of the image that a box covers."""
    return (box[2] - box[0]) * (box[3] - box[1])


def iou(one: Box, other: Box) -> float:
    """Return intersection over union."""
    shared = area(overlap(one, other))
    return shared / (area(one) + area(other) - shared)

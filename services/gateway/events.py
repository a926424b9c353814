"""Types to the JSON of protocol events and REST answers; nothing else knows these shapes."""

from collections.abc import Iterable
from typing import Any

from services.common.types import (
    Alignment,
    Box,
    Coverage,
    EncodedFrame,
    FailedFrame,
    ImageReport,
    Label,
    Partial,
    Region,
    SpokenWord,
    Word,
)

Json = dict[str, Any]

# Four decimals of a score or a box are more than any model means by them.
DECIMALS = 4


def box_json(box: Box) -> list[float]:
    """Return ``[x0, y0, x1, y1]``."""
    return [round(edge, DECIMALS) for edge in (box.x0, box.y0, box.x1, box.y1)]


def labels_json(labels: Iterable[Label]) -> list[Json]:
    """Return labels with their scores."""
    return [{"text": label.text, "score": round(label.score, DECIMALS)} for label in labels]


def region_json(region: Region) -> Json:
    """Return a region of a frame."""
    return {"box": box_json(region.box), "labels": labels_json(region.labels)}


def report_json(report: ImageReport) -> Json:
    """Return what was found in an image file."""
    return {
        "format": report.format,
        "width": report.width,
        "height": report.height,
        "orientation": report.orientation,
        "notes": list(report.notes),
    }


def seen_json(frame: EncodedFrame) -> Json:
    """Return what was seen in a frame, without its id."""
    return {
        "labels": labels_json(frame.labels),
        "regions": [region_json(region) for region in frame.regions],
        "input": report_json(frame.report),
    }


def frame_json(id: str, pts_us: int, status: str, **rest: Any) -> Json:
    """Return a ``frame`` event."""
    return {"type": "frame", "id": id, "pts_us": pts_us, "status": status, **rest}


def frame_event(frame: EncodedFrame | FailedFrame, pts_us: int) -> Json:
    """Return the ``frame`` event for an encoder's answer."""
    if isinstance(frame, FailedFrame):
        return frame_json(frame.id, pts_us, "failed", reason=frame.message, code=frame.code)
    return frame_json(frame.id, frame.pts_us, "seen", **seen_json(frame))


def word_json(id: int, word: Word) -> Json:
    """Return a committed word."""
    body = {
        "id": id,
        "text": word.text,
        "start_us": word.start_us,
        "end_us": word.end_us,
        "confidence": round(word.confidence, DECIMALS),
    }
    return body | ({"interpolated": True} if word.interpolated else {})


def words_json(numbered: Iterable[SpokenWord], words: Iterable[Word]) -> list[Json]:
    """Return committed words with the ids that the session gave them."""
    return [word_json(spoken.id, word) for spoken, word in zip(numbered, words, strict=True)]


def text_of(words: Iterable[Word]) -> str:
    """Return words as running text."""
    return " ".join(word.text for word in words)


def partial_event(partial: Partial, first_id: int) -> Json:
    """Return the ``transcript.partial`` event; ids are those the words would get now."""
    words = [word_json(number, word) for number, word in enumerate(partial.words, first_id)]
    return {"type": "transcript.partial", "text": text_of(partial.words), "words": words}


def alignment_json(alignment: Alignment) -> Json:
    """Return an alignment."""
    score = alignment.score
    return {
        "word_ids": list(alignment.word_ids),
        "text": alignment.text,
        "frame_id": alignment.frame_id,
        "relation": alignment.relation.value,
        "age_us": alignment.age_us,
        "regions": [{"box": box_json(r.box), "score": round(r.score, DECIMALS)} for r in alignment.regions],
        "score": {
            "temporal": round(score.temporal, DECIMALS),
            "semantic": round(score.semantic, DECIMALS),
            "combined": round(score.combined, DECIMALS),
        },
        "revision": alignment.revision,
        "final": alignment.final,
    }


def coverage_json(coverage: Coverage) -> Json:
    """Return what became of the audio."""
    return {
        "duration_us": coverage.duration_us,
        "transcribed_us": coverage.transcribed_us,
        "silent_us": coverage.silent_us,
        "dropped": [{"start_us": d.start_us, "end_us": d.end_us, "reason": d.reason} for d in coverage.dropped],
    }

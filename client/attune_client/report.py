"""What is left after a talk: annotated pictures, captions.vtt and session.json in one folder.

Called by ``stream_files`` when the session is over, also when it broke off.
"""

import json
import re
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from PIL import Image, UnidentifiedImageError

from attune_client.captions import cues, webvtt
from attune_client.errors import AttuneError
from attune_client.events import Alignment, Frame
from attune_client.lag import LagMeter, percentile
from attune_client.media import TimedImage
from attune_client.pictures import Marked, annotated
from attune_client.talk import Talk, clock_text, region_words, strongest
from attune_client.transcript import Transcript

SESSION = "session.json"


def check_writable(out: Path) -> None:
    """AttuneError when the report's folder can be neither made nor written to; leaves nothing behind.

    Tries it with an unnamed file: what permissions say does not hold for root or on a read-only disk.
    """
    try:
        nearest = next(folder for folder in (out, *out.parents) if folder.exists())
        with tempfile.TemporaryFile(dir=nearest):
            pass
    except OSError as error:
        raise _unwritable(out, error) from error


def _unwritable(out: Path, error: OSError) -> AttuneError:
    return AttuneError("invalid_input", f"cannot write {out}: {error.strerror or error}", param="out")


def write_report(out: Path, talk: Talk, transcript: Transcript) -> list[Path]:
    """Write the folder and return its files; blocks while drawing. AttuneError when it cannot be written."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        _remove_pictures(out)
        pictures = [_write_picture(out, talk, transcript, number) for number in range(1, len(talk.images) + 1)]
        captions, session = out / "captions.vtt", out / SESSION
        phrases = [alignment.word_ids for alignment in transcript.final_alignments]
        captions.write_text(webvtt(cues(transcript.words, phrases)), encoding="utf-8")
        shown = zip(talk.images, pictures, strict=True)
        images = [{"file": i.name, "pts_us": i.pts_us, "picture": p.name if p else None} for i, p in shown]
        record = {**session_record(talk, transcript), "images": images}
        session.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise _unwritable(out, error) from error
    return [captions, session, *(picture for picture in pictures if picture)]


def _remove_pictures(out: Path) -> None:
    """Remove the pictures of the report that was here before, by its own account; nothing else in the folder."""
    try:
        names = [image["picture"] for image in json.loads((out / SESSION).read_bytes())["images"]]
    except (OSError, ValueError, LookupError, TypeError):  # none was here, or one that is not ours
        return
    for name in names:
        if isinstance(name, str) and re.fullmatch(r"\d\d+-[^/]*\.png", name):
            (out / name).unlink(missing_ok=True)


def session_record(talk: Talk, transcript: Transcript) -> dict[str, Any]:
    """Return all that is known of the session as JSON objects."""
    ready, ended = transcript.ready, transcript.ended
    return {
        "session_id": ready.session_id if ready else None,
        "title": talk.title,
        "duration_us": talk.duration_us,
        "complete": ended is not None,
        "models": ready.models if ready else None,
        "words": [asdict(word) for word in transcript.words],
        "frames": [_frame_record(talk, frame) for frame in transcript.frames.values()],
        "alignments": [_alignment_record(transcript, alignment) for alignment in transcript.final_alignments],
        "coverage": asdict(ended.coverage) if ended and ended.coverage else None,
        "usage": ended.usage if ended else None,
        "lag": lag_record(transcript.lag),
        "problems": [asdict(problem) for problem in transcript.problems],
        "faults": transcript.faults,
    }


def _frame_record(talk: Talk, frame: Frame) -> dict[str, Any]:
    image = talk.image_of(frame)
    return {"file": image.name if image else None, **asdict(frame)}


def _alignment_record(transcript: Transcript, alignment: Alignment) -> dict[str, Any]:
    return {**asdict(alignment), "text": transcript.text_of(alignment)}


def lag_record(meter: LagMeter) -> dict[str, Any]:
    """Return the measured lags in milliseconds: until words stayed as they are, and until they were committed."""
    settled = [lag.settled_us / 1000 for lag in meter.lags]
    committed = [lag.committed_us / 1000 for lag in meter.lags]
    return {
        "words": len(settled),
        "word_lag_ms": {f"p{percent}": round(percentile(settled, percent)) for percent in (50, 95, 99)},
        "commit_lag_ms": {f"p{percent}": round(percentile(committed, percent)) for percent in (50, 95, 99)},
    }


def _write_picture(out: Path, talk: Talk, transcript: Transcript, number: int) -> Path | None:
    image = talk.images[number - 1]
    path = out / f"{number:02}-{image.path.stem}.png"
    frames = [frame for frame in transcript.frames.values() if talk.image_of(frame) == image]
    try:
        with Image.open(image.path) as opened:
            sheet = annotated(opened, _title(image, frames), _marked(transcript, frames))
    except (UnidentifiedImageError, OSError, ValueError, Image.DecompressionBombError):
        return None  # session.json says that there is no picture, and what the server said of the image
    sheet.save(path)
    return path


def _title(image: TimedImage, frames: Sequence[Frame]) -> str:
    if not frames:
        fate = "the server said nothing about it"
    elif frames[0].status == "seen":
        fate = ", ".join(label.text for label in frames[0].labels[:3])
    else:
        fate = " ".join(part for part in (frames[0].status, frames[0].duplicate_of, frames[0].reason) if part)
    return f"{image.name} · from {clock_text(image.pts_us)}" + (f" · {fate}" if fate else "")


def _marked(transcript: Transcript, frames: Sequence[Frame]) -> list[Marked]:
    ids = {frame.id for frame in frames}
    return [
        _marked_phrase(transcript, alignment) for alignment in transcript.final_alignments if alignment.frame_id in ids
    ]


def _marked_phrase(transcript: Transcript, alignment: Alignment) -> Marked:
    best = strongest(alignment.regions)
    place = f" · {region_words(best.box)}" if best else ""
    ordered = sorted(alignment.regions, key=lambda region: -region.score)
    boxes = tuple(region.box for region in ordered)
    return Marked(transcript.text_of(alignment), f"score {alignment.score.combined:.2f}{place}", boxes)

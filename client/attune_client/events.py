"""What a session says: one frozen dataclass per server event, built from the JSON that came in.

Times are microseconds of the session's media clock. Boxes are ``(x0, y0, x1, y1)`` in fractions of the upright image,
origin top left. Callers meet these in ``async for event in session``.
"""

import json
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from attune_client.decode import from_json
from attune_client.errors import AttuneError

Box: TypeAlias = tuple[float, float, float, float]


@dataclass(frozen=True)
class Word:
    """A word as heard; in a partial it has no id yet."""

    text: str
    start_us: int
    end_us: int
    confidence: float | None = None
    id: int | None = None


@dataclass(frozen=True)
class Label:
    """A class name and its probability."""

    text: str
    score: float


@dataclass(frozen=True)
class Region:
    """A part of an image and what it shows."""

    box: Box
    labels: tuple[Label, ...] = ()


@dataclass(frozen=True)
class ScoredRegion:
    """A part of an image and how strongly a phrase points to it."""

    box: Box
    score: float


@dataclass(frozen=True)
class Score:
    """Each in [0, 1]; ``combined`` is the probability that phrase and image belong together."""

    temporal: float
    semantic: float
    combined: float


@dataclass(frozen=True)
class Dropped:
    """A stretch of audio without words, and why."""

    start_us: int
    end_us: int
    reason: str


@dataclass(frozen=True)
class Coverage:
    """What became of the audio: the three parts add up to its duration."""

    transcribed_us: int
    silent_us: int
    dropped: tuple[Dropped, ...] = ()


@dataclass(frozen=True)
class Event:
    """Anything the server says. Events that matter are numbered 1, 2, 3 … without gaps; the others have no number."""

    event_no: int | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class SessionReady(Event):
    """The session began; ``token`` resumes it."""

    session_id: str
    token: str = ""
    models: Any = None
    limits: Any = None
    version: str = ""
    resumed: bool = False


@dataclass(frozen=True)
class SpeechStarted(Event):
    """Speech begins."""

    pts_us: int


@dataclass(frozen=True)
class SpeechStopped(Event):
    """Speech ended."""

    pts_us: int


@dataclass(frozen=True)
class Partial(Event):
    """Words that may still change; replaces the previous partial."""

    text: str
    words: tuple[Word, ...] = ()


@dataclass(frozen=True)
class Committed(Event):
    """Words that never change again."""

    words: tuple[Word, ...]


@dataclass(frozen=True)
class Frame(Event):
    """What became of one image: ``status`` is seen, duplicate, dropped or failed."""

    id: str
    pts_us: int
    status: str
    reason: str | None = None
    duplicate_of: str | None = None
    labels: tuple[Label, ...] = ()
    regions: tuple[Region, ...] = ()
    input: Any = None


@dataclass(frozen=True)
class Alignment(Event):
    """The image and the regions that one phrase is about; ``frame_id`` is None when nothing fits.

    A later event about the phrase with the same first word replaces this one, unless this is ``final``; its
    ``revision`` is higher when it says something else.
    """

    word_ids: tuple[int, ...]
    frame_id: str | None
    relation: str
    score: Score
    text: str = ""
    age_us: int = 0
    regions: tuple[ScoredRegion, ...] = ()
    revision: int = 0
    final: bool = True


@dataclass(frozen=True)
class Ack(Event):
    """Media up to these sequence numbers may be forgotten."""

    audio_seq: int = 0
    image_seq: int = 0


@dataclass(frozen=True)
class Flow(Event):
    """How far the captions are behind."""

    lag_us: int
    window_us: int | None = None


@dataclass(frozen=True)
class Degraded(Event):
    """A stage works less well, or not at all, from now on."""

    stage: str
    level: Any = None
    reason: str = ""


@dataclass(frozen=True)
class Recovered(Event):
    """The stage is well again."""

    stage: str
    level: Any = None
    reason: str = ""


@dataclass(frozen=True)
class Marker(Event):
    """Answers the flush of the same name: all said before it is final."""

    marker: str


@dataclass(frozen=True)
class GoingAway(Event):
    """The server leaves in ``in_ms``: connect again."""

    in_ms: int
    token: str = ""


@dataclass(frozen=True)
class GenerationDelta(Event):
    """More of the generator's text."""

    text: str


@dataclass(frozen=True)
class GenerationDone(Event):
    """All of the generator's text."""

    text: str = ""


@dataclass(frozen=True)
class Warned(Event):
    """Something about the input that the user should know; work goes on."""

    code: str
    message: str


@dataclass(frozen=True)
class Failed(Event):
    """Something was refused or failed; the session ends after it only when ``fatal``."""

    code: str
    message: str
    param: str | None = None
    retryable: bool = False
    fatal: bool = False
    # A full server says when to come back.
    retry_after_s: float | None = None


@dataclass(frozen=True)
class SessionEnded(Event):
    """The last event: what became of the audio, and what was used."""

    coverage: Coverage | None = None
    usage: Any = None


@dataclass(frozen=True)
class Unknown(Event):
    """An event of a newer server; ``raw`` is its JSON object."""

    type: str
    raw: dict[str, Any]


_TYPES: dict[str, type[Event]] = {
    "session.ready": SessionReady,
    "speech.started": SpeechStarted,
    "speech.stopped": SpeechStopped,
    "transcript.partial": Partial,
    "transcript.committed": Committed,
    "frame": Frame,
    "alignment": Alignment,
    "ack": Ack,
    "flow": Flow,
    "degraded": Degraded,
    "recovered": Recovered,
    "marker": Marker,
    "going_away": GoingAway,
    "generation.delta": GenerationDelta,
    "generation.done": GenerationDone,
    "warning": Warned,
    "error": Failed,
    "session.ended": SessionEnded,
}


def event_from_json(text: str | bytes) -> Event:
    """Return the event in one text frame; AttuneError ``bad_answer`` when it is not what its type says."""
    try:
        raw = json.loads(text)
        name = str(raw["type"])
        kind = _TYPES.get(name)
        if kind is None:
            return Unknown(name, raw, event_no=from_json(Event, raw).event_no)
        return from_json(kind, raw)
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        raise AttuneError("bad_answer", f"the server sent an event that cannot be read: {error}") from error

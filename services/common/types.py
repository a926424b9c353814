"""The values that travel between gateway and services; every port speaks these and nothing else.

Times are microseconds of the session's media clock. Boxes are fractions of the upright image, origin top left.
"""

from dataclasses import dataclass
from enum import StrEnum


class Encoding(StrEnum):
    """How audio bytes are to be read. ``FILE`` is any container, recognised by its bytes."""

    PCM_S16LE = "pcm_s16le"
    PCM_F32LE = "pcm_f32le"
    MULAW = "mulaw"
    ALAW = "alaw"
    OPUS = "opus"
    WEBM = "webm"
    FILE = "file"


SAMPLE_BYTES = {Encoding.PCM_S16LE: 2, Encoding.PCM_F32LE: 4, Encoding.MULAW: 1, Encoding.ALAW: 1}


class Relation(StrEnum):
    """Where a frame lies in time, seen from a phrase."""

    DURING = "during"
    NEAREST_BEFORE = "nearest_before"
    NEAREST_AFTER = "nearest_after"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class StageTiming:
    """Where one answer's time went: waiting for a worker, host time of the work, device time of the work."""

    queue_us: int = 0
    compute_us: int = 0
    device_us: int = 0

    def __add__(self, later: "StageTiming") -> "StageTiming":
        return StageTiming(
            self.queue_us + later.queue_us, self.compute_us + later.compute_us, self.device_us + later.device_us
        )


@dataclass(frozen=True, slots=True)
class Flush:
    """Asks that everything before it become final."""

    marker: str


@dataclass(frozen=True, slots=True)
class Marker:
    """Answers the flush of the same name, after all that it made final."""

    marker: str


# --- speech


@dataclass(frozen=True, slots=True)
class RecognizeConfig:
    """First message to a transcriber. ``start_us`` is the media time of the first sample.

    A stream that goes on where another broke off is told up to where that one had decided, ``settled_us``, and the
    words that it had ``said`` of the audio since ``start_us``: neither are they said nor is that time counted again.
    The decoder takes the ``prompt`` as said before the audio; ``temperature`` 0 takes the likeliest token, up to 1
    samples. ``details`` asks for tokens and windows. ``vad_start`` and ``min_silence_ms``: 0 is the service's own.
    It ``continues`` a session that was let in before.
    """

    encoding: Encoding
    sample_rate_hz: int = 0
    channels: int = 1
    language: str = ""
    model: str = ""
    partials: bool = True
    start_us: int = 0
    settled_us: int = 0
    said: "tuple[Word, ...]" = ()
    prompt: str = ""
    temperature: float = 0.0
    details: bool = False
    vad_start: float = 0.0
    min_silence_ms: int = 0
    continues: bool = False

    @property
    def bytes_per_s(self) -> int:
        """Bytes of one second of audio; 0 for containers, whose bytes say nothing of time."""
        return SAMPLE_BYTES.get(self.encoding, 0) * self.channels * self.sample_rate_hz


@dataclass(frozen=True, slots=True)
class AudioChunk:
    """Consecutive audio; ``seq`` counts from 1 in the session, ``pts_us`` is the first sample's time."""

    seq: int
    pts_us: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a word as the model spells it; its bytes may end within a character."""

    id: int
    text: bytes
    logprob: float


@dataclass(frozen=True, slots=True)
class Word:
    """A word as heard; ``interpolated`` when its times were set between neighbours."""

    text: str
    start_us: int
    end_us: int
    confidence: float
    interpolated: bool = False
    tokens: tuple[Token, ...] = ()


@dataclass(frozen=True, slots=True)
class Ready:
    """The transcriber took the configuration; it listens for ``language``, or the model finds out where that is empty.

    ``prompt_tokens`` of the prompt are told to the decoder.
    """

    model: str
    language: str = ""
    prompt_tokens: int = 0


@dataclass(frozen=True, slots=True)
class SpeechStarted:
    """Speech begins at ``pts_us``."""

    pts_us: int


@dataclass(frozen=True, slots=True)
class SpeechStopped:
    """Speech ended at ``pts_us``."""

    pts_us: int


@dataclass(frozen=True, slots=True)
class Partial:
    """Words that may still change; replaces the previous partial."""

    words: tuple[Word, ...]
    timing: StageTiming = StageTiming()


@dataclass(frozen=True, slots=True)
class Window:
    """The stretch of a file that words were heard in; ``no_speech`` is the model's probability that nobody speaks."""

    start_us: int
    no_speech: float
    language: str


@dataclass(frozen=True, slots=True)
class Committed:
    """Words that never change again, in order, times monotone; of files, and when asked for, with their window."""

    words: tuple[Word, ...]
    timing: StageTiming = StageTiming()
    window: Window | None = None


@dataclass(frozen=True, slots=True)
class Warned:
    """Something about the input that the user should know; work goes on."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Dropped:
    """A stretch of audio without words, and why."""

    start_us: int
    end_us: int
    reason: str


@dataclass(frozen=True, slots=True)
class Coverage:
    """What became of the audio: transcribed + silent + dropped is the duration. Last event of a transcriber."""

    duration_us: int
    transcribed_us: int
    silent_us: int
    dropped: tuple[Dropped, ...] = ()


@dataclass(frozen=True, slots=True)
class Settled:
    """Audio before ``until_us`` is decided, as ``coverage`` says; audio up to ``received_us`` has come in.

    A new stream that starts at ``resume_us``, told the words said since then, goes on as this one would have.
    """

    until_us: int
    received_us: int
    resume_us: int
    coverage: Coverage = Coverage(0, 0, 0)


SpeechInput = RecognizeConfig | AudioChunk | Flush
SpeechEvent = Ready | SpeechStarted | SpeechStopped | Partial | Committed | Settled | Marker | Warned | Coverage


# --- vision


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle in fractions of the upright image."""

    x0: float
    y0: float
    x1: float
    y1: float


@dataclass(frozen=True, slots=True)
class EncodeConfig:
    """First message to an image encoder."""

    model: str = ""


@dataclass(frozen=True, slots=True)
class Image:
    """A whole encoded file; its bytes decide the format."""

    id: str
    pts_us: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Label:
    """A class name and its probability."""

    text: str
    score: float


@dataclass(frozen=True, slots=True)
class Region:
    """A part of the image and what it shows."""

    box: Box
    labels: tuple[Label, ...]


@dataclass(frozen=True, slots=True)
class ImageReport:
    """What was found in the file; width and height in pixels after EXIF rotation."""

    format: str
    width: int
    height: int
    orientation: int = 1
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RegionTokens:
    """One float16 vector per cell, row by row (``rows * cols * dim``), and one for the whole image (``dim``)."""

    space: str
    rows: int
    cols: int
    dim: int
    cells: bytes
    pooled: bytes


@dataclass(frozen=True, slots=True)
class RegionTokenHandle:
    """Tokens that stayed on the device of ``process``."""

    process: str
    id: str


@dataclass(frozen=True, slots=True)
class EncodedFrame:
    """What the encoder saw in one image."""

    id: str
    pts_us: int
    labels: tuple[Label, ...]
    regions: tuple[Region, ...]
    embedding: tuple[float, ...]
    tokens: RegionTokens | RegionTokenHandle
    report: ImageReport
    timing: StageTiming = StageTiming()


@dataclass(frozen=True, slots=True)
class FailedFrame:
    """One image that could not be encoded; ``code`` is one of the error table's."""

    id: str
    code: str
    message: str


VisionInput = EncodeConfig | Image
VisionEvent = EncodedFrame | FailedFrame


# --- alignment


@dataclass(frozen=True, slots=True)
class AlignConfig:
    """First message to an aligner."""

    model: str = ""


@dataclass(frozen=True, slots=True)
class FrameTokens:
    """A frame as the aligner needs it."""

    id: str
    pts_us: int
    tokens: RegionTokens | RegionTokenHandle


@dataclass(frozen=True, slots=True)
class SpokenWord:
    """A committed word with the session's number for it."""

    id: int
    text: str
    start_us: int
    end_us: int


@dataclass(frozen=True, slots=True)
class Words:
    """Newly committed words, in order."""

    words: tuple[SpokenWord, ...]


@dataclass(frozen=True, slots=True)
class Progress:
    """All words that end before ``until_us`` have been sent."""

    until_us: int


@dataclass(frozen=True, slots=True)
class ScoredRegion:
    """A part of the frame and how strongly the phrase points to it."""

    box: Box
    score: float


@dataclass(frozen=True, slots=True)
class Score:
    """Each in [0, 1]; ``combined`` is the probability that phrase and frame belong together."""

    temporal: float
    semantic: float
    combined: float


@dataclass(frozen=True, slots=True)
class Alignment:
    """The frame and regions that one phrase is about; ``frame_id`` is None when nothing fits."""

    word_ids: tuple[int, ...]
    text: str
    frame_id: str | None
    relation: Relation
    age_us: int
    regions: tuple[ScoredRegion, ...]
    score: Score
    revision: int = 0
    final: bool = True
    timing: StageTiming = StageTiming()


AlignInput = AlignConfig | FrameTokens | Words | Progress | Flush
AlignEvent = Alignment | Marker

"""One request with files: speech and images are read side by side, the aligner joins them, one answer comes back.

The same three ports as a live session, fed from memory. Called by routes/alignments.py.
"""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing
from dataclasses import dataclass, field

from services.common.errors import AttuneError, DeadlineExceeded, Internal, TooLarge
from services.common.ports import Call
from services.common.types import (
    AlignConfig,
    AlignInput,
    Alignment,
    AudioChunk,
    Committed,
    Coverage,
    EncodeConfig,
    EncodedFrame,
    Encoding,
    FailedFrame,
    FrameTokens,
    Image,
    Ready,
    RecognizeConfig,
    Settled,
    SpeechInput,
    VisionEvent,
    Warned,
    Words,
)
from services.gateway import events
from services.gateway.clients import Upstreams
from services.gateway.inbox import Inbox
from services.gateway.session import Session
from services.gateway.settings import GatewaySettings

AUDIO_PIECE_BYTES = 2**20
WHOLE_BYTES = 2**20  # images that are sent at once: encoding the first would not begin much sooner on a stream
UNANSWERED = Internal("the encoder gave no answer")


@dataclass(frozen=True, slots=True)
class Files:
    """What one request brings."""

    audio: bytes
    images: tuple[Image, ...]
    language: str = ""


@dataclass
class Findings:
    """What the three stages found, and when each was done (monotonic nanoseconds)."""

    started_ns: int = field(default_factory=time.monotonic_ns)
    words: list[events.Json] = field(default_factory=list)
    frames: dict[str, events.Json] = field(default_factory=dict)
    alignments: list[events.Json] = field(default_factory=list)
    coverage: Coverage = field(default_factory=lambda: Coverage(0, 0, 0))
    model: str = ""
    degraded: list[str] = field(default_factory=list)
    warnings: list[events.Json] = field(default_factory=list)
    done_ns: dict[str, int] = field(default_factory=dict)

    def note_done(self, stage: str) -> None:
        """Note that a stage has given everything."""
        self.done_ns[stage] = time.monotonic_ns()

    def timing(self) -> events.Json:
        """Return wall times in microseconds; the aligner's counts from when both others were done."""
        asr, vision, align = (self.done_ns[stage] for stage in ("asr", "vision", "align"))
        joined = max(asr, vision)
        return {
            "asr_us": (asr - self.started_ns) // 1000,
            "vision_us": (vision - self.started_ns) // 1000,
            "align_us": (align - joined) // 1000,
            "total_us": (time.monotonic_ns() - self.started_ns) // 1000,
        }


class FileAlignment:
    """Runs one request; ``run`` returns the answer, or raises when the audio cannot be read or no time is left.

    Images and alignment may fail without failing the request: the answer says so in ``degraded``.
    """

    def __init__(self, files: Files, upstreams: Upstreams, settings: GatewaySettings) -> None:
        self._files = files
        self._upstreams = upstreams
        self._settings = settings
        self._session = Session(id="a_" + secrets.token_urlsafe(12))
        self._found = Findings()
        self._moments: Inbox[AlignInput] = Inbox(limit=2**20)

    async def run(self, call: Call) -> events.Json:
        """Return the answer of ``POST /v1/alignments``."""
        try:
            async with asyncio.timeout(self._settings.request_timeout_s) as timeout:
                await self._read_and_match(call, timeout)
        except TimeoutError as error:
            raise DeadlineExceeded("the files took longer than they may") from error
        return self._answer()

    async def _read_and_match(self, call: Call, timeout: asyncio.Timeout) -> None:
        bounded = call.within(self._settings.request_timeout_s + self._settings.max_file_audio_s)
        async with asyncio.TaskGroup() as tasks:
            matching = tasks.create_task(self._match(bounded))
            async with asyncio.TaskGroup() as reading:
                reading.create_task(self._hear(bounded, timeout))
                reading.create_task(self._look(call.within(self._settings.request_timeout_s)))
            self._moments.close()
            await matching

    async def _hear(self, call: Call, timeout: asyncio.Timeout) -> None:
        async with aclosing(self._upstreams.transcriber(self._audio(), call)) as heard:
            async for event in heard:
                match event:
                    case Ready(model):
                        self._found.model = model
                    case Settled(_, received_us):
                        self._allow(timeout, received_us)
                    case Committed():
                        await self._commit(event)
                    case Warned(code, message):
                        self._found.warnings.append({"code": code, "message": message})
                    case Coverage():
                        self._found.coverage = event
        self._found.note_done("asr")

    def _allow(self, timeout: asyncio.Timeout, audio_us: int) -> None:
        # A file may take as long as a call, and its own length on top.
        passed_s = (time.monotonic_ns() - self._found.started_ns) / 1e9
        left_s = self._settings.request_timeout_s + audio_us / 1e6 - passed_s
        timeout.reschedule(asyncio.get_running_loop().time() + left_s)

    async def _audio(self) -> AsyncIterator[SpeechInput]:
        yield RecognizeConfig(Encoding.FILE, language=self._files.language, partials=False)
        audio = self._files.audio
        for seq, start in enumerate(range(0, len(audio), AUDIO_PIECE_BYTES), 1):
            yield AudioChunk(seq, 0, audio[start : start + AUDIO_PIECE_BYTES])

    async def _commit(self, committed: Committed) -> None:
        spoken = self._session.spoken(committed)
        self._found.words += events.words_json(spoken, committed.words)
        await self._moments.put(Words(spoken))

    async def _look(self, call: Call) -> None:
        pending = {image.id: image for image in self._files.images}
        for failed in too_large(self._files.images, self._settings.max_image_bytes):
            await self._see(failed, pending.pop(failed.id))
        try:
            if pending:
                async with aclosing(self._upstreams.image_encoder(_inputs(tuple(pending.values())), call)) as seen:
                    async for frame in seen:
                        await self._see(frame, pending.pop(frame.id))
        except AttuneError as error:
            self._found.degraded.append("vision")
            await self._give_up(pending, error)
        else:
            await self._give_up(pending, UNANSWERED)
        self._found.note_done("vision")

    async def _give_up(self, pending: dict[str, Image], error: AttuneError) -> None:
        for image in pending.values():
            await self._see(FailedFrame(image.id, error.code, error.message), image)

    async def _see(self, frame: VisionEvent, image: Image) -> None:
        body = events.frame_event(frame, image.pts_us)
        self._found.frames[image.id] = {key: value for key, value in body.items() if key != "type"}
        if isinstance(frame, EncodedFrame):
            await self._moments.put(FrameTokens(frame.id, frame.pts_us, frame.tokens))

    async def _match(self, call: Call) -> None:
        inputs = _after(AlignConfig(), self._moments)
        try:
            async with aclosing(self._upstreams.aligner(inputs, call)) as matched:
                async for event in matched:
                    if isinstance(event, Alignment) and event.final:
                        self._found.alignments.append(events.alignment_json(event))
        except AttuneError:
            self._found.degraded.append("aligner")
        self._found.note_done("align")

    def _answer(self) -> events.Json:
        found = self._found
        return {
            "id": self._session.id,
            "duration_us": found.coverage.duration_us,
            "words": found.words,
            "frames": [found.frames[image.id] for image in self._files.images],
            "alignments": found.alignments,
            "coverage": events.coverage_json(found.coverage),
            "degraded": found.degraded,
            "warnings": found.warnings,
            "models": {"asr": found.model},
            "timing": found.timing(),
        }


async def _after(first: AlignInput, rest: AsyncIterator[AlignInput]) -> AsyncIterator[AlignInput]:
    yield first
    async for item in rest:
        yield item


async def _inputs(images: Iterable[Image]) -> AsyncIterator[EncodeConfig | Image]:
    yield EncodeConfig()
    for image in images:
        yield image


def too_large(images: Iterable[Image], limit: int) -> list[FailedFrame]:
    """Return the failures of images that are not even sent to the encoder."""
    return [
        FailedFrame(image.id, TooLarge.code, f"image of {len(image.data)} bytes, the limit is {limit}")
        for image in images
        if len(image.data) > limit
    ]


async def describe(images: tuple[Image, ...], upstreams: Upstreams, limit: int, call: Call) -> list[events.Json]:
    """Return what ``POST /v1/images`` says of each image, in order: what was seen, or its own error."""
    found = {failed.id: described(failed) for failed in too_large(images, limit)}
    fit = [image for image in images if image.id not in found]
    if fit:
        small = sum(len(image.data) for image in fit) <= WHOLE_BYTES
        encoder = upstreams.whole_image_encoder if small else upstreams.image_encoder
        async with aclosing(encoder(_inputs(fit), call)) as seen:
            async for frame in seen:
                found[frame.id] = described(frame)
    missing = {"code": UNANSWERED.code, "message": UNANSWERED.message}
    return [found.get(image.id, {"id": image.id, "error": missing}) for image in images]


def described(frame: VisionEvent) -> events.Json:
    """Return what was seen in one image, or its error."""
    if isinstance(frame, FailedFrame):
        return {"id": frame.id, "error": {"code": frame.code, "message": frame.message}}
    return {"id": frame.id, **events.seen_json(frame), "embedding": [round(x, 6) for x in frame.embedding]}

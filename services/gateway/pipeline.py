"""The heart: one live session, from a stream of messages to a stream of events.

Hearing, looking and matching run side by side and meet only in queues, so that a slow image never holds back a caption:

    messages → listen ─┬─ audio ──→ hear (transcriber) ───→ words ──┐
                       └─ images ─→ look (image encoder) ─→ frames ─┴→ match (aligner)
    each of them tells → outbox → sink; numbered events also go to the event log, and acks come when it holds them

Called by routes/stream.py.
"""

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass

import structlog

from services.common.errors import AttuneError, InvalidInput, Unavailable, first_cause, shown
from services.common.ports import Call
from services.common.types import RecognizeConfig
from services.gateway import events
from services.gateway.clients import Upstreams
from services.gateway.hearing import Hearing
from services.gateway.kept import KeptAudio, KeptMoment
from services.gateway.looking import Looking
from services.gateway.matching import Matching
from services.gateway.replay import with_replay
from services.gateway.schemas import Control, FlushRequest, Limits, Media, SessionEnd, SessionStart, encoding_of
from services.gateway.session import Session
from services.gateway.settings import GatewaySettings
from services.gateway.store import EventLog
from services.gateway.telling import Sink, Teller

log = structlog.get_logger(__name__)

Message = Control | Media | AttuneError


class ClientGone(Exception):
    """The client hung up: nobody is left to tell anything."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a session needs of the process it runs in."""

    upstreams: Upstreams
    event_log: EventLog
    settings: GatewaySettings
    draining: asyncio.Event


class LiveSession:
    """Runs one session. ``run`` returns when everything is told, or raises what the close code is made of."""

    def __init__(self, session: Session, start: SessionStart, around: Surroundings) -> None:
        self._session = session
        self._start = start
        self._around = around
        self._settings = around.settings
        self._call = Call(session_id=session.id)
        self._teller = Teller(session, around.event_log)
        self._matching = Matching(self._teller, wanted=start.align)
        self._hearing = Hearing(self._teller, self._matching, self._settings)
        self._looking = Looking(self._teller, self._matching, self._settings.image_queue)
        self._limits = Limits(self._settings.max_audio_frame_bytes, self._settings.max_image_bytes)
        self._ready = asyncio.Event()

    async def run(self, messages: AsyncIterator[Message], sink: Sink) -> None:
        """Take messages to the end; the last event for ``sink`` is ``session.ended`` or a fatal ``error``."""
        failure: BaseException | None = None
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._teller.deliver(sink))
            tasks.create_task(self._teller.save_and_ack_until_closed())
            try:
                await self._work(messages)
                await self._end()
            except* Exception as errors:
                failure = first_cause(errors)
                await self._fail(failure)
            self._teller.close()
        if failure is not None:
            raise failure

    async def _work(self, messages: AsyncIterator[Message]) -> None:
        upstreams, settings, teller = self._around.upstreams, self._settings, self._teller
        transcriber = with_replay(upstreams.transcriber, KeptAudio, teller.outage("asr", settings.outage_s))
        aligner = with_replay(upstreams.aligner, KeptMoment, teller.outage("aligner", math.inf, from_start=True))
        await self._hearing.open(self._config())
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._listen_until_drained(messages))
            hearing = tasks.create_task(self._hearing.hear(transcriber, self._call, self._say_ready))
            looking = [
                tasks.create_task(self._looking.look(upstreams.image_encoder, self._call, settings.image_timeout_s))
                for _ in range(settings.images_at_once)
            ]
            matching = tasks.create_task(self._matching.match(aligner, self._call))
            await asyncio.wait([hearing, *looking])
            self._matching.close()
            await self._wait_or_cancel(matching)

    async def _wait_or_cancel(self, matching: asyncio.Task[None]) -> None:
        # An aligner that is away must not keep a session from ending.
        await asyncio.wait([matching], timeout=self._settings.drain_s)
        matching.cancel()

    def _config(self) -> RecognizeConfig:
        start = self._start
        return RecognizeConfig(
            encoding_of(start),
            start.audio.sample_rate_hz,
            start.audio.channels,
            start.language,
            start.model,
            start.partials,
        )

    async def _say_ready(self, model: str) -> None:
        if self._ready.is_set():  # the recogniser was opened again
            return
        settings = self._settings
        await self._teller.emit(
            {
                "type": "session.ready",
                "session_id": self._session.id,
                "token": self._session.token,
                "models": {"asr": model},
                "limits": {
                    "max_audio_frame_bytes": settings.max_audio_frame_bytes,
                    "max_image_bytes": settings.max_image_bytes,
                    "idle_timeout_s": settings.idle_timeout_s,
                },
                "version": "v1",
                "resumed": False,
            }
        )
        self._ready.set()

    async def _end(self) -> None:
        await self._teller.save_and_ack()
        coverage = events.coverage_json(self._hearing.coverage)
        await self._teller.emit({"type": "session.ended", "coverage": coverage, "usage": self._session.usage})

    async def _fail(self, failure: BaseException) -> None:
        if isinstance(failure, ClientGone):
            return
        if not isinstance(failure, AttuneError):
            log.error("session_failed", exc_info=failure)
        await self._teller.refuse(shown(failure), fatal=True)

    async def _listen_until_drained(self, messages: AsyncIterator[Message]) -> None:
        await self._until_ready()
        with suppress(TimeoutError):
            async with asyncio.timeout(None) as listening, asyncio.TaskGroup() as tasks:
                announcing = tasks.create_task(self._announce_drain(listening))
                await self._listen(messages)
                announcing.cancel()
        self._hearing.close()
        self._looking.close()

    async def _until_ready(self) -> None:
        try:
            async with asyncio.timeout(self._settings.ready_timeout_s):
                await self._ready.wait()
        except TimeoutError:
            raise Unavailable("the recogniser does not answer", retry_after_s=self._settings.ready_timeout_s) from None

    async def _announce_drain(self, listening: asyncio.Timeout) -> None:
        await self._around.draining.wait()
        grace_s = self._settings.drain_s / 2
        listening.reschedule(asyncio.get_running_loop().time() + grace_s)
        await self._teller.emit({"type": "going_away", "in_ms": int(grace_s * 1000), "token": self._session.token})

    async def _listen(self, messages: AsyncIterator[Message]) -> None:
        async for message in messages:
            match message:
                case Media():
                    await self._take(message)
                case FlushRequest(marker=marker):
                    await self._hearing.flush(marker)
                case SessionEnd():
                    return
                case SessionStart():
                    await self._teller.refuse(InvalidInput("the session has started already", param="type"))
                case AttuneError():
                    await self._teller.refuse(message)

    async def _take(self, media: Media) -> None:
        sequence = self._session.audio if media.kind == "audio" else self._session.images
        if sequence.is_absurd(media.seq):
            await self._teller.refuse(InvalidInput(f"seq {media.seq} is far beyond the last one", param="seq"))
            return
        if sequence.is_repeat(media.seq):
            if sequence.warns_of_repeats():
                await self._teller.warn("seq_repeat", f"{media.kind} seq {media.seq} was here before: it is ignored")
            return
        missing = sequence.missing_before(media.seq)
        if missing:
            await self._teller.warn("seq_gap", f"{missing} {media.kind} frames before seq {media.seq} never came")
        taker = self._hearing if media.kind == "audio" else self._looking
        try:
            self._limits.check(media)
        except AttuneError as error:
            await self._teller.refuse(error)
            await taker.reject(media, error)
        else:
            await taker.take(media)

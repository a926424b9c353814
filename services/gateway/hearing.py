"""One session's ears: live audio in, transcript events and committed words out."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing

from services.common.errors import AttuneError, Idle
from services.common.metrics import COMMIT_LAG_SECONDS
from services.common.ports import Call, Transcriber
from services.common.types import (
    AudioChunk,
    Committed,
    Coverage,
    Flush,
    Marker,
    Partial,
    Progress,
    Ready,
    RecognizeConfig,
    Settled,
    SpeechEvent,
    SpeechInput,
    SpeechStarted,
    SpeechStopped,
    Warned,
    Words,
)
from services.gateway import events
from services.gateway.inbox import Inbox
from services.gateway.matching import Matching
from services.gateway.schemas import Media
from services.gateway.session import AudioClock
from services.gateway.settings import GatewaySettings
from services.gateway.telling import Teller

LEAST_BYTES = 1024  # of anything in the queue: a storm of flushes or empty frames is bounded like audio


def weight(item: SpeechInput) -> int:
    """Return what an input weighs in a session's queue to the recogniser."""
    return max(LEAST_BYTES, len(item.data) if isinstance(item, AudioChunk) else 0)


class Hearing:
    """Feeds a transcriber and tells what it hears; words and progress go on to be matched."""

    def __init__(self, teller: Teller, matching: Matching, settings: GatewaySettings) -> None:
        self._teller = teller
        self._session = teller.session
        self._matching = matching
        self._inputs: Inbox[SpeechInput] = Inbox(settings.audio_queue_bytes, weight)
        self._clock = AudioClock(0)
        self.coverage = Coverage(0, 0, 0)
        self._max_silence_us = int(settings.max_silence_s * 1_000_000)
        self._quiet_since_us: int | None = 0  # None while somebody speaks

    async def open(self, config: RecognizeConfig) -> None:
        """Put the configuration before all audio."""
        self._clock = AudioClock(config.bytes_per_s)
        await self._inputs.put(config)

    async def take(self, media: Media) -> None:
        """Take a chunk of audio; waits while too much of it waits, and with it the client."""
        self._session.came_us = self._clock.end_us(media.pts_us, len(media.data))
        self._session.acks.audio_came(media.seq, self._session.came_us)
        self._session.usage["audio_bytes"] += len(media.data)
        await self._inputs.put(AudioChunk(media.seq, media.pts_us, media.data))

    async def reject(self, media: Media, _error: AttuneError) -> None:
        """Note a chunk that cannot be taken: it counts as decided with what came before it."""
        self._session.acks.audio_came(media.seq, self._session.came_us)

    async def flush(self, marker: str) -> None:
        """Ask for everything said so far."""
        await self._inputs.put(Flush(marker))

    def close(self) -> None:
        """Say that no more audio comes."""
        self._inputs.close()

    async def hear(self, transcriber: Transcriber, call: Call, on_ready: Callable[[str], Awaitable[None]]) -> None:
        """Run the transcriber to its end; ``on_ready`` is told its model whenever it was opened."""
        async with asyncio.TaskGroup() as flushes, aclosing(transcriber(self._inputs, call)) as heard:
            async for event in heard:
                match event:
                    case Ready(model):
                        await on_ready(model)
                    case Marker(marker):
                        flushes.create_task(self._matching.answer_flush(marker))
                    case _:
                        await self._tell(event)

    async def _tell(self, event: SpeechEvent) -> None:
        match event:
            case SpeechStarted(pts_us):
                self._quiet_since_us = None
                await self._teller.emit({"type": "speech.started", "pts_us": pts_us})
            case SpeechStopped(pts_us):
                self._quiet_since_us = pts_us
                await self._teller.emit({"type": "speech.stopped", "pts_us": pts_us})
            case Partial():
                await self._teller.pass_by(events.partial_event(event, self._session.words + 1))
            case Committed():
                await self._commit(event)
            case Settled():
                await self._settle(event)
            case Warned(code, text):
                await self._teller.warn(code, text)
            case Coverage():
                self.coverage = event

    async def _commit(self, committed: Committed) -> None:
        spoken = self._session.spoken(committed)
        words = events.words_json(spoken, committed.words)
        await self._teller.emit({"type": "transcript.committed", "words": words})
        self._matching.take(Words(spoken))
        for word in committed.words:
            COMMIT_LAG_SECONDS.observe(max(0, self._session.came_us - word.end_us) / 1e6)

    async def _settle(self, settled: Settled) -> None:
        flow = self._session.settle(settled.until_us, settled.received_us)
        self._matching.take(Progress(settled.until_us))
        if self._quiet_since_us is not None and settled.until_us - self._quiet_since_us > self._max_silence_us:
            raise Idle(f"nobody spoke for {self._max_silence_us / 1e6:g} s")
        if flow is not None:
            await self._teller.pass_by(flow)

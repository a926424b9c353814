"""One call to the recogniser on behalf of a realtime session. Called by session.py, which opens one per set of options.

A lost recogniser is opened again and told what it had not decided, as for other live sessions.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing

import structlog

from services.common.errors import AttuneError, Unavailable, shown
from services.common.ports import Call
from services.common.types import AudioChunk, Flush, Ready, RecognizeConfig, SpeechEvent, SpeechInput, Warned
from services.gateway.clients import Upstreams
from services.gateway.hearing import weight
from services.gateway.inbox import Inbox
from services.gateway.kept import KeptAudio
from services.gateway.replay import Outage, with_replay
from services.gateway.settings import GatewaySettings

PIECE_BYTES = 32 * 1024

log = structlog.get_logger(__name__)


class Listening:
    """Feeds a transcriber; ``tell`` gets what it says, ``lose`` the error that ends it after it was ready."""

    def __init__(
        self,
        config: RecognizeConfig,
        settings: GatewaySettings,
        tell: Callable[[SpeechEvent], Awaitable[None]],
        lose: Callable[[AttuneError], Awaitable[None]],
    ) -> None:
        self._config = config
        self._settings = settings
        self._tell = tell
        self._lose = lose
        self._inputs: Inbox[SpeechInput] = Inbox(settings.audio_queue_bytes, weight)
        self._seq = 0
        self._bytes = 0
        self._ready: asyncio.Future[Ready] = asyncio.get_running_loop().create_future()
        self._ended = asyncio.Event()
        self.warnings: list[Warned] = []

    async def run(self, upstreams: Upstreams, call: Call) -> None:
        """Listen until closed; raises nothing but what ``tell`` raises."""
        transcriber = with_replay(upstreams.transcriber, KeptAudio, Outage(self._settings.outage_s, self._notice))
        await self._inputs.put(self._config)
        try:
            async with aclosing(transcriber(self._inputs, call)) as heard:
                async for event in heard:
                    await self._take(event)
        except AttuneError as error:
            await self._end(error)
        finally:
            self._ended.set()

    async def ready(self) -> Ready:
        """Return what the recogniser says of the configuration, or raise why it does not take it."""
        try:
            async with asyncio.timeout(self._settings.ready_timeout_s):
                return await asyncio.shield(self._ready)
        except TimeoutError:
            raise Unavailable("the recogniser does not answer", retry_after_s=self._settings.ready_timeout_s) from None

    async def append(self, audio: bytes) -> None:
        """Take audio that follows the last; waits while too much of it waits."""
        for start in range(0, len(audio), PIECE_BYTES):
            piece = audio[start : start + PIECE_BYTES]
            self._seq += 1
            pts_us = self._config.start_us + self._bytes * 1_000_000 // self._config.bytes_per_s
            self._bytes += len(piece)
            await self._inputs.put(AudioChunk(self._seq, pts_us, piece))

    async def flush(self, marker: str) -> None:
        """Ask for everything said so far."""
        await self._inputs.put(Flush(marker))

    async def close(self) -> None:
        """Say that no more audio comes, and wait until everything is said."""
        self._inputs.close()
        await self._ended.wait()

    async def _take(self, event: SpeechEvent) -> None:
        match event:
            case Warned():
                self.warnings.append(event)
            case Ready() if not self._ready.done():
                self._ready.set_result(event)
            case _:
                await self._tell(event)

    async def _end(self, error: AttuneError) -> None:
        self._inputs.close()
        if self._ready.done():
            await self._lose(shown(error))
        else:
            self._ready.set_exception(error)

    async def _notice(self, error: AttuneError | None) -> None:
        log.warning("recogniser_lost" if error else "recogniser_back", reason=error.message if error else "")

"""Has one audio file transcribed, within the time that a file may take. Called by the OpenAI routes."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from services.common.errors import DeadlineExceeded
from services.common.ports import Call
from services.common.types import AudioChunk, RecognizeConfig, Settled, SpeechEvent, SpeechInput
from services.gateway.files import AUDIO_PIECE_BYTES
from services.gateway.state import GatewayState


async def heard(
    audio: bytes, config: RecognizeConfig, state: GatewayState, call: Call
) -> AsyncGenerator[SpeechEvent, None]:
    """Yield what the recogniser says. A file may take as long as a call and its own length: else DeadlineExceeded."""
    settings = state.settings
    started_s = asyncio.get_running_loop().time()
    ends_s = started_s + settings.request_timeout_s
    bounded = call.within(settings.request_timeout_s + settings.max_file_audio_s)
    async with aclosing(state.upstreams.transcriber(_inputs(audio, config), bounded)) as events:
        while (event := await _next(events, ends_s)) is not None:
            if isinstance(event, Settled):
                ends_s = started_s + settings.request_timeout_s + event.received_us / 1e6
            yield event


async def _next(events: AsyncIterator[SpeechEvent], ends_s: float) -> SpeechEvent | None:
    try:
        async with asyncio.timeout_at(ends_s):
            return await anext(events, None)
    except TimeoutError as error:
        raise DeadlineExceeded("the file took longer than it may") from error


async def _inputs(audio: bytes, config: RecognizeConfig) -> AsyncIterator[SpeechInput]:
    yield config
    for seq, start in enumerate(range(0, len(audio), AUDIO_PIECE_BYTES), 1):
        yield AudioChunk(seq, 0, audio[start : start + AUDIO_PIECE_BYTES])

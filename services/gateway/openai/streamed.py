"""A transcript as server-sent events, told as it is found. Called by routes/transcriptions.py.

A file that cannot be read is refused before the first event; what goes wrong later is an event with an error object.
"""

import json
from collections.abc import AsyncGenerator

import structlog
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from services.common.errors import shown
from services.common.types import Committed, SpeechEvent
from services.gateway.events import text_of
from services.gateway.openai.errors import error_json
from services.gateway.openai.formats import Json, logprobs_json, token_usage, warnings_json
from services.gateway.openai.transcript import Transcript
from services.gateway.presence import CallerGone, while_present

log = structlog.get_logger(__name__)


class StreamedTranscript(StreamingResponse):
    """The answer; a client that hangs up ends the work for it at once."""

    def __init__(self, transcript: Transcript, events: AsyncGenerator[SpeechEvent, None], *, logprobs: bool) -> None:
        super().__init__(_lines(transcript, events, logprobs), media_type="text/event-stream")
        self._events = events
        self.headers["Cache-Control"] = "no-cache"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send all events."""
        try:
            await while_present(receive, self.stream_response(send))
        except (CallerGone, OSError):
            log.info("caller_gone", path=scope["path"])
        finally:
            await self._events.aclose()  # also where nothing of it was read


async def _lines(
    transcript: Transcript, events: AsyncGenerator[SpeechEvent, None], logprobs: bool
) -> AsyncGenerator[str, None]:
    try:
        async for body in _bodies(transcript, events, logprobs):
            yield f"data: {json.dumps(body, ensure_ascii=False)}\n\n"
    except Exception as error:
        seen = shown(error)
        log.warning("stream_failed", code=seen.code, exc_info=error if seen.code == "internal" else None)
        yield f"data: {json.dumps({'error': error_json(seen)})}\n\n"


async def _bodies(
    transcript: Transcript, events: AsyncGenerator[SpeechEvent, None], logprobs: bool
) -> AsyncGenerator[Json, None]:
    for number, window in enumerate(tuple(transcript.windows)):
        yield _delta(window, first=number == 0, logprobs=logprobs)
    async for event in events:
        transcript.take(event)
        if isinstance(event, Committed):
            yield _delta(event, first=len(transcript.windows) == 1, logprobs=logprobs)
    done: Json = {"type": "transcript.text.done", "text": transcript.text, "usage": token_usage(transcript)}
    if logprobs:
        done["logprobs"] = logprobs_json(transcript.tokens)
    yield done | warnings_json(transcript)


def _delta(window: Committed, *, first: bool, logprobs: bool) -> Json:
    text = text_of(window.words)
    delta: Json = {"type": "transcript.text.delta", "delta": text if first else f" {text}"}
    if logprobs:
        delta["logprobs"] = logprobs_json(token for word in window.words for token in word.tokens)
    return delta

"""What realtime clients are told: the JSON of every server event, without its ``event_id``. Pure.

Source: openai-python's ``types/realtime``. Word times ride along in ``words``, which the SDK keeps as an extra field.
"""

from collections.abc import Sequence
from typing import Any

from services.common.errors import AttuneError
from services.common.types import Word
from services.gateway.events import text_of
from services.gateway.openai.errors import error_json
from services.gateway.openai.formats import duration_usage, logprobs_json, words_json

Json = dict[str, Any]
TRANSCRIPTION = "conversation.item.input_audio_transcription"


def error_event(error: AttuneError, event_id: str | None = None) -> Json:
    """Return an error; ``event_id`` is that of the client's event that caused it."""
    return {"type": "error", "error": error_json(error) | {"event_id": event_id}}


def speech_started(item_id: str, at_us: int) -> Json:
    """Return that speech begins."""
    return {"type": "input_audio_buffer.speech_started", "audio_start_ms": at_us // 1000, "item_id": item_id}


def speech_stopped(item_id: str, at_us: int) -> Json:
    """Return that speech has ended."""
    return {"type": "input_audio_buffer.speech_stopped", "audio_end_ms": at_us // 1000, "item_id": item_id}


def committed(item_id: str, previous: str | None) -> Json:
    """Return that the buffer has become an item."""
    return {"type": "input_audio_buffer.committed", "previous_item_id": previous, "item_id": item_id}


def item_event(kind: str, item_id: str, previous: str | None, transcript: str | None, status: str) -> Json:
    """Return that an item was added, created or is done; ``transcript`` None is not known yet."""
    item = {
        "id": item_id,
        "object": "realtime.item",
        "type": "message",
        "status": status,
        "role": "user",
        "content": [{"type": "input_audio", "transcript": transcript}],
    }
    return {"type": f"conversation.item.{kind}", "previous_item_id": previous, "item": item}


def delta(item_id: str, words: Sequence[Word], *, first: bool, logprobs: bool) -> Json:
    """Return further words of an item; the deltas of an item, joined, are its transcript."""
    text = text_of(words)
    body = {"type": f"{TRANSCRIPTION}.delta", "item_id": item_id, "content_index": 0}
    return body | {"delta": text if first else f" {text}"} | _details(words, logprobs)


def completed(item_id: str, words: Sequence[Word], duration_us: int, *, logprobs: bool) -> Json:
    """Return the whole transcript of an item."""
    body = {"type": f"{TRANSCRIPTION}.completed", "item_id": item_id, "content_index": 0}
    return body | {"transcript": text_of(words), "usage": duration_usage(duration_us)} | _details(words, logprobs)


def failed(item_id: str, error: AttuneError) -> Json:
    """Return that an item will have no transcript."""
    return {"type": f"{TRANSCRIPTION}.failed", "item_id": item_id, "content_index": 0, "error": error_json(error)}


def _details(words: Sequence[Word], logprobs: bool) -> Json:
    details: Json = {"words": words_json(words)}
    if logprobs:
        details["logprobs"] = logprobs_json(token for word in words for token in word.tokens)
    return details

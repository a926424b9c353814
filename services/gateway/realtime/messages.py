"""What realtime clients send, checked: a text frame in, one of a small union out. Called by routes/realtime.py."""

import base64
import binascii
import json
from dataclasses import dataclass
from typing import Any

from services.common.errors import AttuneError, InvalidInput, TooLarge
from services.gateway.schemas import MAX_ERROR_CHARS

MAX_APPEND_BYTES = 15 * 2**20  # OpenAI's own limit


@dataclass(frozen=True, slots=True)
class Append:
    """Audio for the buffer."""

    audio: bytes


@dataclass(frozen=True, slots=True)
class Commit:
    """Asks that the buffer become an item."""


@dataclass(frozen=True, slots=True)
class Clear:
    """Asks that the buffer be forgotten."""


@dataclass(frozen=True, slots=True)
class Update:
    """Asks for other options, in one of two shapes."""

    session: dict[str, Any]
    older: bool


@dataclass(frozen=True, slots=True)
class Refused:
    """A message that makes no sense."""

    error: AttuneError


@dataclass(frozen=True, slots=True)
class ClientEvent:
    """A message, and the id that its client gave it."""

    message: Append | Commit | Clear | Update | Refused
    event_id: str | None = None


def read_event(frame: str | bytes) -> ClientEvent:
    """Return the message in a frame; one that cannot be read comes as Refused."""
    try:
        body = json.loads(frame)
    except (ValueError, RecursionError) as error:  # ValueError: also bytes that are no text
        return ClientEvent(Refused(InvalidInput(f"the message is not JSON: {error}"[:MAX_ERROR_CHARS])))
    if not isinstance(body, dict):
        return ClientEvent(Refused(InvalidInput("the message is no JSON object")))
    event_id = body.get("event_id")
    event_id = event_id[:MAX_ERROR_CHARS] if isinstance(event_id, str) else None
    try:
        return ClientEvent(_read(body), event_id)
    except AttuneError as error:
        return ClientEvent(Refused(error), event_id)


def _read(body: dict[str, Any]) -> Append | Commit | Clear | Update:
    match body.get("type"):
        case "input_audio_buffer.append":
            return Append(_audio(body.get("audio")))
        case "input_audio_buffer.commit":
            return Commit()
        case "input_audio_buffer.clear":
            return Clear()
        case "session.update":
            session = _session(body)
            # Clients of the beta send their flat session under this name, too; it has no type.
            return Update(session, older="type" not in session and "audio" not in session)
        case "transcription_session.update":
            return Update(_session(body), older=True)
        case other:
            raise InvalidInput(f"a transcription session takes no {other!r}"[:MAX_ERROR_CHARS], param="type")


def _audio(text: Any) -> bytes:
    if not isinstance(text, str):
        raise InvalidInput("audio must be a string of base64", param="audio")
    if len(text) > MAX_APPEND_BYTES * 4 // 3 + 4:
        raise TooLarge(f"audio of more than {MAX_APPEND_BYTES} bytes in one message", param="audio")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidInput("audio is not base64", param="audio") from None


def _session(body: dict[str, Any]) -> dict[str, Any]:
    session = body.get("session")
    if not isinstance(session, dict):
        raise InvalidInput("session must be an object", param="session")
    return session

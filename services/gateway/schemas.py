"""What clients send on the live socket, checked: raw frames in, one of a small union out, InvalidInput otherwise."""

import base64
import binascii
import json
import struct
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, TypeAdapter, ValidationError, field_validator

from services.common.errors import InvalidInput, TooLarge
from services.common.types import Encoding

HEADER = struct.Struct(">B3xIQ")  # kind, three zero bytes, seq, pts_us
AUDIO_KIND, IMAGE_KIND = 1, 2
# OpenAI's name for whatever the server's default is.
MODEL_ALIASES = {"whisper-1": ""}
TYPES = {"session.start", "flush", "keepalive", "session.end", "audio", "image"}
MAX_ERROR_CHARS = 300  # an error must not echo a megabyte
MAX_PTS_US = 2**53  # what JSON clients can count to


class AudioOptions(BaseModel):
    """The format of live audio."""

    encoding: Literal["pcm_s16le", "pcm_f32le", "mulaw", "alaw", "opus", "webm"] = "pcm_s16le"
    sample_rate_hz: int = Field(16_000, ge=8_000, le=192_000)
    channels: int = Field(1, ge=1, le=8)


class SessionStart(BaseModel):
    """The first message of a session."""

    type: Literal["session.start"]
    key: str | None = None
    audio: AudioOptions = AudioOptions()
    images: dict[str, Any] = {}
    language: str = Field("", max_length=35)
    model: str = Field("", max_length=200)
    partials: bool = True
    align: bool = True
    resume: dict[str, Any] | None = None

    @field_validator("model")
    @classmethod
    def _resolve_alias(cls, name: str) -> str:
        return MODEL_ALIASES.get(name, name)


class FlushRequest(BaseModel):
    """Asks that everything said so far become final."""

    type: Literal["flush"]
    marker: str = Field(max_length=200)


class Keepalive(BaseModel):
    """Says that the client is still there."""

    type: Literal["keepalive"]


class SessionEnd(BaseModel):
    """Asks for everything outstanding, then the end."""

    type: Literal["session.end"]


class MediaMessage(BaseModel):
    """Audio or an image as JSON, for clients that cannot send binary frames."""

    type: Literal["audio", "image"]
    seq: int = Field(ge=1, lt=2**32, strict=True)
    pts_us: int = Field(ge=0, le=MAX_PTS_US, strict=True)
    data: str


@dataclass(frozen=True, slots=True)
class Media:
    """One frame of audio or one image, however it came."""

    kind: Literal["audio", "image"]
    seq: int
    pts_us: int
    data: bytes


Control = SessionStart | FlushRequest | Keepalive | SessionEnd
_MESSAGE: TypeAdapter[Control | MediaMessage] = TypeAdapter(
    Annotated[Control | MediaMessage, Field(discriminator="type")]
)


@dataclass(frozen=True, slots=True)
class Limits:
    """How large media may be."""

    max_audio_frame_bytes: int
    max_image_bytes: int

    def check(self, media: Media) -> None:
        """Raise TooLarge or InvalidInput when the media cannot be taken."""
        limit = self.max_audio_frame_bytes if media.kind == "audio" else self.max_image_bytes
        if len(media.data) > limit:
            raise TooLarge(f"{media.kind} of {len(media.data)} bytes, the limit is {limit}", param="data")
        if not media.data and media.kind == "image":
            raise InvalidInput("an image of no bytes", param="data")


def read_text(text: str) -> Control | Media:
    """Return the message in a text frame; InvalidInput naming the field that is wrong."""
    try:
        message = _MESSAGE.validate_python(_json(text))
    except ValidationError as error:
        raise first_problem(error) from None
    return _media_of(message) if isinstance(message, MediaMessage) else message


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: also a number of thousands of digits
        raise InvalidInput(f"the message is not JSON: {_short(error)}") from None


def _short(text: object) -> str:
    return str(text)[:MAX_ERROR_CHARS]


def read_binary(frame: bytes) -> Media:
    """Return the media in a binary frame; InvalidInput when its header cannot be read."""
    if len(frame) < HEADER.size:
        raise InvalidInput(
            f"a binary frame starts with {HEADER.size} bytes of header, this one has {len(frame)} in all"
        )
    kind, seq, pts_us = HEADER.unpack_from(frame)
    if kind not in (AUDIO_KIND, IMAGE_KIND):
        raise InvalidInput(f"kind {kind} is neither 1 (audio) nor 2 (image)", param="kind")
    if seq < 1:
        raise InvalidInput("seq counts from 1", param="seq")
    if pts_us > MAX_PTS_US:
        raise InvalidInput(f"pts_us {pts_us} is beyond {MAX_PTS_US}", param="pts_us")
    return Media("audio" if kind == AUDIO_KIND else "image", seq, pts_us, frame[HEADER.size :])


def _media_of(message: MediaMessage) -> Media:
    try:
        data = base64.b64decode(message.data, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidInput("data is not base64", param="data") from None
    return Media(message.type, message.seq, message.pts_us, data)


def first_problem(error: ValidationError) -> InvalidInput:
    """Return the first thing that pydantic found wrong, with the path of the field."""
    found = error.errors(include_url=False, include_input=False, include_context=False)[0]
    if found["type"].startswith("union_tag"):
        return InvalidInput(f"type must be one of {', '.join(sorted(TYPES))}", param="type")
    # The first step of the path is the member of the union, which clients know as `type`.
    path = [str(step) for step in found["loc"]]
    param = ".".join(path[1:] if path and path[0] in TYPES else path)
    return InvalidInput(_short(f"{param or 'message'}: {found['msg']}"), param=_short(param) or None)


def encoding_of(start: SessionStart) -> Encoding:
    """Return the live encoding that a session asked for."""
    return Encoding(start.audio.encoding)

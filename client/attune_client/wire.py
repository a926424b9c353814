"""What a session sends: the address, the first message, and media numbered and stamped as the protocol asks.

No socket and no clock: the audio clock is the count of samples. Used by the session.
"""

import json
import struct
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypedDict
from urllib.parse import SplitResult, urlsplit, urlunsplit

from attune_client.errors import AttuneError

AUDIO, IMAGE = 1, 2
FRAME_MS = 100
STREAM_PATH = "/v1/stream"

_HEADER = struct.Struct(">B3xIQ")
_SAMPLE_BYTES = {"pcm_s16le": 2, "pcm_f32le": 4, "mulaw": 1, "alaw": 1}
_SCHEMES = {"http": "ws", "https": "wss", "ws": "ws", "wss": "wss"}


class CallerOptions(TypedDict, total=False):
    """Who asks, and for what; everything may be left out."""

    api_key: str | None
    language: str | None
    partials: bool
    """Default True: words that may still change are sent too."""
    align: bool
    """Default True: phrases are matched with images."""
    traceparent: str | None
    """W3C trace context that the server's spans continue."""


class SessionOptions(CallerOptions, total=False):
    """What ``connect`` takes beside the address."""

    encoding: str
    """``pcm_s16le`` (default), ``pcm_f32le``, ``mulaw``, ``alaw``, ``opus`` or ``webm``."""
    sample_rate_hz: int
    """Default 16000."""
    channels: int
    """Default 1."""
    images: Mapping[str, Any] | None
    """The ``images`` object of ``session.start``, sent as it is."""


@dataclass(frozen=True)
class AudioFormat:
    """How the bytes given to ``send_audio`` are to be read."""

    encoding: str = "pcm_s16le"
    sample_rate_hz: int = 16_000
    channels: int = 1

    @classmethod
    def of(cls, options: SessionOptions) -> "AudioFormat":
        """Return the format that the options name."""
        return cls(
            options.get("encoding", cls.encoding),
            options.get("sample_rate_hz", cls.sample_rate_hz),
            options.get("channels", cls.channels),
        )

    @property
    def sample_bytes(self) -> int | None:
        """Bytes of one sample of all channels; None for containers, whose samples cannot be counted from outside."""
        size = _SAMPLE_BYTES.get(self.encoding)
        return None if size is None else size * self.channels


def stream_address(url: str) -> str:
    """Return the WebSocket address of the live session for a server's ``url`` (http, https, ws or wss)."""
    parts = address_parts(url)
    path = parts.path.rstrip("/").removesuffix(STREAM_PATH) + STREAM_PATH
    return urlunsplit((_SCHEMES[parts.scheme], parts.netloc, path, parts.query, ""))


def address_parts(url: str) -> SplitResult:
    """Return the parts of a server's ``url``; AttuneError ``invalid_input`` when nothing could be there."""
    try:
        parts = urlsplit(url)
        sound = parts.scheme in _SCHEMES and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port beyond 65535, brackets that do not close
        sound = False
    if not sound:
        raise AttuneError("invalid_input", f"{url!r} is not an address like http://host:port", param="url")
    return parts


def start_message(audio: AudioFormat, options: SessionOptions) -> str:
    """Return ``session.start`` as JSON; what was not given is left to the server."""
    message: dict[str, Any] = {"type": "session.start", "audio": asdict(audio)}
    message |= {key: options.get(key, True) for key in ("partials", "align")}
    message |= {key: options[key] for key in ("images", "language") if options.get(key) is not None}
    return json.dumps(message)


class Framer:
    """Numbers audio and images from 1 and stamps them; ``clock_us`` is the time of the next audio sample."""

    def __init__(self, audio: AudioFormat) -> None:
        self._format = audio
        self._origin_us = 0
        self._samples = 0
        self.audio_seq = 0
        self.image_seq = 0

    @property
    def clock_us(self) -> int:
        """Media time of the next audio sample, by the count of samples sent."""
        return self._origin_us + self._samples * 1_000_000 // self._format.sample_rate_hz

    def audio(self, data: bytes, pts_us: int | None = None) -> Iterator[bytes]:
        """Yield binary messages of at most 100 ms each.

        ``pts_us`` moves the clock: a jump forward tells the server that audio is missing. AttuneError
        ``invalid_input`` when ``data`` ends within a sample.
        """
        if pts_us is not None:
            self._origin_us, self._samples = pts_us, 0
        size = self._format.sample_bytes
        if size is None:
            yield self._audio_message(data)
            return
        if len(data) % size:
            raise AttuneError("invalid_input", f"{len(data)} bytes are not whole samples of {size} bytes", param="data")
        step = max(1, self._format.sample_rate_hz * FRAME_MS // 1000) * size
        for start in range(0, len(data), step):
            payload = data[start : start + step]
            yield self._audio_message(payload)
            self._samples += len(payload) // size

    def image(self, data: bytes, pts_us: int | None = None) -> bytes:
        """Return the binary message of one encoded image, stamped with the audio clock unless told otherwise."""
        self.image_seq += 1
        return media_message(IMAGE, self.image_seq, self.clock_us if pts_us is None else pts_us, data)

    def _audio_message(self, payload: bytes) -> bytes:
        self.audio_seq += 1
        return media_message(AUDIO, self.audio_seq, self.clock_us, payload)


def media_message(kind: int, seq: int, pts_us: int, payload: bytes) -> bytes:
    """Return one binary frame: kind, three zero bytes, seq and pts_us big endian, then the payload."""
    return _HEADER.pack(kind, seq, pts_us) + payload

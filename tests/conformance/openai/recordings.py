"""Real speech for the official SDK, as files and as samples of any rate."""

import io
from functools import cache
from importlib.resources import files
from pathlib import Path

import av
import numpy as np

from tests.unit.asr.audio import encoded, wav

BECKETT = "Ever tried. Ever failed. No matter. Try again. Fail again. Fail better."


def recording(name: str) -> Path:
    """Return the path of one of the package's recordings."""
    return Path(str(files("moonshine_voice").joinpath("assets", name)))


@cache
def samples(name: str, rate_hz: int) -> np.ndarray:
    """Return a recording as mono int16."""
    parts = []
    with av.open(str(recording(name))) as file:
        resampler = av.AudioResampler("s16", "mono", rate_hz)
        for frame in [*file.decode(audio=0), None]:
            parts += [part.to_ndarray()[0] for part in resampler.resample(frame)]
    return np.concatenate(parts)


def long_wav(times: int) -> bytes:
    """Return 44 s of speech, over and over."""
    return wav(np.tile(samples("two_cities.wav", 16_000), times))


def beckett(kind: str) -> bytes:
    """Return 10 s of speech in a realtime format."""
    if kind == "audio/pcm":
        return samples("beckett.wav", 24_000).tobytes()
    law = {"audio/pcmu": "mulaw", "audio/pcma": "alaw"}[kind]
    return encoded(samples("beckett.wav", 8_000), law, f"pcm_{law}", 8_000)


def tone_wav(seconds: float) -> bytes:
    """Return a tone: the fake recogniser hears a word every half second of it."""
    t = np.arange(int(seconds * 16_000)) / 16_000
    return wav((np.sin(2 * np.pi * 200 * t) * 8_000).astype("<i2"))


def upload(data: bytes | Path, name: str = "speech.wav") -> tuple[str, io.BytesIO]:
    """Return a file as the SDK takes it."""
    return (name, io.BytesIO(data if isinstance(data, bytes) else data.read_bytes()))

"""44 s of real speech with its text and the true time of every word, for live.py and rest.py.

The sound is a file of the package moonshine-voice, its words are in two_cities.json, which says how they were found.
"""

import io
import json
import wave
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from attune_client.media import SAMPLE_RATE_HZ, read_pcm

PACKAGE, SOUND = "moonshine_voice", "assets/two_cities.wav"
SHORT_CLIP_US = 10_600_000  # the pause in the speech that is nearest to 10 s


@dataclass(frozen=True, slots=True)
class TrueWord:
    """A word as it is said in the audio."""

    text: str
    start_us: int
    end_us: int


@dataclass(frozen=True, slots=True)
class Speech:
    """A recording and what is said in it; ``pcm`` is 16 kHz mono 16-bit, speech begins at ``start_us``."""

    pcm: bytes
    text: str
    start_us: int
    words: tuple[TrueWord, ...]


def read_two_cities() -> Speech:
    """Return the recording; blocks while decoding. FileNotFoundError when its package is not installed."""
    truth = json.loads((Path(__file__).parent / "two_cities.json").read_text(encoding="utf-8"))
    words = tuple(TrueWord(**word) for word in truth["words"])
    return Speech(read_pcm(_sound()), truth["text"], truth["speech_start_us"], words)


def _sound() -> Path:
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError("the package moonshine-voice that carries the speech is not installed")
    return Path(next(iter(spec.submodule_search_locations))) / SOUND


def clip_wav(pcm: bytes, length_us: int) -> bytes:
    """Return the start of 16 kHz mono 16-bit audio as a WAV file."""
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(2)
        writer.setframerate(SAMPLE_RATE_HZ)
        writer.writeframes(pcm[: length_us * SAMPLE_RATE_HZ // 1_000_000 * 2])
    return file.getvalue()

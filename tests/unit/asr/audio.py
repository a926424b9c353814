"""Audio, streams and files as tests need them."""

import io
import wave
from contextlib import aclosing
from importlib.util import find_spec
from pathlib import Path

import av
import numpy as np

from services.common.ports import Call
from services.common.types import AudioChunk, Committed, Encoding, RecognizeConfig

TWO_CITIES = (
    "It was the best of times, it was the worst of times, it was the age of wisdom, it was the age of foolishness"
)


def two_cities():
    """Return the bytes of 44 s of real speech, which come with a package."""
    folder = next(iter(find_spec("moonshine_voice").submodule_search_locations))
    return (Path(folder) / "assets" / "two_cities.wav").read_bytes()


def two_cities_pcm(seconds):
    """Return its first seconds as 48 kHz mono int16; it pauses after 5 s and after 8.3 s."""
    with wave.open(io.BytesIO(two_cities())) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, 48_000)
        return np.frombuffer(file.readframes(int(seconds * 48_000)), "<i2")


def sound(seconds, rate_hz=16_000):
    """Return noise, which no codec makes small, as int16."""
    return np.random.default_rng(0).integers(500, 2_000, int(seconds * rate_hz)).astype("<i2")


def silence(seconds, rate_hz=16_000):
    """Return silence, as int16."""
    return np.zeros(int(seconds * rate_hz), "<i2")


def chunks(samples, rate_hz=16_000, start_us=0, chunk_ms=50):
    """Cut samples into chunks with honest stamps."""
    count = rate_hz * chunk_ms // 1_000
    return [
        AudioChunk(
            begin // count + 1, start_us + begin * 1_000_000 // rate_hz, samples[begin : begin + count].tobytes()
        )
        for begin in range(0, samples.size, count)
    ]


def file_chunks(data, size=65_536):
    """Cut a file into chunks."""
    return [AudioChunk(begin // size + 1, 0, data[begin : begin + size]) for begin in range(0, len(data), size)]


def wav(samples, rate_hz=16_000):
    """Return a WAV file of mono int16 samples."""
    data = io.BytesIO()
    with wave.open(data, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate_hz)
        file.writeframes(samples.tobytes())
    return data.getvalue()


def encoded(samples, container, codec, rate_hz=48_000):
    """Return mono int16 samples as a file of any kind."""
    data = io.BytesIO()
    with av.open(data, "w", format=container) as file:
        stream = file.add_stream(codec, rate=rate_hz, layout="mono")
        frame = av.AudioFrame.from_ndarray(samples[None], format="s16", layout="mono")
        frame.sample_rate, frame.pts = rate_hz, 0
        cutter = av.AudioResampler(stream.codec_context.codec.audio_formats[0].name, "mono", rate_hz, frame_size=960)
        for part in [*cutter.resample(frame), *cutter.resample(None)]:
            file.mux(stream.encode(part))
        file.mux(stream.encode(None))
    return data.getvalue()


def pcm16(rate_hz=16_000, **values):
    """Return the configuration of a live int16 stream."""
    return RecognizeConfig(Encoding.PCM_S16LE, rate_hz, **values)


async def stream(items):
    """Yield items as a port's inputs."""
    for item in items:
        yield item


async def events_of(port, *items):
    """Return all that a port says to some inputs."""
    async with aclosing(port(stream(items), Call())) as outputs:
        return [event async for event in outputs]


def only(events, kind):
    """Return the events of one kind."""
    return [event for event in events if isinstance(event, kind)]


def words_of(events):
    """Return all committed words."""
    return [word for event in only(events, Committed) for word in event.words]


def text_of(events):
    """Return the committed text."""
    return " ".join(word.text for word in words_of(events))

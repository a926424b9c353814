"""Records bench/workloads/tour.json: what requests of each kind ask of this machine, and when a live talk sends them.

Run by hand, ``python -m bench.record_workload FILE``, on an idle machine. It drives the real engines, one request at a
time: live speech in real time cut into utterances, files and images as a line of 10 Mbit/s brings them, phrases of the
example talk. bench/workload.py scales what it writes, by the SCALING written beside it.
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass
from pathlib import Path

from attune_client.media import MediaClock, duration_us, paced
from bench.demands import Meter, Reading, copy_bytes_per_s
from bench.speech import clip_wav, read_two_cities
from bench.tour import Picture, Tour, read_tour
from services.aligner.app import open_aligner
from services.aligner.settings import AlignerSettings
from services.asr.app import open_transcriber
from services.asr.settings import AsrSettings
from services.common.ports import Aligner, Call, ImageEncoder, Transcriber
from services.common.types import (
    AlignConfig,
    AlignInput,
    AudioChunk,
    EncodeConfig,
    EncodedFrame,
    Encoding,
    Flush,
    FrameTokens,
    Image,
    Marker,
    RecognizeConfig,
    SpeechInput,
    SpeechStarted,
    SpeechStopped,
    SpokenWord,
    VisionInput,
    Words,
)
from services.vision.app import open_image_encoder
from services.vision.settings import VisionSettings

LINE_BYTES_PER_S = 10e6 / 8
PIECE_BYTES = 64 * 1024
CLIPS_S = (2, 4, 7, 10.6, 15, 20, 30, 44)
REPETITIONS = 3
NOTE = (
    "Recorded by `python -m bench.record_workload` from the real engines, one request at a time. wall_s: from the "
    "first byte to the answer, at_s: when it came in a talk, size: seconds of audio, megapixels or words, cpu_s: of "
    "all processes, moved_bytes: counted at layers and passes (bench/demands.py), in_bytes: what the line carried. "
    "Files and images come over a line of 10 Mbit/s, live speech in real time."
)

SCALING = {
    "seed": 7,
    "duration_s": 1200,
    "talks_per_s": 0.105,
    "files_per_s": 0.05,
    "burst_every_s": 200,
    "burst_files": 20,
    "file_factors": [1, 2, 4, 10, 30],
}


@dataclass(frozen=True, slots=True)
class Recorded:
    """One request; see NOTE."""

    kind: str
    live: bool
    at_s: float
    size: float
    wall_s: float
    cpu_s: float
    moved_bytes: float
    in_bytes: int


def recorded(kind: tuple[str, bool], what: tuple[float, float, int], before: Reading, after: Reading) -> Recorded:
    """Return the difference of two readings as a request; ``what`` is its time in the talk, its size, its bytes in."""
    at_s, size, in_bytes = what
    return Recorded(
        *kind,
        round(at_s, 3),
        round(size, 3),
        round(after.wall_s - before.wall_s, 4),
        round(after.cpu_s - before.cpu_s, 4),
        round(after.moved_bytes - before.moved_bytes),
        in_bytes,
    )


async def line(data: bytes) -> AsyncGenerator[bytes]:
    """Yield a file in pieces, as late as a line of 10 Mbit/s brings them."""
    for at in range(0, len(data), PIECE_BYTES):
        piece = data[at : at + PIECE_BYTES]
        await asyncio.sleep(len(piece) / LINE_BYTES_PER_S)
        yield piece


async def live_speech(transcriber: Transcriber, meter: Meter, pcm: bytes) -> list[Recorded]:
    """Return one request for each utterance of audio played in real time."""
    requests: list[Recorded] = []
    started: tuple[SpeechStarted, Reading] | None = None
    async with aclosing(transcriber(_spoken(pcm), Call())) as events:
        async for event in events:
            if isinstance(event, SpeechStarted):
                started = event, meter.read()
            elif isinstance(event, SpeechStopped) and started is not None:
                begin, before = started
                seconds = (event.pts_us - begin.pts_us) / 1e6
                what = begin.pts_us / 1e6, seconds, int(seconds * 32_000)
                requests.append(recorded(("asr.utterance", True), what, before, meter.read()))
                started = None
    return requests


async def _spoken(pcm: bytes) -> AsyncIterator[SpeechInput]:
    yield RecognizeConfig(Encoding.PCM_S16LE, 16_000)
    async with aclosing(paced(pcm, MediaClock())) as blocks:
        seq = 0
        async for pts_us, block in blocks:
            seq += 1
            yield AudioChunk(seq, pts_us, block)


async def file_speech(transcriber: Transcriber, meter: Meter, pcm: bytes, seconds: float) -> Recorded:
    """Return the request of a WAV file with the first seconds of ``pcm``."""
    file = clip_wav(pcm, int(seconds * 1e6))
    before = meter.read()
    async with aclosing(transcriber(_sent(file), Call())) as events:
        async for _event in events:
            pass
    return recorded(("asr.file", False), (0, min(seconds, duration_us(pcm) / 1e6), len(file)), before, meter.read())


async def _sent(file: bytes) -> AsyncIterator[SpeechInput]:
    yield RecognizeConfig(Encoding.FILE)
    seq = 0
    async for piece in line(file):
        seq += 1
        yield AudioChunk(seq, 0, piece)


async def image(encoder: ImageEncoder, meter: Meter, picture: Picture) -> tuple[Recorded, EncodedFrame]:
    """Return the request of one picture, and what was seen in it."""
    before = meter.read()
    async with aclosing(encoder(_shown(picture), Call())) as events:
        frame = await anext(events)
    if not isinstance(frame, EncodedFrame):
        raise TypeError(f"{picture.file} could not be encoded: {frame.message}")
    size = frame.report.width * frame.report.height / 1e6
    what = picture.pts_us / 1e6, size, len(picture.data)
    return recorded(("vision.image", True), what, before, meter.read()), frame


async def _shown(picture: Picture) -> AsyncIterator[VisionInput]:
    yield EncodeConfig()
    async for _piece in line(picture.data):
        pass
    yield Image(picture.file, picture.pts_us, picture.data)


async def phrases(aligner: Aligner, meter: Meter, tour: Tour, frames: Sequence[EncodedFrame]) -> list[Recorded]:
    """Return one request for each phrase of the talk, with all frames shown so far."""
    requests: list[Recorded] = []
    inputs: asyncio.Queue[AlignInput] = asyncio.Queue()
    await inputs.put(AlignConfig())
    for frame in frames:
        await inputs.put(FrameTokens(frame.id, frame.pts_us, frame.tokens))
    async with aclosing(aligner(_queued(inputs), Call())) as events:
        await _flushed(inputs, events, "frames")
        for number, phrase in enumerate(tour.phrases):
            before = meter.read()
            words = phrase.text.split()
            step_us = (phrase.end_us - phrase.start_us) // max(1, len(words))
            spoken = [
                SpokenWord(
                    number * 100 + at, word, phrase.start_us + at * step_us, phrase.start_us + (at + 1) * step_us
                )
                for at, word in enumerate(words)
            ]
            await inputs.put(Words(tuple(spoken)))
            await _flushed(inputs, events, str(number))
            what = phrase.end_us / 1e6, len(words), len(phrase.text)
            requests.append(recorded(("aligner.phrase", True), what, before, meter.read()))
    return requests


async def _queued(inputs: asyncio.Queue[AlignInput]) -> AsyncIterator[AlignInput]:
    while True:
        yield await inputs.get()


async def _flushed(inputs: asyncio.Queue[AlignInput], events: AsyncIterator[object], marker: str) -> None:
    await inputs.put(Flush(marker))
    while await anext(events) != Marker(marker):
        pass


async def record() -> list[Recorded]:
    """Return the requests of all kinds, measured on this machine."""
    meter, tour, speech = Meter(), read_tour(), read_two_cities()
    requests: list[Recorded] = []
    with meter.counting():
        async with open_transcriber(AsrSettings()) as transcriber:
            requests += await live_speech(transcriber, meter, speech.pcm)
            for seconds in CLIPS_S * REPETITIONS:
                requests.append(await file_speech(transcriber, meter, speech.pcm, seconds))
        async with open_image_encoder(VisionSettings()) as encoder:
            seen = [await image(encoder, meter, picture) for picture in tour.pictures]
        requests += [request for request, _ in seen]
        async with open_aligner(AlignerSettings()) as aligner:
            requests += await phrases(aligner, meter, tour, [frame for _, frame in seen])
    return requests


def main() -> None:
    """Write the recording to the file named on the command line."""
    requests = [asdict(request) for request in asyncio.run(record())]
    machine = {"cores": os.cpu_count(), "copy_bytes_per_s": round(copy_bytes_per_s())}
    lines = ",\n".join(f"    {json.dumps(request)}" for request in requests)
    head = {"note": NOTE, "scaling": SCALING, "machine": machine}
    parts = [f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in head.items()]
    text = ",\n".join([*parts, f'  "requests": [\n{lines}\n  ]'])
    Path(sys.argv[1]).write_text(f"{{\n{text}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()

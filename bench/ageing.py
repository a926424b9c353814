"""One live session an hour long: what it holds and what taking audio costs, in the first minute and in the last.

Called by service.py; needs no server. The hour is fed to the speech service's port faster than real time. Everything is
the shipped code and voice detector but for the words: they are made up by place, since the model holds nothing of a
session and would take ten minutes.
"""

import asyncio
import gc
import sys
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field, replace
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from bench.measure import percentile
from bench.speech import read_two_cities
from services.asr.engine import WhisperTranscriber
from services.asr.hearing import Hearing
from services.asr.listener import Listener
from services.asr.live import LiveSession
from services.asr.loaded import open_loaded
from services.asr.models.whisper import Pass
from services.asr.settings import AsrSettings
from services.asr.words import HeardWord
from services.common.ports import Call
from services.common.types import AudioChunk, Encoding, RecognizeConfig, Settled, SpeechInput
from services.inference.batching import Batcher
from services.inference.lanes import BatchSettings

MINUTES = 60
MINUTE_US = 60_000_000
FRAME_US = 50_000
FRAME_BYTES = 1_600
AHEAD_US = 250_000  # how far the audio runs before what is taken: hardly more than with a real microphone
WORD = 6_400  # a made-up word every 400 ms
SHARED = (ModuleType, type, FunctionType, MethodType, BuiltinFunctionType)


@dataclass
class Hour:
    """What was measured, by minute: sizes of the session in bytes, CPU microseconds of taking 50 ms of audio."""

    sizes: dict[int, list[float]] = field(default_factory=dict)
    appends: dict[int, list[float]] = field(default_factory=dict)
    weighed_s: int = 0
    taken_us: int = 0  # the session has taken audio up to here

    @property
    def minute(self) -> int:
        """Return the minute that is being heard, from 1."""
        return self.taken_us // MINUTE_US + 1


async def run() -> dict[str, float | None]:
    """Return sizes and times of the first and the last minute, and their ratios."""
    speech = (await asyncio.to_thread(read_two_cities)).pcm
    minute = speech[: 60 * 32_000].ljust(60 * 32_000, b"\0")
    hour = Hour()
    settings = AsrSettings(workers=1)
    async with open_loaded(settings) as loaded, Batcher("ageing", BatchSettings(workers=1), made_up) as batcher:
        port = WhisperTranscriber(replace(loaded, listener=Listener(loaded.listener.workers, batcher)))
        with timed_appends(hour):
            async with aclosing(port(_audio(minute, hour), Call())) as events:
                async for event in events:
                    if isinstance(event, Settled):
                        _weigh(hour)
    return figures(hour)


def made_up(passes: list[Pass]) -> list[list[HeardWord]]:
    """Hear a word in every 400 ms of the stream, always the same one in the same place."""
    return [_words(one.speech.origin, one.speech.undecided, one.speech.samples.size) for one in passes]


def _words(origin: int, undecided: int, size: int) -> list[HeardWord]:
    places = range(-(-max(origin, undecided) // WORD), (origin + size) // WORD)
    return [HeardWord(f"w{place}", (place % 50_000,), place * WORD, (place + 1) * WORD, 0.9) for place in places]


async def _audio(minute: bytes, hour: Hour) -> AsyncGenerator[SpeechInput, None]:
    yield RecognizeConfig(Encoding.PCM_S16LE, 16_000)
    frames = len(minute) // FRAME_BYTES
    for seq in range(MINUTES * frames):
        while seq * FRAME_US > hour.taken_us + AHEAD_US:  # noqa: ASYNC110  # taken on a worker's thread
            await asyncio.sleep(0.001)
        at = seq % frames * FRAME_BYTES
        yield AudioChunk(seq + 1, seq * FRAME_US, minute[at : at + FRAME_BYTES])


def _weigh(hour: Hour) -> None:
    second = hour.taken_us // 1_000_000
    if hour.minute in (1, MINUTES) and second > hour.weighed_s:
        hour.weighed_s = second
        sessions = [thing for thing in gc.get_objects() if type(thing) is LiveSession]
        hour.sizes.setdefault(hour.minute, []).append(float(sum(size_of(session) for session in sessions)))


@contextmanager
def timed_appends(hour: Hour) -> Iterator[None]:
    """Time every call of ``Hearing.push`` while the body runs, in CPU time: what else the machine does is left out."""
    push = Hearing.push

    def timed(self: Hearing, *args: Any) -> None:
        started_ns = time.thread_time_ns()
        push(self, *args)
        hour.appends.setdefault(hour.minute, []).append((time.thread_time_ns() - started_ns) / 1000)
        hour.taken_us += FRAME_US

    Hearing.push = timed  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        Hearing.push = push  # type: ignore[method-assign]


def size_of(root: object) -> int:
    """Return the bytes of an object and of all that only it leads to; models, classes and modules are shared."""
    seen: set[int] = set()
    waiting, total = [root], 0
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen or isinstance(thing, SHARED) or _is_shared(thing):
            continue
        seen.add(id(thing))
        total += sys.getsizeof(thing) + _buffer_bytes(thing)
        base = thing.base if isinstance(thing, np.ndarray) else None
        waiting += gc.get_referents(thing) if base is None else [base]
    return total


def _is_shared(thing: object) -> bool:
    return type(thing).__module__.startswith(("onnxruntime", "ctranslate2", "services.asr.models"))


def _buffer_bytes(thing: object) -> int:
    """Return the bytes of a torch tensor, which Python's own size leaves out."""
    storage = getattr(thing, "untyped_storage", None)
    return int(storage().nbytes()) if callable(storage) else 0


def figures(hour: Hour) -> dict[str, float | None]:
    """Return the mean size and the P99 of an append in the first and the last minute, and last over first."""
    sizes = {minute: sum(values) / len(values) for minute, values in hour.sizes.items()}
    appends = {minute: percentile(hour.appends[minute], 99) or 0.0 for minute in (1, MINUTES)}
    return {
        "session_kb_minute_1": round(sizes[1] / 1024, 1),
        "session_kb_minute_60": round(sizes[MINUTES] / 1024, 1),
        "session_minute_60_over_1": round(sizes[MINUTES] / sizes[1], 4),
        "append_p99_us_minute_1": round(appends[1], 1),
        "append_p99_us_minute_60": round(appends[MINUTES], 1),
        "append_minute_60_over_1": round(appends[MINUTES] / appends[1], 3),
    }

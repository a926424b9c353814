"""What all calls of the speech service share: models, threads, processes. Opened by ``app.py``, used by the engine."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from services.asr.admission import Admission
from services.asr.container import decode_file
from services.asr.endpoint import WINDOW, EndpointRules
from services.asr.listener import Listener
from services.asr.mel import SAMPLE_RATE_HZ
from services.asr.models.silero import SileroModel, SpeechDetector
from services.asr.models.whisper import TINY_EN, Pass, Prompt, Speech, WhisperModel, tiny_en_folder
from services.asr.repetition import MIN_FRAMES
from services.asr.seats import Seats, rules_of
from services.asr.settings import AsrSettings
from services.common.ports import Priority
from services.common.types import RecognizeConfig
from services.inference.batching import Batcher
from services.inference.lanes import BatchSettings, Job
from services.inference.place import place_of
from services.inference.processes import Processes
from services.inference.profile import Load
from services.inference.turns import Turns
from services.inference.worker import Workers

LISTEN = "asr.listen.file"  # the kind of the turns in which a file is searched for speech
PER_MS = SAMPLE_RATE_HZ // 1_000
# The smallest WAV: its header, and one sample of silence.
TINY_WAV = bytes.fromhex("524946462600000057415645666d74201000000001000100803e0000007d00000200100064617461020000000000")


@dataclass(frozen=True, slots=True)
class Loaded:
    """Models in memory, threads and processes that run, and the settings they were made with."""

    name: str
    whisper: WhisperModel
    silero: SileroModel
    listener: Listener
    decoders: Processes
    seats: Seats
    settings: AsrSettings
    turns: Turns | None

    def serving(self, priority: Priority) -> "Loaded":
        """Return the same for a call of this priority."""
        return replace(self, listener=replace(self.listener, job=Job(priority)))

    def rules(self, config: RecognizeConfig) -> EndpointRules:
        """Return the endpointing rules of the settings, but for those that the call sets itself."""
        settings = self.settings
        start, stop = settings.vad_start, settings.vad_stop
        if config.vad_start:
            start, stop = config.vad_start, config.vad_start * stop / start
        silence_ms = config.min_silence_ms or settings.min_silence_ms
        return EndpointRules(start, stop, settings.min_speech_ms * PER_MS, silence_ms * PER_MS)


@asynccontextmanager
async def open_loaded(settings: AsrSettings, turns: Turns | None = None) -> AsyncGenerator[Loaded, None]:
    """Yield all of it, warm; ends threads and processes with the body."""
    folder = await asyncio.to_thread(_folder, settings.model)
    whisper = await asyncio.to_thread(WhisperModel, folder, settings.workers)
    silero = await asyncio.to_thread(SileroModel)
    async with (
        # A call has one job or one pass at a time, so none is ever refused once it was let in.
        Workers("asr.step", settings.workers, _calls(settings)) as workers,
        Batcher("asr", _batches(settings), whisper.hear, gate=place_of(turns, "asr", whisper.moved_bytes)) as batcher,
        Processes("audio", settings.decoder_processes, settings.max_files, settings.decode_timeout_s) as decoders,
    ):
        name = TINY_EN if settings.model == TINY_EN else folder.name
        if turns is not None:
            turns.expect(LISTEN, Load(turns.thread_share, 0.0, 0.0, 0.0, 0.0))
        listener = Listener(workers, batcher)
        cost_s = await _warm_up(listener, silero, settings.workers)
        await decoders.warm_up(decode_file, TINY_WAV, 1.0)
        seats = Seats(Admission(rules_of(settings, cost_s)))
        yield Loaded(name, whisper, silero, listener, decoders, seats, settings, turns)


def _calls(settings: AsrSettings) -> int:
    return settings.max_sessions + settings.max_files


def _batches(settings: AsrSettings) -> BatchSettings:
    waiting = max(_calls(settings), settings.workers)  # as many silent passes warm the workers up
    return BatchSettings(max_batch=settings.max_batch, workers=settings.workers, max_queue=waiting)


def _folder(model: str) -> Path:
    if model == TINY_EN:
        return tiny_en_folder()
    folder = Path(model)
    if not (folder / "model.bin").is_file():
        raise FileNotFoundError(f"the model {model!r} is neither {TINY_EN} nor a folder with a CTranslate2 Whisper")
    return folder


async def _warm_up(listener: Listener, silero: SileroModel, count: int) -> float:
    """Run every worker once; return the seconds of a pass, as far as silence can tell."""
    silence = np.zeros(SAMPLE_RATE_HZ, np.float32)
    await asyncio.gather(
        *(listener.workers.run(lambda: SpeechDetector(silero).probability(silence[:WINDOW])) for _ in range(count))
    )
    passed = await asyncio.gather(
        # Each of a kind of its own, so that each has a batch and a worker to itself.
        *(listener.batcher.submit(Pass(Speech(silence), Prompt(), MIN_FRAMES), kind=n) for n in range(count))
    )
    return passed[0].timing.compute_us / 1e6

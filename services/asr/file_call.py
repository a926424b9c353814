"""Serves one file: collects it, has it decoded, transcribes it window by window. Called by the engine."""

import time
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial

from services.asr.collect import collected
from services.asr.container import decode_file
from services.asr.loaded import LISTEN, Loaded
from services.asr.models.silero import SpeechDetector
from services.asr.models.whisper import Prompt
from services.asr.offline import FileTranscript
from services.asr.produced import Emit
from services.common.ports import Priority
from services.common.types import (
    Marker,
    RecognizeConfig,
    Settled,
    SpeechEvent,
    SpeechInput,
    Warned,
)
from services.inference.lanes import Job
from services.inference.profile import Ran
from services.inference.turns import Ask

EMPTY = Warned("empty_audio", "the file holds no audio")
DAMAGED = Warned("damaged_audio", "the file breaks off or is damaged; what came before that is transcribed")


async def serve_file(
    loaded: Loaded, config: RecognizeConfig, told: Prompt, inputs: AsyncIterator[SpeechInput], emit: Emit[SpeechEvent]
) -> None:
    """Transcribe a file that comes in pieces; flushes are answered at the end, where all is final."""
    started_s = time.monotonic()
    data, markers = await collected(inputs, loaded.settings.max_file_bytes)
    upload_s = time.monotonic() - started_s
    file = await loaded.decoders.run(decode_file, data, loaded.settings.max_file_s)
    if file.damaged:
        await emit(DAMAGED)
    if not file.samples:
        await emit(EMPTY)
    spell = loaded.whisper.spelling if config.details else None
    transcript = FileTranscript(file, loaded.rules(config), told, config.start_us, spell)
    # Says how long the file is before the work on it, which takes longer the longer it is.
    await emit(Settled(config.start_us, transcript.end_us, config.start_us, transcript.coverage(config.start_us)))
    await _transcribe(loaded, transcript, upload_s, emit)
    for marker in markers:
        await emit(Marker(marker))
    await emit(transcript.coverage(transcript.end_us))


async def _transcribe(loaded: Loaded, transcript: FileTranscript, upload_s: float, emit: Emit[SpeechEvent]) -> None:
    await _listen(loaded, transcript, upload_s)
    windows = transcript.windows()
    for number, window in enumerate(windows):
        # What is left of the file, not of the window, decides when it is its turn: short files are done first.
        job = Job(Priority.FILE, transcript.frames(windows[number:]), upload_s)
        done = await loaded.listener.run(transcript.hear(window), job)
        if done.value.words:
            await emit(replace(done.value, timing=done.timing))
        until_us = transcript.us(window[1])
        await emit(Settled(until_us, transcript.end_us, until_us, transcript.coverage(until_us)))


async def _listen(loaded: Loaded, transcript: FileTranscript, upload_s: float) -> None:
    """Find the speech in the file, a turn of the device for each piece of it."""
    detector, pieces = SpeechDetector(loaded.silero), transcript.pieces()
    for number, piece in enumerate(pieces):
        job = partial(transcript.listen, detector, piece)
        if loaded.turns is None:
            await loaded.listener.workers.run(job)
            continue
        async with loaded.turns.turn(Ask(LISTEN, len(pieces) - number, live=False)) as turn:
            done = await loaded.listener.workers.run(job)
            seconds = done.timing.compute_us / 1e6
            # The detector's few weights stay in the cache.
            turn.ran = Ran(1.0, seconds, seconds * loaded.turns.thread_share, upload_s, 0.0, 0.0)

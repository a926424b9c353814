"""Serves one file: collects it, has it decoded, transcribes it window by window. Called by the engine."""

from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial

from services.asr.collect import collected
from services.asr.container import decode_file
from services.asr.loaded import Loaded
from services.asr.models.silero import SpeechDetector
from services.asr.models.whisper import Prompt
from services.asr.offline import FileTranscript
from services.asr.produced import Emit
from services.common.types import (
    Marker,
    RecognizeConfig,
    Settled,
    SpeechEvent,
    SpeechInput,
    Warned,
)
from services.inference.lanes import Priority

EMPTY = Warned("empty_audio", "the file holds no audio")
DAMAGED = Warned("damaged_audio", "the file breaks off or is damaged; what came before that is transcribed")


async def serve_file(
    loaded: Loaded, config: RecognizeConfig, told: Prompt, inputs: AsyncIterator[SpeechInput], emit: Emit[SpeechEvent]
) -> None:
    """Transcribe a file that comes in pieces; flushes are answered at the end, where all is final."""
    data, markers = await collected(inputs, loaded.settings.max_file_bytes)
    file = await loaded.decoders.run(decode_file, data, loaded.settings.max_file_s)
    if file.damaged:
        await emit(DAMAGED)
    if not file.samples:
        await emit(EMPTY)
    spell = loaded.whisper.spelling if config.details else None
    transcript = FileTranscript(file, loaded.rules(config), told, config.start_us, spell)
    # Says how long the file is before the work on it, which takes longer the longer it is.
    await emit(Settled(config.start_us, transcript.end_us, config.start_us, transcript.coverage(config.start_us)))
    await _transcribe(loaded, transcript, emit)
    for marker in markers:
        await emit(Marker(marker))
    await emit(transcript.coverage(transcript.end_us))


async def _transcribe(loaded: Loaded, transcript: FileTranscript, emit: Emit[SpeechEvent]) -> None:
    detector = SpeechDetector(loaded.silero)
    for piece in transcript.pieces():
        await loaded.listener.workers.run(partial(transcript.listen, detector, piece))
    for window in transcript.windows():
        done = await loaded.listener.run(transcript.hear(window), Priority.FILE)
        if done.value.words:
            await emit(replace(done.value, timing=done.timing))
        until_us = transcript.us(window[1])
        await emit(Settled(until_us, transcript.end_us, until_us, transcript.coverage(until_us)))

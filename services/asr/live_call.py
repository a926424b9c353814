"""Serves one live call: reads its inputs while passes run, paces the passes. Called by the engine."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from services.asr.admission import Round
from services.asr.container_stream import decoded, pcm_config
from services.asr.coverage import Ledger
from services.asr.hearing import Hearing
from services.asr.hypothesis import LocalAgreement
from services.asr.inbox import Inbox
from services.asr.listener import Heard
from services.asr.live import LiveSession
from services.asr.loaded import Loaded
from services.asr.mel import SAMPLE_RATE_HZ
from services.asr.models.whisper import Prompt
from services.asr.pcm import SAMPLE_BYTES, PcmReader
from services.asr.produced import Emit
from services.asr.recognition import Recognition
from services.asr.seats import Measure
from services.asr.settings import BUSY_SHARE
from services.asr.words import HeardWord
from services.common.errors import InvalidInput
from services.common.types import (
    AudioChunk,
    Committed,
    Coverage,
    Flush,
    Partial,
    RecognizeConfig,
    SpeechEvent,
    SpeechInput,
    StageTiming,
    Word,
)

STEP_US = 200_000  # new audio that is worth a look
US_PER_SAMPLE = 1_000_000 / SAMPLE_RATE_HZ


@dataclass(frozen=True, slots=True)
class LiveCall:
    """What a live call rests on; the decoder is ``told`` a prompt, ``measure`` is told of every round."""

    loaded: Loaded
    config: RecognizeConfig
    told: Prompt
    measure: Measure


async def serve_live(call: LiveCall, inputs: AsyncIterator[SpeechInput], emit: Emit[SpeechEvent]) -> None:
    """Transcribe a stream until its inputs end."""
    loaded, config = call.loaded, call.config
    if config.encoding not in SAMPLE_BYTES:
        async with aclosing(decoded(config, inputs)) as audio:
            await serve_live(replace(call, config=pcm_config(config)), audio, emit)
        return
    bytes_per_s = SAMPLE_BYTES[config.encoding] * config.channels * config.sample_rate_hz
    max_us = int(loaded.settings.max_backlog_s * 1_000_000)
    inbox = Inbox(max_us, lambda chunk: len(chunk.data) * 1_000_000 // bytes_per_s)
    async with asyncio.TaskGroup() as group:
        group.create_task(inbox.fill(_audio(inputs)))
        await _decide(_session(loaded, config, call.told), inbox, call, emit)


async def _decide(session: LiveSession, inbox: Inbox, call: LiveCall, emit: Emit[SpeechEvent]) -> None:
    loaded = call.loaded
    shortest = loaded.settings.pass_interval_ms * SAMPLE_RATE_HZ // 1_000
    while True:
        session.give(await inbox.take(STEP_US))
        more = True
        while more:
            done = await loaded.listener.run(session.step())
            events, more = done.value
            if more:
                call.measure(_round(session.interval, done))
                session.interval = max(shortest, int(done.own_us * BUSY_SHARE / US_PER_SAMPLE))
            for event in events:
                await emit(_timed(event, done.timing))
                if isinstance(event, Coverage):
                    return


def _round(interval: int, done: Heard[Any]) -> Round:
    """Return what a word had to wait that was said just after the last pass began: the interval, and this pass."""
    took_us = done.timing.queue_us + done.timing.compute_us
    return Round(interval / SAMPLE_RATE_HZ + took_us / 1e6, done.cost_us / 1e6)


def _session(loaded: Loaded, config: RecognizeConfig, told: Prompt) -> LiveSession:
    hearing = Hearing(loaded.silero, loaded.rules(config), config.sample_rate_hz, config.start_us)
    max_window = int(loaded.settings.max_window_s * SAMPLE_RATE_HZ)
    return LiveSession(
        PcmReader(config.encoding, config.channels),
        hearing,
        Recognition(LocalAgreement(), hearing, max_window, told),
        Ledger(max(config.start_us, config.settled_us)),
        loaded.settings.pass_interval_ms * SAMPLE_RATE_HZ // 1_000,
        config.partials,
        tuple(_heard(loaded, config, word) for word in config.said),
        max(config.start_us, config.settled_us),
        loaded.whisper.spelling if config.details else None,
    )


def _heard(loaded: Loaded, config: RecognizeConfig, word: Word) -> HeardWord:
    start, end = ((us - config.start_us) * SAMPLE_RATE_HZ // 1_000_000 for us in (word.start_us, word.end_us))
    return HeardWord(word.text, loaded.whisper.spelled(word.text), max(0, start), max(0, end), word.confidence)


async def _audio(inputs: AsyncIterator[SpeechInput]) -> AsyncIterator[AudioChunk | Flush]:
    async for item in inputs:
        if isinstance(item, RecognizeConfig):
            raise InvalidInput("the configuration must come once, and first", param="config")
        yield item


def _timed(event: SpeechEvent, timing: StageTiming) -> SpeechEvent:
    return replace(event, timing=timing) if isinstance(event, Partial | Committed) else event

"""A transcriber without a model, for tests of everything around one; it keeps the port's whole contract.

Every half second of the media clock that holds a sound is one word, named by its time: "w3" is the fourth half second.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from fractions import Fraction

import numpy as np

from services.asr.admission import Admission
from services.asr.clock import OVERLAP, MediaClock
from services.asr.collect import collected
from services.asr.configuration import checked, first
from services.asr.container import decode_file
from services.asr.container_stream import decoded, pcm_config
from services.asr.coverage import Ledger
from services.asr.pcm import SAMPLE_BYTES, PcmReader
from services.asr.prompting import prompt_tokens
from services.asr.seats import Seats, rules_of
from services.asr.settings import AsrSettings
from services.common.errors import InvalidInput
from services.common.ports import Call
from services.common.types import (
    AudioChunk,
    Committed,
    Encoding,
    Flush,
    Marker,
    Partial,
    Ready,
    RecognizeConfig,
    Settled,
    SpeechEvent,
    SpeechInput,
    SpeechStarted,
    SpeechStopped,
    Token,
    Window,
    Word,
)

WORD_US = 500_000
NAME = "fake"


class FakeTranscriber:
    """The port without a model."""

    def __init__(self, settings: AsrSettings) -> None:
        self._settings = settings
        self._seats = Seats(Admission(rules_of(settings)))

    async def __call__(self, inputs: AsyncIterator[SpeechInput], call: Call) -> AsyncGenerator[SpeechEvent, None]:
        """Transcribe one stream; ``call`` is not read."""
        config = checked(await first(inputs), NAME, lambda language: language == "en")
        with self._seats.taken(config):
            tokens, cut = prompt_tokens(config, _spelled)
            if cut is not None:
                yield cut
            yield Ready(NAME, "en", len(tokens))
            window = Window(config.start_us, 0.0, "en") if config.details and config.encoding is Encoding.FILE else None
            if config.encoding is Encoding.FILE:
                config, inputs = await self._file(config, inputs)
            elif config.encoding not in SAMPLE_BYTES:
                config, inputs = pcm_config(config), decoded(config, inputs)
            session = _FakeSession(config, window)
            async with aclosing(_all(inputs)) as items:
                async for item in items:
                    for event in session.take(item):
                        yield event
            for event in session.end():
                yield event

    async def _file(
        self, config: RecognizeConfig, inputs: AsyncIterator[SpeechInput]
    ) -> tuple[RecognizeConfig, AsyncIterator[SpeechInput]]:
        data, markers = await collected(inputs, self._settings.max_file_bytes)
        file = await asyncio.to_thread(decode_file, data, self._settings.max_file_s)
        items: list[SpeechInput] = [AudioChunk(1, config.start_us, file.samples), *map(Flush, markers)]
        config = replace(config, encoding=Encoding.PCM_S16LE, sample_rate_hz=file.rate_hz, channels=1, partials=False)
        return config, _each(items)


def _spelled(text: str) -> tuple[int, ...]:
    return tuple(range(len(text.split())))


async def _each(items: list[SpeechInput]) -> AsyncGenerator[SpeechInput, None]:
    for item in items:
        yield item


async def _all(inputs: AsyncIterator[SpeechInput]) -> AsyncGenerator[SpeechInput, None]:
    """Yield all inputs; closes those that can be closed."""
    async for item in inputs:
        yield item


class _FakeSession:
    """One stream: ``_until_us`` is where the undecided half second begins."""

    def __init__(self, config: RecognizeConfig, window: Window | None) -> None:
        self._window = window
        self._partials = config.partials
        self._details = config.details
        self._reader = PcmReader(config.encoding, config.channels)
        self._clock = MediaClock(config.start_us, config.sample_rate_hz, Fraction(1))
        self._ledger = Ledger(config.start_us)
        self._rate_hz = config.sample_rate_hz
        self._until_us = config.start_us
        self._loud = False  # the undecided half second holds a sound
        self._speaking = False
        self._overlapped = False

    def take(self, item: SpeechInput) -> list[SpeechEvent]:
        match item:
            case AudioChunk(_, pts_us, data):
                return [*self._keep_time(pts_us), *self._hear(data)]
            case Flush(marker):
                return [*self._decide(), self._settled(), Marker(marker)]
            case RecognizeConfig():
                raise InvalidInput("the configuration must come once, and first", param="config")

    def end(self) -> list[SpeechEvent]:
        return [*self._decide(), *self._silence(), self._settled(), self._ledger.coverage(self._clock.now_us)]

    def _keep_time(self, pts_us: int) -> list[SpeechEvent]:
        ahead_us = self._clock.ahead_us(pts_us)
        if ahead_us > 0:
            events = [*self._decide(), *self._silence()]
            self._ledger.dropped(self._clock.now_us, pts_us, "gap")
            self._reader.drop_rest()
            self._clock.jump(pts_us, 0)
            self._until_us = pts_us
            return events
        first = ahead_us < 0 and not self._overlapped
        self._overlapped |= first
        return [OVERLAP] if first else []

    def _hear(self, data: bytes) -> list[SpeechEvent]:
        samples = self._reader.push(data)
        events: list[SpeechEvent] = []
        while samples.size:
            left_us = (self._until_us // WORD_US + 1) * WORD_US - self._clock.now_us
            count = max(1, -(-left_us * self._rate_hz // 1_000_000))
            self._loud |= bool(np.any(samples[:count]))
            self._clock.advance(min(count, samples.size))
            if samples.size >= count:
                events += self._decide()
            samples = samples[count:]
        if self._loud and self._partials:
            events.append(Partial((self._word(),)))
        return [*events, self._settled()]

    def _decide(self) -> list[SpeechEvent]:
        """Make the undecided half second, as far as it has come, a word or silence."""
        events = self._words() if self._loud else self._silence()
        self._until_us = self._clock.now_us
        self._loud = False
        return events

    def _words(self) -> list[SpeechEvent]:
        started: list[SpeechEvent] = [] if self._speaking else [SpeechStarted(self._until_us)]
        self._speaking = True
        self._ledger.transcribed(self._until_us, self._clock.now_us)
        return [*started, Committed((self._word(),), window=self._window)]

    def _silence(self) -> list[SpeechEvent]:
        stopped: list[SpeechEvent] = [SpeechStopped(self._until_us)] if self._speaking else []
        self._speaking = False
        return stopped

    def _word(self) -> Word:
        number = self._until_us // WORD_US
        tokens = (Token(number, f" w{number}".encode(), 0.0),) if self._details else ()
        return Word(f"w{number}", self._until_us, self._clock.now_us, 1.0, tokens=tokens)

    def _settled(self) -> Settled:
        until_us = self._until_us if self._loud else self._clock.now_us
        return Settled(until_us, self._clock.now_us, until_us, self._ledger.coverage(until_us))

"""Checks what a call asks for before anything is spent on it. Called by the engine and its fake."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

from services.common.errors import Idle, InvalidInput
from services.common.types import Encoding, RecognizeConfig, SpeechInput

RATES_HZ = range(8_000, 192_001)
CHANNELS = range(1, 9)
TEMPERATURES = (0.0, 1.0)
SILENCES_MS = range(100, 3_001)  # of a pause that ends speech; 0 is the service's own
CONTAINERS = frozenset({Encoding.FILE, Encoding.OPUS, Encoding.WEBM})  # they say their rate and channels themselves

FIRST_WITHIN_S = 10.0  # a call that says nothing holds a stream for nothing


async def first(inputs: AsyncIterator[SpeechInput]) -> SpeechInput | None:
    """Return the first input, None where there is none; Idle when it does not come."""
    try:
        async with asyncio.timeout(FIRST_WITHIN_S):
            return await anext(inputs, None)
    except TimeoutError:
        raise Idle(f"no configuration came within {FIRST_WITHIN_S:g} s") from None


def checked(first: SpeechInput | None, model: str, speaks: Callable[[str], bool]) -> RecognizeConfig:
    """Return the configuration that must come first; InvalidInput names the parameter that is wrong.

    ``speaks`` tells whether the model knows a language.
    """
    if not isinstance(first, RecognizeConfig):
        raise InvalidInput("the first message must be the configuration", param="config")
    if first.model not in {"", model}:
        raise InvalidInput(f"there is no model {first.model!r} here, only {model!r}", param="model")
    language = _base(first.language)
    if language and not speaks(language):
        raise InvalidInput(f"the model {model!r} does not know the language {first.language!r}", param="language")
    if first.start_us < 0:
        raise InvalidInput("start_us must not be negative", param="start_us")
    if not TEMPERATURES[0] <= first.temperature <= TEMPERATURES[1]:
        raise InvalidInput(f"temperature must be 0 to 1, not {first.temperature:g}", param="temperature")
    _check_endpointing(first)
    if first.encoding not in CONTAINERS:
        _check_format(first)
    return replace(first, language=language)


def _check_endpointing(config: RecognizeConfig) -> None:
    if not 0 <= config.vad_start < 1:
        raise InvalidInput(f"vad_start must be 0 to 1, not {config.vad_start:g}", param="vad_start")
    if config.min_silence_ms and config.min_silence_ms not in SILENCES_MS:
        raise InvalidInput(
            f"min_silence_ms must be {SILENCES_MS[0]} to {SILENCES_MS[-1]}, not {config.min_silence_ms}",
            param="min_silence_ms",
        )


def _check_format(config: RecognizeConfig) -> None:
    if config.sample_rate_hz not in RATES_HZ:
        raise InvalidInput(
            f"sample_rate_hz must be {RATES_HZ[0]} to {RATES_HZ[-1]}, not {config.sample_rate_hz}",
            param="sample_rate_hz",
        )
    if config.channels not in CHANNELS:
        raise InvalidInput(f"channels must be {CHANNELS[0]} to {CHANNELS[-1]}, not {config.channels}", param="channels")


def _base(language: str) -> str:
    """Return the language without its region: en-GB is spoken by a model that speaks en."""
    return language.lower().replace("_", "-").partition("-")[0]

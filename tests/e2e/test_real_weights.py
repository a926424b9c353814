"""The whole server with its real models, as a user meets it."""

import asyncio
import os
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from attune_client import Attune, connect
from attune_client.events import Committed, Degraded, Recovered, SessionEnded
from bench import demo
from bench.measure import Target, word_error_rate
from bench.report import as_table, passed
from bench.speech import read_two_cities
from tests.running import Running, running_stack

TOUR = Path(__file__).parents[2] / "examples" / "tour"
SIXTEEN_SECONDS = (
    "It was the best of times, it was the worst of times, it was the age of wisdom, it was the age of foolishness, "
    "it was the epoch of belief, it was the epoch of incredulity, it was the season of light, it was the season of"
)
BECKETT = "Ever tried. Ever failed. No matter. Try again. Fail again. Fail better."


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Run `attune up` with the real models."""
    # However slow the machine that runs the tests, nobody is refused for lag.
    with running_stack(tmp_path_factory.mktemp("real"), {**os.environ, "ATTUNE_ASR_MAX_LAG_S": "60"}) as running:
        yield running


async def test_the_example_talk_is_understood(real: Running):
    """Every phrase of the tour finds its picture and its region, and the words are right."""
    figures = await demo.run(Target(real.url, real.process.pid))
    assert passed(figures, demo.BARS), as_table(figures, demo.BARS)


async def test_files_are_understood(real: Running):
    """A file of real speech has its words, and a picture its label."""
    speech = Path(str(files("moonshine_voice").joinpath("assets", "beckett.wav")))
    async with Attune(real.url) as client:
        result = await client.align(audio=speech, images=[(TOUR / "rocket.jpg", 0)])
        described = await client.describe_images([TOUR / "flower.jpg"])
    assert word_error_rate(BECKETT, " ".join(word.text for word in result.words)) <= 0.1
    assert result.degraded == ()
    assert "daisy" in [label.text for label in described[0].labels]


async def test_speech_outlives_its_recogniser(real: Running):
    """Kill -9 of the recogniser in mid-sentence, twice: it comes back, and not a word is missing or doubled."""
    speech = read_two_cities()
    pcm = speech.pcm[: 16 * 32_000]
    size = 3_202  # bytes: 100 ms and a sample
    words: list[str] = []
    news: list[str] = []
    async with connect(real.url) as session:

        async def speak() -> None:
            for at in range(0, len(pcm), size):
                if at in (size * 40, size * 110):
                    real.child("asr").kill()
                await session.send_audio(pcm[at : at + size])
                await asyncio.sleep(0.1)
            await session.end()

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(speak())
            async for event in session:
                match event:
                    case Committed():
                        words += [word.text for word in event.words]
                    case Degraded() | Recovered():
                        news.append(f"{event.stage} {type(event).__name__.lower()}")
                    case SessionEnded():
                        coverage = event.coverage
    assert word_error_rate(SIXTEEN_SECONDS, " ".join(words)) <= 0.05, words
    assert news == ["asr degraded", "asr recovered"] * 2
    assert coverage.transcribed_us + coverage.silent_us == len(pcm) * 1_000_000 // 32_000


async def test_silence_and_noise_bring_no_words(real: Running):
    """Nothing is said where nobody speaks."""
    noise = (np.random.default_rng(7).normal(0, 300, 16_000 * 6)).astype("<i2").tobytes()
    async with connect(real.url) as session:
        await session.send_audio(bytes(32_000 * 6))
        await session.send_audio(noise)
        await session.end()
        events = [event async for event in session]
    assert [event for event in events if isinstance(event, Committed)] == []
    assert isinstance(events[-1], SessionEnded)

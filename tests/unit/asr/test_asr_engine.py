"""The real engine on the real weights."""

import asyncio
from contextlib import aclosing

import numpy as np
import pytest
import pytest_asyncio

from services.asr.app import open_transcriber
from services.asr.settings import AsrSettings
from services.common.errors import InvalidInput, Overloaded, TooLarge, UnsupportedMedia
from services.common.ports import Call
from services.common.types import (
    Committed,
    Coverage,
    Dropped,
    Encoding,
    Flush,
    Marker,
    Partial,
    Ready,
    RecognizeConfig,
    Settled,
    SpeechStarted,
    SpeechStopped,
)
from tests.unit.asr.audio import (
    TWO_CITIES,
    chunks,
    encoded,
    events_of,
    file_chunks,
    only,
    pcm16,
    silence,
    stream,
    text_of,
    two_cities,
    two_cities_pcm,
    wav,
    words_of,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")

FILE = RecognizeConfig(Encoding.FILE)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def port():
    async with open_transcriber(AsrSettings(workers=1, max_sessions=4, max_file_s=60.0)) as transcriber:
        yield transcriber


def plain(text):
    return "".join(character for character in text.lower() if character.isalnum() or character == " ").split()


def check_contract(events, start_us=0):
    """Whatever is said, the events keep the port's promises."""
    assert events[0] == Ready("tiny.en", "en")
    assert len(only(events, Coverage)) == 1
    coverage = events[-1]
    lost = sum(part.end_us - part.start_us for part in coverage.dropped)
    assert coverage.duration_us == coverage.transcribed_us + coverage.silent_us + lost
    words = words_of(events)
    edges = [edge for word in words for edge in (word.start_us, word.end_us)]
    assert edges == sorted(edges)
    assert all(start_us <= edge <= start_us + coverage.duration_us for edge in edges)
    assert all(0.0 <= word.confidence <= 1.0 for word in words)
    check_settled(events, start_us)


def check_settled(events, start_us):
    """No word begins before what was said to be decided, and the account of it adds up."""
    until_us = start_us
    for event in events:
        if isinstance(event, Committed):
            assert all(word.start_us >= until_us for word in event.words)
        if isinstance(event, Settled):
            assert until_us <= event.until_us <= event.received_us
            until_us = event.until_us
            assert event.coverage.duration_us == until_us - start_us
            assert min(event.coverage.transcribed_us, event.coverage.silent_us) >= 0


async def test_live_speech_is_transcribed(port):
    """Words come while the stream runs, partials before them, and they are the right ones."""
    events = await events_of(port, pcm16(48_000, start_us=500_000), *chunks(two_cities_pcm(8.6), 48_000, 500_000))
    check_contract(events, 500_000)
    assert plain(text_of(events)) == plain(TWO_CITIES)
    assert only(events, Partial)
    assert len(only(events, Committed)) > 1
    assert len(only(events, SpeechStarted)) == len(only(events, SpeechStopped)) >= 1
    assert events[-1].transcribed_us > 5_000_000


async def test_partials_are_not_sent_unasked(port):
    """The words are the same without them."""
    events = await events_of(port, pcm16(48_000, partials=False), *chunks(two_cities_pcm(5), 48_000))
    assert only(events, Partial) == []
    assert plain(text_of(events)) == plain(TWO_CITIES)[:12]


async def test_a_file_is_transcribed(port):
    """In windows, each committed whole."""
    events = await events_of(port, FILE, *file_chunks(two_cities()))
    check_contract(events)
    assert plain(text_of(events))[: len(plain(TWO_CITIES))] == plain(TWO_CITIES)
    assert len(words_of(events)) in range(117, 122)
    assert events[-1].duration_us == 44_374_125


async def test_live_webm_is_transcribed(port):
    """Container streams give the words of the samples in them."""
    data = encoded(two_cities_pcm(5), "webm", "libopus")
    events = await events_of(port, RecognizeConfig(Encoding.WEBM), *file_chunks(data, 700))
    check_contract(events)
    assert plain(text_of(events)) == plain(TWO_CITIES)[:12]


async def test_a_flush_makes_all_final_and_the_stream_goes_on(port):
    """The marker comes after the words said so far; those that follow come after it."""
    audio = chunks(two_cities_pcm(8.6), 48_000)
    events = await events_of(port, pcm16(48_000), *audio[:102], Flush("m"), *audio[102:])
    check_contract(events)
    at = events.index(Marker("m"))
    assert plain(text_of(events[:at])) == plain(TWO_CITIES)[:12]
    assert plain(text_of(events)) == plain(TWO_CITIES)


async def test_a_gap_is_dropped_and_words_lie_on_its_sides(port):
    """Words before it are committed, the clock jumps, words after it carry the new time."""
    audio = two_cities_pcm(8.6)
    first, second = audio[: 5 * 48_000], audio[5 * 48_000 :]
    events = await events_of(port, pcm16(48_000), *chunks(first, 48_000), *chunks(second, 48_000, 8_000_000))
    check_contract(events)
    assert events[-1].dropped == (Dropped(5_000_000, 8_000_000, "gap"),)
    assert events[-1].duration_us == 11_600_000
    assert not any(word.start_us < 8_000_000 and word.end_us > 5_000_000 for word in words_of(events))
    assert plain(text_of(events)) == plain(TWO_CITIES)


async def test_a_stream_can_be_taken_up_where_it_is_settled(port):
    """Audio before ``until_us`` is never needed again."""
    audio = two_cities_pcm(8.6)
    before = await events_of(port, pcm16(48_000), *chunks(audio[: 5 * 48_000], 48_000), Flush("m"))
    until_us = only(before[: before.index(Marker("m"))], Settled)[-1].until_us
    rest = audio[until_us * 48 // 1_000 :]
    after = await events_of(port, pcm16(48_000, start_us=until_us), *chunks(rest, 48_000, until_us))
    check_contract(after, until_us)
    assert plain(text_of(before) + " " + text_of(after)) == plain(TWO_CITIES)


@pytest.mark.parametrize(
    "audio",
    [
        silence(6),
        np.random.default_rng(0).normal(0, 0.01 * 32_768, 6 * 16_000).astype("<i2"),
        (3_000 * np.sin(np.arange(6 * 16_000) * 2 * np.pi * 50 / 16_000)).astype("<i2"),
    ],
    ids=["silence", "noise", "hum"],
)
async def test_no_speech_gives_no_words(port, audio):
    """All of it is silent; neither live nor as a file does the model invent something."""
    live = await events_of(port, pcm16(), *chunks(audio))
    file = await events_of(port, FILE, *file_chunks(wav(audio)))
    assert live[-1] == file[-1] == Coverage(6_000_000, 0, 6_000_000)
    assert words_of(live) == words_of(file) == []


@pytest.mark.parametrize("samples", [0, 1, 160])
async def test_very_short_audio_is_no_error(port, samples):
    """No words, and honest coverage."""
    audio = silence(1)[:samples]
    duration_us = samples * 1_000_000 // 16_000
    expected = Coverage(duration_us, 0, duration_us)
    assert (await events_of(port, FILE, *file_chunks(wav(audio))))[-1] == expected
    assert (await events_of(port, pcm16(), *chunks(audio)))[-1] == expected


async def test_bad_input_gets_its_typed_error(port):
    """And the next call is served."""
    with pytest.raises(UnsupportedMedia):
        await events_of(port, FILE, *file_chunks(b"hello"))
    with pytest.raises(TooLarge):
        await events_of(port, FILE, *file_chunks(encoded(silence(70, 48_000), "ogg", "libopus")))
    with pytest.raises(InvalidInput):
        await events_of(port)
    with pytest.raises(InvalidInput):
        await events_of(port, pcm16(), pcm16())
    assert await events_of(port, pcm16()) == [Ready("tiny.en", "en"), Settled(0, 0, 0), Coverage(0, 0, 0)]


async def test_one_call_too_many_is_refused(port):
    """The others go on, and a place that gets free is given again."""
    waiting = asyncio.Event()

    async def endless():
        yield pcm16()
        await waiting.wait()

    calls = [port(endless(), Call()) for _ in range(4)]
    for call in calls:
        assert await anext(call) == Ready("tiny.en", "en")
    with pytest.raises(Overloaded):
        await events_of(port, pcm16())
    for call in calls:
        await call.aclose()
    assert isinstance((await events_of(port, pcm16()))[-1], Coverage)


async def test_a_caller_that_goes_away_leaves_nothing_behind(port):
    """No task runs on, in the middle of speech or of a file."""
    for inputs in ([pcm16(48_000), *chunks(two_cities_pcm(8.6), 48_000)], [FILE, *file_chunks(two_cities())]):
        tasks = asyncio.all_tasks()
        async with aclosing(port(stream(inputs), Call())) as events:
            async for event in events:
                if isinstance(event, Partial | Committed):
                    break
        assert asyncio.all_tasks() == tasks


async def test_a_model_that_is_not_there_is_named():
    """The error says what a model may be."""
    with pytest.raises(FileNotFoundError, match="nowhere"):
        async with open_transcriber(AsrSettings(model="nowhere")):
            pass

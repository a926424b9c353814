"""The transcriber without a model."""

import subprocess
import sys

import numpy as np
import pytest

from services.asr.app import open_transcriber
from services.asr.settings import AsrSettings
from services.common.errors import InvalidInput, TooLarge, UnsupportedMedia
from services.common.types import (
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
    Warned,
)
from tests.unit.asr.audio import (
    chunks,
    encoded,
    events_of,
    file_chunks,
    only,
    pcm16,
    silence,
    sound,
    text_of,
    wav,
    words_of,
)

FILE = RecognizeConfig(Encoding.FILE)


async def fake(*items, **values):
    async with open_transcriber(AsrSettings(model="fake", **values)) as port:
        return await events_of(port, *items)


async def test_every_half_second_with_a_sound_is_a_word():
    """Words are named by their time, so a stream that is taken up again says the same."""
    events = await fake(pcm16(), *chunks(np.concatenate([silence(1), sound(1), silence(1)])))
    assert events[0] == Ready("fake", "en")
    assert text_of(events) == "w2 w3"
    assert [(word.start_us, word.end_us) for word in words_of(events)] == [
        (1_000_000, 1_500_000),
        (1_500_000, 2_000_000),
    ]
    assert only(events, SpeechStarted) == [SpeechStarted(1_000_000)]
    assert only(events, SpeechStopped) == [SpeechStopped(2_000_000)]
    assert events[-1] == Coverage(3_000_000, 1_000_000, 2_000_000)


async def test_the_word_being_said_is_a_partial():
    """Unless partials are not wanted."""
    spoken = chunks(sound(0.4))
    assert next(event.words[0].text for event in only(await fake(pcm16(), *spoken), Partial)) == "w0"
    assert only(await fake(pcm16(partials=False), *spoken), Partial) == []


async def test_a_flush_makes_the_word_final_and_the_stream_goes_on():
    """The marker comes after it."""
    audio = chunks(sound(0.6))
    events = await fake(pcm16(), *audio[:4], Flush("m"), *audio[4:])
    at = events.index(Marker("m"))
    assert (text_of(events[:at]), text_of(events[at:])) == ("w0", "w0 w1")


async def test_a_gap_is_dropped():
    """The coverage names it, and the clock goes on after it."""
    events = await fake(pcm16(), *chunks(sound(0.5)), *chunks(sound(0.5), start_us=2_000_000))
    assert text_of(events) == "w0 w4"
    assert events[-1] == Coverage(2_500_000, 1_000_000, 0, (Dropped(500_000, 2_000_000, "gap"),))


async def test_an_overlap_is_warned_of_once():
    """The sample count stays the clock."""
    events = await fake(pcm16(), *chunks(sound(0.5)), *chunks(sound(0.5)))
    assert [event.code for event in only(events, Warned)] == ["clock_overlap"]
    assert events[-1].duration_us == 1_000_000


async def test_settled_never_goes_back():
    """What is decided stays decided, and is never ahead of what came in."""
    events = only(await fake(pcm16(start_us=3), *chunks(sound(1.3), start_us=3)), Settled)
    assert [event.until_us for event in events] == sorted(event.until_us for event in events)
    assert all(event.until_us <= event.received_us for event in events)
    assert all(event.coverage.duration_us == event.until_us - 3 for event in events)


@pytest.mark.parametrize(("encoding", "container"), [(Encoding.OPUS, "ogg"), (Encoding.WEBM, "webm")])
async def test_container_streams_are_decoded(encoding, container):
    """As the real engine does it."""
    data = encoded(sound(1, 48_000), container, "libopus")
    assert text_of(await fake(RecognizeConfig(encoding), *file_chunks(data, 500))).startswith("w0 w1")


async def test_files_are_decoded():
    """A flush in a file is answered once all is final."""
    events = await fake(FILE, *file_chunks(wav(sound(1))), Flush("m"))
    assert text_of(events) == "w0 w1"
    assert events[-1] == Coverage(1_000_000, 1_000_000, 0)
    assert Marker("m") in events


async def test_limits_and_errors_are_the_real_ones():
    """Too many bytes, no audio, a second configuration."""
    with pytest.raises(TooLarge):
        await fake(FILE, *file_chunks(bytes(5_000)), max_file_bytes=4_096)
    with pytest.raises(UnsupportedMedia):
        await fake(FILE, *file_chunks(b"hello"))
    with pytest.raises(InvalidInput):
        await fake(pcm16(), pcm16())


def test_the_fake_needs_no_model_library():
    """Tests that use it start fast."""
    code = (
        "import sys, services.asr.app, services.asr.models.fake;"
        "print([name for name in ('torch', 'torchaudio', 'ctranslate2', 'onnxruntime') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

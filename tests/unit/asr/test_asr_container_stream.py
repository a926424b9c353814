"""Container streams that are decoded while they come."""

import asyncio
import threading
from contextlib import aclosing, suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.asr.container_stream import DECODED_WAITING, PIECES_WAITING, _ContainerStream, decoded
from services.common.errors import UnsupportedMedia
from services.common.types import AudioChunk, Encoding, Flush, RecognizeConfig
from tests.unit.asr.audio import encoded, file_chunks, sound, stream

FORMATS = [(Encoding.OPUS, "ogg"), (Encoding.WEBM, "webm")]


async def outputs_of(encoding, items):
    async with aclosing(decoded(RecognizeConfig(encoding, start_us=7), stream(items))) as outputs:
        return [item async for item in outputs]


def seconds(outputs):
    return sum(len(item.data) for item in outputs if isinstance(item, AudioChunk)) / 4 / 48_000


@pytest.mark.parametrize(("encoding", "container"), FORMATS)
@pytest.mark.parametrize("size", [7, 400, 100_000])
async def test_a_stream_may_be_cut_anywhere(encoding, container, size):
    """All of it comes out, with stamps that follow each other."""
    outputs = await outputs_of(encoding, file_chunks(encoded(sound(2, 48_000), container, "libopus"), size))
    assert seconds(outputs) == pytest.approx(2.0, abs=0.05)
    position = 0
    for chunk in outputs:
        assert chunk.pts_us == 7 + position * 1_000_000 // 48_000
        position += len(chunk.data) // 4


@pytest.mark.parametrize(("encoding", "container"), FORMATS)
async def test_a_flush_comes_after_the_audio_before_it(encoding, container):
    """Only what FFmpeg holds back, less than a quarter of a second, may come after it."""
    data = file_chunks(encoded(sound(4, 48_000), container, "libopus"), 500)
    half = len(data) // 2
    outputs = await outputs_of(encoding, [*data[:half], Flush("m"), *data[half:]])
    before = outputs[: outputs.index(Flush("m"))]
    assert seconds(outputs) == pytest.approx(4.0, abs=0.05)
    assert seconds(before) > 1.5


@pytest.mark.parametrize(("encoding", "container"), FORMATS)
async def test_a_stream_that_breaks_off_is_no_error(encoding, container):
    """A client may vanish at any byte."""
    data = encoded(sound(6, 48_000), container, "libopus")
    assert 1.5 < seconds(await outputs_of(encoding, file_chunks(data[: len(data) // 2], 300))) < 4.0


@pytest.mark.parametrize("encoding", [Encoding.OPUS, Encoding.WEBM])
@pytest.mark.parametrize("data", [b"no container at all", bytes(50_000)])
async def test_other_bytes_are_unsupported(encoding, data):
    """The error says what was expected."""
    with pytest.raises(UnsupportedMedia, match=encoding.value):
        await outputs_of(encoding, file_chunks(data, 1_000))


async def test_a_stream_without_a_byte_is_silent():
    """Nothing came, so nothing is wrong."""
    assert await outputs_of(Encoding.WEBM, []) == []


async def test_closing_ends_the_thread():
    """A reader that goes away leaves nothing running."""
    data = file_chunks(encoded(sound(2, 48_000), "webm", "libopus"), 300)
    async with aclosing(decoded(RecognizeConfig(Encoding.WEBM), stream(data))) as outputs:
        await anext(outputs)
    for thread in threading.enumerate():
        if thread.name == "asr.container":
            thread.join(10)
            assert not thread.is_alive()


@pytest.mark.parametrize(("encoding", "container"), FORMATS)
async def test_decoded_audio_that_nobody_takes_is_bounded(encoding, container):
    """The thread waits, so an hour of a small file is not held as samples; nothing of it is lost."""
    waiting = _ContainerStream(RecognizeConfig(encoding), asyncio.get_running_loop())
    waiting.start()
    async with asyncio.TaskGroup() as group:
        group.create_task(waiting.feed(stream(file_chunks(encoded(sound(10, 48_000), container, "libopus")))))
        await full(waiting)
        for _ in range(100):
            await asyncio.sleep(0.001)
            assert waiting._decoded.qsize() == DECODED_WAITING
        outputs = [item async for item in taken(waiting)]
    assert seconds(outputs) == pytest.approx(10.0, abs=0.05)


async def full(waiting):
    """Wait until as much is decoded as may wait."""
    for _ in range(10_000):
        if waiting._decoded.qsize() >= DECODED_WAITING:
            return
        await asyncio.sleep(0.001)


async def taken(waiting):
    """Take all that a stream decodes."""
    while (item := await waiting.take()) is not None:
        yield item


async def test_a_storm_of_flushes_waits_at_the_door():
    """A flush takes room like audio does, while nobody takes what was decoded."""
    read = 0

    async def storm():
        nonlocal read
        for _ in range(10_000):
            read += 1
            yield Flush("m")

    async with aclosing(decoded(RecognizeConfig(Encoding.WEBM), storm())) as outputs:
        await anext(outputs)
        for _ in range(100):
            await asyncio.sleep(0.001)
        assert read <= DECODED_WAITING + PIECES_WAITING + 5


async def test_closing_ends_a_thread_that_waits_to_be_heard():
    """A reader that goes away while much is decoded leaves nothing running."""
    waiting = _ContainerStream(RecognizeConfig(Encoding.WEBM), asyncio.get_running_loop())
    waiting.start()
    feeding = asyncio.create_task(waiting.feed(stream(file_chunks(encoded(sound(10, 48_000), "webm", "libopus")))))
    await full(waiting)
    waiting.close()
    await feeding
    for thread in threading.enumerate():
        if thread.name == "asr.container":
            await asyncio.to_thread(thread.join, 10)
            assert not thread.is_alive()


@settings(deadline=None, max_examples=20)
@given(st.binary(max_size=2_000))
async def test_no_bytes_crash_the_decoder(data):
    """Garbage ends in the typed error, or in nothing."""
    with suppress(UnsupportedMedia):
        await outputs_of(Encoding.WEBM, file_chunks(data, 100))

"""What holds for every port, and that a port and its gRPC client answer alike."""

import asyncio
import dataclasses
import io
import itertools
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from importlib.resources import files
from typing import Any

import grpc
import numpy as np
import pytest
from PIL import Image as Picture

from attune.v1 import aligner_pb2_grpc
from services.common.errors import AttuneError, DeadlineExceeded, InvalidInput, UnsupportedMedia
from services.common.grpc_client import open_channel
from services.common.grpc_server import PRIORITY_KEY, open_server
from services.common.ports import Call, Priority
from services.common.types import (
    AlignConfig,
    Alignment,
    AudioChunk,
    Committed,
    Coverage,
    EncodeConfig,
    EncodedFrame,
    Encoding,
    FailedFrame,
    Flush,
    FrameTokens,
    Image,
    Marker,
    Progress,
    RecognizeConfig,
    RegionTokenHandle,
    SpokenWord,
    StageTiming,
    Word,
    Words,
)
from tests.contract.conftest import KINDS, given, open_pair, outputs

LIVE = RecognizeConfig(Encoding.PCM_S16LE, 16_000, 1)
FILE = RecognizeConfig(Encoding.FILE)
SPEECH = files("moonshine_voice").joinpath("assets", "beckett.wav").read_bytes()
NAMES = sorted(KINDS)


def comparable(value: Any) -> Any:
    """Return a value with timings left out and floats rounded to what float32 keeps."""
    if isinstance(value, StageTiming):
        return None
    if isinstance(value, float):
        return round(value, 5)
    if isinstance(value, tuple):
        return tuple(comparable(item) for item in value)
    if dataclasses.is_dataclass(value):
        return type(value), tuple(comparable(getattr(value, f.name)) for f in dataclasses.fields(value))
    return value


def picture(colour: str = "red", size: tuple[int, int] = (320, 240)) -> bytes:
    """Return a PNG of one colour."""
    out = io.BytesIO()
    Picture.new("RGB", size, colour).save(out, "PNG")
    return out.getvalue()


def tone(seconds: float) -> bytes:
    """Return a 200 Hz tone as 16 kHz PCM: sound for the fake, no speech for the real model."""
    t = np.arange(int(seconds * 16_000)) / 16_000
    return (np.sin(2 * np.pi * 200 * t) * 8000).astype("<i2").tobytes()


def inputs_of(name: str) -> list[Any]:
    """Return a whole, small conversation for a port."""
    if name == "asr":
        return [
            FILE,
            *(AudioChunk(i + 1, 0, SPEECH[i * 65536 : (i + 1) * 65536]) for i in range(-(-len(SPEECH) // 65536))),
        ]
    if name == "vision":
        return [EncodeConfig(), Image("a", 0, picture("red")), Image("b", 1_000_000, picture("blue", (300, 500)))]
    return [AlignConfig()]


@pytest.mark.parametrize("name", NAMES)
async def test_direct_and_grpc_give_equal_results(name: str, model_of: Callable[[str], str]):
    """The same inputs bring the same outputs, whichever way they go."""
    async with open_pair(name, model_of(name)) as pair:
        items = inputs_of(name)
        if name == "aligner":
            items += await aligner_items(model_of("vision"))
        ports = [port for _, port in pair.all()] + ([pair.whole] if pair.whole else [])
        direct, *remote = [await outputs(port, *items) for port in ports]
    assert direct
    for answers in remote:
        assert sorted(map(comparable, direct), key=repr) == sorted(map(comparable, answers), key=repr)


async def test_errors_cross_a_whole_call_as_they_cross_a_stream():
    """A refusal and a deadline are the table's on both ways."""
    async with open_pair("vision", "fake") as pair:
        assert pair.whole is not None
        for port in (pair.grpc, pair.whole):
            with pytest.raises(InvalidInput):
                await outputs(port, Image("f1", 0, b"x"))
            with pytest.raises(DeadlineExceeded):
                await outputs(port, *inputs_of("vision"), call=Call().within(0.0))


async def aligner_items(vision_model: str) -> list[Any]:
    """Return frames as the vision port makes them, and words about one of them."""
    async with open_pair("vision", vision_model) as vision:
        seen = await outputs(vision.direct, *inputs_of("vision"))
    frames = [FrameTokens(f.id, f.pts_us, f.tokens) for f in sorted(seen, key=lambda f: f.id)]
    spoken = [
        SpokenWord(i + 1, text, i * 300_000, i * 300_000 + 250_000)
        for i, text in enumerate(["a", "red", "strawberry."])
    ]
    return [frames[0], Words(tuple(spoken)), Progress(900_000), frames[1], Flush("m")]


@pytest.mark.parametrize("name", NAMES)
async def test_the_first_input_must_be_the_configuration(name: str):
    """Anything else first is InvalidInput."""
    first = {"asr": AudioChunk(1, 0, b""), "vision": Image("a", 0, b"x"), "aligner": Progress(1)}[name]
    async with open_pair(name, "fake") as pair:
        for _, port in pair.all():
            with pytest.raises(InvalidInput):
                await outputs(port, first)


@pytest.mark.parametrize("name", NAMES)
async def test_an_unknown_model_is_named(name: str, model_of: Callable[[str], str]):
    """A model that is not there is InvalidInput with the parameter's name."""
    config = {
        "asr": dataclasses.replace(LIVE, model="nope"),
        "vision": EncodeConfig("nope"),
        "aligner": AlignConfig("nope"),
    }
    async with open_pair(name, model_of(name)) as pair:
        for _, port in pair.all():
            with pytest.raises(InvalidInput) as caught:
                await outputs(port, config[name])
            assert caught.value.param == "model"


@pytest.mark.parametrize("name", NAMES)
async def test_the_deadline_ends_a_call(name: str):
    """A call whose inputs never end is DeadlineExceeded when its time is up (through gRPC, which carries it)."""

    async def endless() -> AsyncIterator[Any]:
        yield {"asr": LIVE, "vision": EncodeConfig(), "aligner": AlignConfig()}[name]
        await asyncio.Event().wait()

    async with open_pair(name, "fake") as pair:
        with pytest.raises(DeadlineExceeded):
            _ = [o async for o in pair.grpc(endless(), Call().within(0.3))]


@pytest.mark.parametrize("name", NAMES)
async def test_a_caller_that_leaves_frees_the_port(name: str):
    """After a hundred hang-ups the next call is answered as the first was."""
    config = {"asr": LIVE, "vision": EncodeConfig(), "aligner": AlignConfig()}[name]

    async def open_ended() -> AsyncIterator[Any]:
        yield config
        await asyncio.Event().wait()

    async with open_pair(name, "fake") as pair:
        before = [comparable(o) for o in await outputs(pair.grpc, config)]
        for _ in range(100):
            call = pair.grpc(open_ended(), Call())
            reading = asyncio.ensure_future(anext(call, None))
            await asyncio.sleep(0)
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
            await call.aclose()
        assert [comparable(o) for o in await outputs(pair.grpc, config)] == before


async def test_committed_words_are_in_order_and_coverage_sums(model_of: Callable[[str], str]):
    """Times are monotone, confidences are probabilities, and coverage adds up to the duration."""
    async with open_pair("asr", model_of("asr")) as pair:
        for _, port in pair.all():
            events = await outputs(port, *inputs_of("asr"))
            words: list[Word] = [word for event in events if isinstance(event, Committed) for word in event.words]
            assert words
            assert all(a.end_us <= b.start_us for a, b in itertools.pairwise(words))
            assert all(word.start_us <= word.end_us and 0 <= word.confidence <= 1 for word in words)
            coverage = events[-1]
            assert isinstance(coverage, Coverage)
            dropped_us = sum(d.end_us - d.start_us for d in coverage.dropped)
            assert coverage.transcribed_us + coverage.silent_us + dropped_us == coverage.duration_us


async def test_a_flush_is_answered_and_the_stream_goes_on(model_of: Callable[[str], str]):
    """The marker comes back after everything before it is settled; audio after it is taken."""
    async with open_pair("asr", model_of("asr")) as pair:
        sound = tone(1.0)
        for _, port in pair.all():
            events = await outputs(port, LIVE, AudioChunk(1, 0, sound), Flush("m"), AudioChunk(2, 1_000_000, sound))
            assert Marker("m") in events
            assert isinstance(events[-1], Coverage)
            assert events[-1].duration_us == 2_000_000


async def test_a_gap_in_time_is_dropped_audio(model_of: Callable[[str], str]):
    """Time that no audio came for stands in the coverage as dropped, with its reason."""
    async with open_pair("asr", model_of("asr")) as pair:
        for _, port in pair.all():
            sound = tone(0.5)
            events = await outputs(port, LIVE, AudioChunk(1, 0, sound), AudioChunk(2, 2_000_000, sound))
            coverage = events[-1]
            assert (coverage.duration_us, len(coverage.dropped)) == (2_500_000, 1)
            assert (coverage.dropped[0].start_us, coverage.dropped[0].end_us) == (500_000, 2_000_000)


@pytest.mark.parametrize(
    ("config", "param"),
    [
        (RecognizeConfig(Encoding.PCM_S16LE, 0, 1), "sample_rate_hz"),
        (RecognizeConfig(Encoding.PCM_S16LE, 16_000, 0), "channels"),
        (dataclasses.replace(LIVE, language="xx"), "language"),
        (dataclasses.replace(LIVE, temperature=1.5), "temperature"),
        (dataclasses.replace(FILE, temperature=-0.5), "temperature"),
        (dataclasses.replace(LIVE, vad_start=1.0), "vad_start"),
        (dataclasses.replace(LIVE, min_silence_ms=50), "min_silence_ms"),
    ],
)
async def test_impossible_audio_settings_are_named(config: RecognizeConfig, param: str, model_of: Callable[[str], str]):
    """A rate, a channel count or a language that cannot be is InvalidInput with its name."""
    async with open_pair("asr", model_of("asr")) as pair:
        for _, port in pair.all():
            with pytest.raises(InvalidInput) as caught:
                await outputs(port, config)
            assert caught.value.param == param


async def test_details_come_when_asked_for(model_of: Callable[[str], str]):
    """A file's words have tokens that spell them, windows say what the model made of them; unasked there is neither."""
    async with open_pair("asr", model_of("asr")) as pair:
        for _, port in pair.all():
            _, *items = inputs_of("asr")
            for details in (True, False):
                events = await outputs(port, dataclasses.replace(FILE, details=details), *items)
                windows = [event for event in events if isinstance(event, Committed)]
                assert all((window.window is not None) == details for window in windows)
                words = [word for window in windows for word in window.words]
                for word in words:
                    spelled = b"".join(token.text for token in word.tokens).decode().strip()
                    assert spelled == (word.text if details else "")
                    assert all(token.logprob <= 0 for token in word.tokens)


async def test_a_long_prompt_is_cut_and_said(model_of: Callable[[str], str]):
    """Before the configuration is taken the caller knows; a short one is told whole."""
    async with open_pair("asr", model_of("asr")) as pair:
        for _, port in pair.all():
            warned, ready, *_ = await outputs(port, dataclasses.replace(FILE, prompt="once more " * 300))
            assert (warned.code, ready.prompt_tokens, ready.language) == ("prompt_truncated", 223, "en")
            ready, *_ = await outputs(port, dataclasses.replace(LIVE, prompt="once more"))
            assert ready.prompt_tokens == 2


async def test_a_file_says_its_length_before_the_work_on_it():
    """Callers who wait as long as a file deserves know how long that is from the start."""
    async with open_pair("asr", "tiny.en") as pair:
        for _, port in pair.all():
            ready, first, *_ = await outputs(port, *inputs_of("asr"))
            assert (first.until_us, first.received_us // 1_000_000) == (0, 9), ready


async def test_a_file_that_is_no_audio_is_refused():
    """Bytes of no container are UnsupportedMedia, from the real decoder."""
    async with open_pair("asr", "tiny.en") as pair:
        for _, port in pair.all():
            with pytest.raises(UnsupportedMedia):
                await outputs(port, FILE, AudioChunk(1, 0, b"this is no sound" * 100))


async def test_one_bad_image_spoils_no_other(model_of: Callable[[str], str]):
    """Each image has its own answer; a bad one has its own error code."""
    async with open_pair("vision", model_of("vision")) as pair:
        for _, port in pair.all():
            items = [Image("good", 0, picture()), Image("bad", 0, b"no image"), Image("also good", 0, picture("blue"))]
            answers = {answer.id: answer for answer in await outputs(port, EncodeConfig(), *items)}
            assert isinstance(answers["good"], EncodedFrame)
            assert isinstance(answers["also good"], EncodedFrame)
            assert isinstance(answers["bad"], FailedFrame)
            assert answers["bad"].code == "unsupported_media"


async def test_a_phrase_finds_its_frame(model_of: Callable[[str], str]):
    """Words said while a frame is shown are aligned with it, finally and once, before the marker."""
    async with open_pair("aligner", "fake") as pair:
        items = [AlignConfig(), *await aligner_items("fake")]
        for _, port in pair.all():
            events = await outputs(port, *items)
            final = [event for event in events if isinstance(event, Alignment) and event.final]
            assert [(a.word_ids, a.frame_id) for a in final] == [((1, 2, 3), "a")]
            assert all(region.box.x0 < region.box.x1 for region in final[0].regions)
            assert events[-1] == Marker("m")


async def test_unknown_tokens_are_not_found():
    """A handle that nobody holds is an error of its own code, so that the frame is encoded again."""
    async with open_pair("aligner", "fake") as pair:
        for _, port in pair.all():
            with pytest.raises(AttuneError) as caught:
                await outputs(port, AlignConfig(), FrameTokens("f", 0, RegionTokenHandle("p", "1")))
            assert caught.value.code == "not_found"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("priority", Priority)
async def test_the_priority_of_a_call_arrives(name: str, priority: Priority):
    """Whoever waits for the answer, the port is told, directly and over a connection."""
    calls: list[Call] = []

    async def noting(inputs: AsyncIterator[Any], call: Call) -> AsyncGenerator[Any, None]:
        calls.append(call)
        async for item in inputs:
            yield item

    async with (
        open_server("127.0.0.1:0", [KINDS[name].hosted(noting)], drain_s=1) as address,
        open_channel(address) as channel,
    ):
        for port in (noting, KINDS[name].client(channel)):
            assert await outputs(port, call=Call("s", priority=priority)) == []
    assert [(call.session_id, call.priority) for call in calls] == [("s", priority)] * 2


async def test_an_unknown_priority_is_named():
    """A foreign client that sends another word than live or file is told so; one that sends none is live."""
    async with (
        open_pair("aligner", "fake") as pair,
        open_server("127.0.0.1:0", [KINDS["aligner"].hosted(pair.direct)]) as address,
        open_channel(address) as channel,
    ):
        stub = aligner_pb2_grpc.CrossModalAlignerStub(channel)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            _ = [event async for event in stub.Align(iter(()), metadata=((PRIORITY_KEY, "urgent"),))]
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert PRIORITY_KEY in str(caught.value.details())


async def test_an_error_in_the_inputs_reaches_the_caller():
    """When the caller's own stream fails, the call ends with that error, not with a cancelled call."""

    async def failing() -> AsyncIterator[Any]:
        async for item in given(EncodeConfig()):
            yield item
        raise InvalidInput("the caller's own")

    async with open_pair("vision", "fake") as pair:
        for _, port in pair.all():
            with pytest.raises(InvalidInput, match="the caller's own"):
                _ = [o async for o in port(failing(), Call())]

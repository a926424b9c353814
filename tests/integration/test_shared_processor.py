"""The three real services of one process on one core's worth of turns."""

import asyncio
import io
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import pytest
import pytest_asyncio
from PIL import Image as Picture

from services.aligner.app import open_aligner
from services.aligner.settings import AlignerSettings
from services.asr.app import open_transcriber
from services.asr.settings import AsrSettings
from services.common.ports import Aligner, Call, ImageEncoder, Priority, Transcriber
from services.common.types import (
    AlignConfig,
    AudioChunk,
    Committed,
    EncodeConfig,
    Encoding,
    FailedFrame,
    Flush,
    Image,
    RecognizeConfig,
    SpokenWord,
    Words,
)
from services.inference.profile import LoadProfile
from services.inference.scheduler import Embs
from services.inference.turns import Turns
from services.vision.app import open_image_encoder
from services.vision.settings import VisionSettings

pytestmark = pytest.mark.asyncio(loop_scope="module")

SOUNDS = files("moonshine_voice").joinpath("assets")
UPLOAD = SOUNDS.joinpath("two_cities.wav").read_bytes()  # 44 s: three windows
PCM = SOUNDS.joinpath("beckett.wav").read_bytes()[44:]  # 10 s at 16 kHz
UPLOADS = 6
AT_REST = Call(priority=Priority.FILE)


@dataclass(frozen=True)
class Process:
    """The services of a process, and the profile of their turns."""

    profile: LoadProfile
    transcriber: Transcriber
    image_encoder: ImageEncoder
    aligner: Aligner


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def process() -> AsyncGenerator[Process, None]:
    """Yield three services on a device of one thread; passes run alone, so that each upload waits for the others."""
    async with AsyncExitStack() as stack:
        profile = LoadProfile()
        turns = Turns("one core", Embs(profile), queue_size=100)
        yield Process(
            profile,
            await stack.enter_async_context(open_transcriber(AsrSettings(max_batch=1), turns)),
            await stack.enter_async_context(open_image_encoder(VisionSettings(device="cpu"), turns)),
            await stack.enter_async_context(open_aligner(AlignerSettings(device="cpu"), turns)),
        )


def photograph() -> bytes:
    """Return a JPEG of the usual size."""
    out = io.BytesIO()
    Picture.new("RGB", (448, 336), "green").save(out, "JPEG")
    return out.getvalue()


async def given(*items: Any) -> AsyncIterator[Any]:
    """Yield the items."""
    for item in items:
        yield item


class Uploads:
    """Files that are transcribed, and how many of their windows are done."""

    def __init__(self, process: Process) -> None:
        self.windows = 0
        self.begun = asyncio.Event()
        self._tasks = [asyncio.create_task(self._run(process.transcriber)) for _ in range(UPLOADS)]

    async def _run(self, transcriber: Transcriber) -> None:
        inputs = given(RecognizeConfig(Encoding.FILE), AudioChunk(1, 0, UPLOAD))
        async with aclosing(transcriber(inputs, AT_REST)) as events:
            async for event in events:
                if isinstance(event, Committed):
                    self.windows += 1
                    self.begun.set()

    async def done(self) -> None:
        await asyncio.gather(*self._tasks)


async def test_live_goes_before_files_when_the_device_is_full(process: Process):
    """A picture and a phrase that are live pass the windows of six uploads that wait; then all uploads end."""
    uploads = Uploads(process)
    await uploads.begun.wait()
    before = uploads.windows
    picture = Image("p", 0, photograph())
    frames = [frame async for frame in process.image_encoder(given(EncodeConfig(), picture), Call())]
    said = Words((SpokenWord(1, "a", 0, 1), SpokenWord(2, "castle.", 1, 2)))
    events = [event async for event in process.aligner(given(AlignConfig(), said, Flush("m")), Call())]
    passed = uploads.windows - before
    assert len(frames) == 1
    assert not isinstance(frames[0], FailedFrame)
    assert events
    # Each of the two meets what runs, and its input may be a moment late; in order of arrival it is five for each.
    assert passed < UPLOADS - 1
    await uploads.done()
    assert uploads.windows >= UPLOADS


async def test_what_ran_is_profiled_by_class_and_a_live_stream_may_be_a_file(process: Process):
    """Files, live calls, and a stream that its caller calls a file: each by its own kind, in all services."""
    stream = [RecognizeConfig(Encoding.PCM_S16LE, 16_000), AudioChunk(1, 0, PCM)]
    for call in (Call(), AT_REST):
        assert [event async for event in process.transcriber(given(*stream), call)]
        picture = Image("p", 0, photograph())
        assert [frame async for frame in process.image_encoder(given(EncodeConfig(), picture), call)]
        said = Words((SpokenWord(1, "castle.", 0, 1),))
        assert [event async for event in process.aligner(given(AlignConfig(), said), call)]
    loads = process.profile.loads(time.monotonic() + 1)
    for kind in (f"{name}.{priority}" for name in ("asr", "vision", "aligner.read") for priority in Priority):
        assert loads[kind].s_per_unit > 0, kind
        assert loads[kind].bandwidth > 0, kind

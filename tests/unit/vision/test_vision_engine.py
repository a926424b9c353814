"""The image encoder as a port: order, limits, failures, and callers that leave."""

import asyncio
from contextlib import aclosing

import numpy as np
import pytest

from services.common.deadlines import Deadline
from services.common.errors import InvalidInput, Overloaded
from services.common.ports import Call, Priority
from services.common.types import EncodeConfig, EncodedFrame, FailedFrame, Image, StageTiming
from services.inference.arena import Arena, set_arena_here
from services.inference.handoff import Handoff
from services.inference.worker import Timed
from services.vision.decode import DecodeLimits
from services.vision.decoders import Decoders
from services.vision.encoding import Network
from services.vision.engine import EncoderLimits, GridImageEncoder
from services.vision.frame import Features
from tests.unit.vision.files import encoded, plain

NAMES = ("dark", "bright")
GOOD = encoded(plain((64, 64), "white"))
IN_WORK = 3
SLOTS = 2 * IN_WORK
NO_DEADLINE = Call()


class BrightnessModel:
    """Knows dark from bright."""

    def __init__(self):
        self.encoded = 0
        self.poisoned = False

    def encode(self, pixels):
        self.encoded += len(pixels)
        if self.poisoned:
            raise RuntimeError("out of memory")
        return [self.features(float(image.mean() / 255)) for image in pixels]

    def features(self, bright):
        pooled = np.array([1 - bright, bright], np.float16)
        return Features(np.tile(pooled, (2, 2, 1)), pooled, np.array([bright], np.float32), device_us=5)


class InlineDecoders:
    """Runs decoders' jobs at once, or when the gate opens; counts those begun."""

    def __init__(self):
        self.gate = asyncio.Event()
        self.gate.set()
        self.begun = 0

    async def run(self, job, *args, using):
        with using:
            self.begun += 1
            await self.gate.wait()
            return job(*args)


class InlineBatcher:
    """Runs requests at once, each alone; refuses them when told to be full."""

    def __init__(self, run_batch):
        self.run_batch = run_batch
        self.full = False
        self.jobs = []

    async def submit(self, request, *, size, kind, deadline, job):
        self.jobs.append(job)
        if self.full:
            raise Overloaded("no room", retry_after_s=1.0)
        return Timed(self.run_batch([request])[0], StageTiming(queue_us=3, compute_us=4))


class Bench:
    """An encoder, the slots it has, and the fakes it stands on; no slot may be lost."""

    def __init__(self, arena):
        self.model, self.decoders = BrightnessModel(), InlineDecoders()
        self.handoff = Handoff(SLOTS, most_waiting=IN_WORK)
        self.batcher = InlineBatcher(Network(self.model, NAMES, self.handoff).frames)
        decoders = Decoders(self.decoders, arena, self.handoff, DecodeLimits(100_000, 448))
        self.encoder = GridImageEncoder("brightness", decoders, self.batcher, EncoderLimits(10_000, IN_WORK))

    async def answers(self, *inputs, call=NO_DEADLINE):
        async with aclosing(self.encoder(stream(inputs), call)) as outputs:
            return {answer.id: answer async for answer in outputs}


@pytest.fixture
async def bench():
    with Arena(SLOTS, 224 * 224 * 3) as arena:
        set_arena_here(arena)
        bench = Bench(arena)
        yield bench
    await turns()
    assert bench.handoff.free == SLOTS


async def stream(inputs):
    for item in inputs:
        yield item


def images(count):
    return [Image(str(number), number, GOOD) for number in range(count)]


async def turns(count=50):
    """Let all other tasks run as far as they can."""
    for _ in range(count):
        await asyncio.sleep(0)


async def test_every_image_is_answered_then_the_stream_ends(bench):
    """More images than may be in work at once all get their frame."""
    answers = await bench.answers(EncodeConfig(), *images(10))
    assert sorted(answers, key=int) == [str(number) for number in range(10)]
    frame = answers["7"]
    assert isinstance(frame, EncodedFrame)
    assert (frame.pts_us, frame.labels[0].text, frame.report.format) == (7, "bright", "PNG")
    assert (frame.timing.device_us, frame.timing.compute_us >= 4, frame.timing.queue_us >= 3) == (5, True, True)


async def test_no_images_no_answers(bench):
    """A configuration alone ends at once."""
    assert await bench.answers(EncodeConfig("brightness")) == {}


@pytest.mark.parametrize("inputs", [[], [Image("0", 0, GOOD)]])
async def test_the_configuration_comes_first(bench, inputs):
    """A stream that begins otherwise is refused."""
    with pytest.raises(InvalidInput, match="configuration"):
        await bench.answers(*inputs)


async def test_the_configuration_comes_once(bench):
    """A second configuration is an error of the stream, not a lost message."""
    with pytest.raises(InvalidInput, match="once"):
        await bench.answers(EncodeConfig(), EncodeConfig())


async def test_an_unknown_model_is_refused_by_its_parameter(bench):
    """The error says which field is wrong and what there is."""
    with pytest.raises(InvalidInput, match="brightness") as caught:
        await bench.answers(EncodeConfig("resnet"))
    assert caught.value.param == "model"


async def test_bad_images_fail_alone(bench):
    """Empty, broken, unknown and oversized files fail with their codes; their neighbours are encoded."""
    bad = {"empty": b"", "broken": GOOD[:50], "unknown": b"hello", "long": bytes(10_001)}
    bad["wide"] = encoded(plain((400, 400)))
    inputs = [Image("first", 0, GOOD), *(Image(name, 0, data) for name, data in bad.items()), Image("last", 0, GOOD)]
    answers = await bench.answers(EncodeConfig(), *inputs)
    codes = {name: answer.code for name, answer in answers.items() if isinstance(answer, FailedFrame)}
    assert codes == {
        "empty": "invalid_input",
        "broken": "invalid_input",
        "unknown": "unsupported_media",
        "long": "too_large",
        "wide": "too_large",
    }
    assert bench.model.encoded == 2


async def test_a_full_queue_fails_the_image_not_the_stream(bench):
    """An image for which there is no room is answered as overloaded."""
    bench.batcher.full = True
    answers = await bench.answers(EncodeConfig(), *images(1))
    assert answers["0"].code == "overloaded"


async def test_a_model_that_fails_fails_the_image_not_the_stream(bench):
    """What could not be encoded is answered as an internal error, and its slot serves again."""
    bench.model.poisoned = True
    answers = await bench.answers(EncodeConfig(), *images(3 * SLOTS))
    assert {answer.code for answer in answers.values()} == {"internal"}
    bench.model.poisoned = False
    assert isinstance((await bench.answers(EncodeConfig(), *images(1)))["0"], EncodedFrame)


async def test_more_streams_than_slots_wait_and_then_are_refused(bench):
    """Two streams fill all slots, a third one's images wait for them, a fourth one's are overloaded."""
    bench.decoders.gate.clear()
    streams = [asyncio.create_task(bench.answers(EncodeConfig(), *images(IN_WORK))) for _ in range(4)]
    await turns()
    assert (bench.decoders.begun, bench.handoff.free) == (SLOTS, 0)
    bench.decoders.gate.set()
    kinds = [
        {getattr(answer, "code", "encoded") for answer in answers.values()}
        for answers in await asyncio.gather(*streams)
    ]
    assert kinds == [{"encoded"}] * 3 + [{"overloaded"}]


async def test_images_are_queued_by_the_priority_of_their_call(bench):
    """Those of a file as files, all others as live."""
    for call in (Call(priority=Priority.FILE), Call()):
        await bench.answers(EncodeConfig(), *images(1), call=call)
    assert [job.priority for job in bench.batcher.jobs] == [Priority.FILE, Priority.LIVE]


async def test_images_past_their_deadline_are_not_encoded(bench):
    """An answer that nobody can wait for is not worked on."""
    bench.decoders.gate.clear()
    answers = await bench.answers(EncodeConfig(), *images(2), call=Call(deadline=Deadline.after(-1)))
    assert {answer.code for answer in answers.values()} == {"deadline_exceeded"}
    assert bench.model.encoded == 0


async def test_images_are_in_work_side_by_side_and_bounded(bench):
    """As many images as allowed are decoded at once; the stream is read one further and no more."""
    bench.decoders.gate.clear()
    read = []

    async def inputs():
        yield EncodeConfig()
        for image in images(10):
            read.append(image.id)
            yield image

    async with aclosing(bench.encoder(inputs(), Call())) as outputs:
        first = asyncio.create_task(anext(outputs))
        await turns()
        assert (bench.decoders.begun, len(read)) == (IN_WORK, IN_WORK + 1)
        bench.decoders.gate.set()
        await first


async def test_a_slow_reader_holds_the_stream_back(bench):
    """Answers that nobody fetches are bounded too."""
    async with aclosing(bench.encoder(stream([EncodeConfig(), *images(100)]), Call())) as outputs:
        await anext(outputs)
        await turns(500)
        assert bench.model.encoded <= 2 * IN_WORK + 1


async def test_an_answer_does_not_wait_for_the_next_input(bench):
    """A frame comes out while the client still sends."""
    more = asyncio.Event()

    async def inputs():
        yield EncodeConfig()
        yield Image("0", 0, GOOD)
        await more.wait()

    async with aclosing(bench.encoder(inputs(), Call())) as outputs:
        assert (await anext(outputs)).id == "0"
        more.set()
        assert [answer async for answer in outputs] == []


async def test_inputs_that_fail_fail_the_stream_with_their_own_error(bench):
    """The error of the input stream is the error of the port, not a group of errors."""

    async def inputs():
        yield EncodeConfig()
        yield Image("0", 0, GOOD)
        raise InvalidInput("a request without an item")

    with pytest.raises(InvalidInput, match="without an item"):
        async for _ in bench.encoder(inputs(), Call()):
            pass


async def test_a_caller_that_closes_the_stream_costs_no_device_time(bench):
    """Images that were being decoded when the caller left are not encoded."""
    outputs = bench.encoder(stream([EncodeConfig(), Image("0", 0, GOOD), *images(5)]), Call())
    await anext(outputs)
    bench.decoders.gate.clear()
    encoded_before = bench.model.encoded
    await outputs.aclose()
    bench.decoders.gate.set()
    await turns()
    assert bench.model.encoded == encoded_before


async def test_a_cancelled_caller_leaves_nothing_behind(bench):
    """Cancelling the task that reads ends every task of the stream."""
    bench.decoders.gate.clear()
    before = asyncio.all_tasks()
    reader = asyncio.create_task(bench.answers(EncodeConfig(), *images(5)))
    await turns()
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    assert asyncio.all_tasks() == before
    assert bench.model.encoded == 0

"""Decoders are killed at random while images stream through: each is answered once and rightly, and no slot is lost."""

import asyncio
import os
import random
import signal
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, aclosing
from io import BytesIO

import numpy as np
import psutil
from numpy.typing import NDArray
from PIL import Image as Picture

from services.common.ports import Call
from services.common.types import EncodeConfig, FailedFrame, Image, VisionInput
from services.inference.arena import Arena
from services.inference.batching import Batcher
from services.inference.handoff import Handoff
from services.inference.lanes import BatchSettings
from services.inference.processes import Processes
from services.vision.decode import DecodeLimits, decode_image
from services.vision.decoders import Decoders
from services.vision.encoding import Network
from services.vision.engine import EncoderLimits, GridImageEncoder
from services.vision.frame import Features
from services.vision.sizing import most_pixels
from tests.running import eventually

IMAGES, SLOTS, DECODERS, BATCH, STREAMS = 100, 6, 2, 4, 2
LIMITS = DecodeLimits(max_pixels=1_000_000, max_side_px=448)
CLASSES = tuple(str(number) for number in range(2))


class ColourModel:
    """Tells the one colour that a picture has all over; a torn one has several."""

    def __init__(self) -> None:
        self.batches: list[int] = []

    def encode(self, pixels: Sequence[NDArray[np.uint8]]) -> list[Features]:
        self.batches.append(len(pixels))
        return [self.colour(image) for image in pixels]

    def colour(self, image: NDArray[np.uint8]) -> Features:
        low, high = image.min(axis=(0, 1)), image.max(axis=(0, 1))
        assert np.array_equal(low, high), "torn"
        pooled = np.array([0.5, 0.5], np.float16)
        return Features(pooled.reshape(1, 1, 2), pooled, low.astype(np.float32), device_us=1)


def file_of(number: int, stream: int) -> bytes:
    """Return a picture whose colour says which it is; every fourth has another shape, so batches differ."""
    file = BytesIO()
    size = (448, 320) if number % 4 else (320, 448)
    Picture.new("RGB", size, (number, stream, 77)).save(file, "PNG")
    return file.getvalue()


async def inputs(stream: int) -> AsyncIterator[VisionInput]:
    yield EncodeConfig()
    for number in range(IMAGES):
        yield Image(str(number), number, file_of(number, stream))


async def kill_decoders(seed: int, killed: list[int]) -> None:
    """Kill a decoder process now and then, at no particular moment of its work."""
    chance = random.Random(seed)
    while True:
        await asyncio.sleep(chance.uniform(0.05, 0.4))
        for child in psutil.Process().children():
            if "spawn_main" in " ".join(child.cmdline()) and chance.random() < 0.5:
                os.kill(child.pid, signal.SIGKILL)
                killed.append(child.pid)


async def answers(encoder: GridImageEncoder, stream: int, most: int = IMAGES) -> list[tuple[str, str]]:
    """Return the id of each answer, up to so many, and what it says: right, or why not."""
    said = []
    async with aclosing(encoder(inputs(stream), Call())) as outputs:
        async for answer in outputs:
            if isinstance(answer, FailedFrame):
                said.append((answer.id, answer.code))
            else:
                right = answer.embedding == (float(answer.id), float(stream), 77.0)
                said.append((answer.id, "right" if right else "wrong"))
            if len(said) == most:
                break
    return said


async def test_a_hundred_images_pass_while_decoders_are_killed() -> None:
    """Two streams of 100 pictures through 6 slots, and callers that leave: each answered once, none torn or mixed up.

    All slots are free afterwards.
    """
    model, killed = ColourModel(), list[int]()
    async with AsyncExitStack() as held:
        arena = held.enter_context(Arena(SLOTS, 3 * most_pixels(LIMITS.max_side_px)))
        processes = await held.enter_async_context(Processes("test", DECODERS, SLOTS, 30, arena=arena))
        await processes.warm_up(decode_image, file_of(0, 0), LIMITS)
        decoders = Decoders(processes, arena, Handoff(SLOTS, most_waiting=100), LIMITS)
        network = Network(model, CLASSES, decoders.handoff)
        settings = BatchSettings(max_batch=BATCH, workers=1)
        batcher = await held.enter_async_context(Batcher("test", settings, network.frames, lambda: None))
        encoder = GridImageEncoder("colour", decoders, batcher, EncoderLimits(100_000, 8))
        killing = asyncio.create_task(kill_decoders(1, killed))
        whole = (answers(encoder, stream) for stream in range(STREAMS))
        broken_off = (answers(encoder, STREAMS + stream, most=10 * stream) for stream in range(1, 4))
        said = (await asyncio.gather(*whole, *broken_off))[:STREAMS]
        killing.cancel()
        await asyncio.gather(killing, return_exceptions=True)
        await eventually(lambda: decoders.handoff.free == SLOTS)
        assert len(killed) > 3
        await asyncio.gather(*(answers(encoder, 0, most=1) for _ in range(SLOTS)))
    for of_stream in said:
        assert sorted(int(name) for name, _ in of_stream) == list(range(IMAGES))
        found = Counter(outcome for _, outcome in of_stream)
        # A file whose decoder was killed at both tries is refused; that is all that may go wrong.
        assert set(found) <= {"right", "invalid_input"}
        assert found["right"] > IMAGES // 2
    assert max(model.batches) <= BATCH

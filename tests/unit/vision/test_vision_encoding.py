"""Batches of images: which go together, how many, and who gets what."""

import asyncio
from contextlib import AsyncExitStack

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.common.types import Image, ImageReport
from services.inference.batching import Batcher
from services.inference.handoff import Handoff
from services.inference.lanes import BatchSettings
from services.vision.decode import Decoded
from services.vision.encoding import Network, Shot, batch_settings
from services.vision.frame import Features

SIDES = st.sampled_from([32, 64, 96])


class MeanModel:
    """Sees nothing but the mean of an image; notes the batches it is given, fails those with the poison in them."""

    def __init__(self, poison=None):
        self.batches = []
        self.poison = poison

    def encode(self, pixels):
        (shape,) = {image.shape for image in pixels}
        if self.poison in {image.mean() for image in pixels}:
            raise RuntimeError("out of memory")
        self.batches.append((len(pixels), shape))
        pooled = np.array([0.25, 0.75], np.float16)
        return [
            Features(np.tile(pooled, (1, 1, 1)), pooled, np.array([image.mean()], np.float32), device_us=1)
            for image in pixels
        ]


def committed(lease, number, height, width):
    pixels = np.full((height, width, 3), number, np.uint8)
    lease.commit(Decoded(pixels, ImageReport("PNG", width, height), 0))
    return Shot(Image(str(number), number, b""), lease.sequence, pixels.shape)


@given(st.lists(st.tuples(SIDES, SIDES), max_size=20))
@settings(deadline=None)
async def test_each_image_gets_its_own_frame_whatever_it_comes_with(sizes):
    """Images of any shapes at once: each caller gets its frame, and no batch mixes shapes."""
    model, handoff = MeanModel(), Handoff(20, most_waiting=0)
    network = Network(model, ("dark", "bright"), handoff)
    async with AsyncExitStack() as held:
        batcher = Batcher("test", BatchSettings(max_batch=8, workers=1), network.frames, lambda: None)
        await held.enter_async_context(batcher)
        leases = [held.enter_context(await handoff.lease()) for _ in sizes]
        shots = [
            committed(lease, number, *size) for number, (lease, size) in enumerate(zip(leases, sizes, strict=True))
        ]
        asked = (batcher.submit(one, size=one.size, kind=one.shape) for one in shots)
        frames = [answer.value for answer in await asyncio.gather(*asked)]
        assert handoff.free == 20
    assert [(frame.id, frame.embedding) for frame in frames] == [(str(n), (float(n),)) for n in range(len(sizes))]
    assert sum(count for count, _ in model.batches) == len(sizes)


async def test_a_batch_that_fails_is_read_again_from_its_slots():
    """One image that no network can take fails alone; the others of its batch are encoded from where they lie."""
    model, handoff = MeanModel(poison=5), Handoff(8, most_waiting=0)
    network = Network(model, ("dark", "bright"), handoff)
    async with AsyncExitStack() as held:
        batcher = Batcher("test", BatchSettings(max_batch=8, workers=1), network.frames, lambda: None)
        await held.enter_async_context(batcher)
        shots = [committed(held.enter_context(await handoff.lease()), number, 32, 32) for number in range(8)]
        asked = (batcher.submit(one, size=one.size, kind=one.shape) for one in shots)
        answers = await asyncio.gather(*asked, return_exceptions=True)
        assert handoff.free == 7  # the poisoned one's caller has not left yet
    failed = [number for number, answer in enumerate(answers) if isinstance(answer, Exception)]
    assert failed == [5]
    assert [answer.value.id for number, answer in enumerate(answers) if number != 5] == list("0123467")
    assert handoff.free == 8


@pytest.mark.parametrize(
    ("device", "side_px", "expected"),
    [
        ("cpu", 448, (1, 3)),
        ("cuda", 448, (32, 1)),
        ("cuda", 224, (32, 1)),
        ("cuda", 896, (8, 1)),
        ("cuda", 1792, (2, 1)),
    ],
)
def test_batches_fit_the_device(device, side_px, expected):
    """On CPU images never wait for each other; on CUDA one thread runs as many as usual memory takes."""
    chosen = batch_settings(device, 3, 32, side_px)
    assert (chosen.max_batch, chosen.workers) == expected


def test_the_size_is_the_area():
    """What the cost grows with."""
    assert Shot(Image("0", 0, b""), 0, (32, 64, 3)).size == 2048

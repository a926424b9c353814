"""Batches of images: which go together, how many, and who gets what."""

import asyncio

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.common.types import Image, ImageReport
from services.inference.batching import Batcher
from services.inference.lanes import BatchSettings
from services.vision.decode import Decoded
from services.vision.encoding import Network, Shot, batch_settings
from services.vision.frame import Features

SIDES = st.sampled_from([32, 64, 96])


class MeanModel:
    """Sees nothing but the mean of an image; notes the batches it is given."""

    def __init__(self):
        self.batches = []

    def encode(self, pixels):
        self.batches.append(pixels.shape)
        pooled = np.array([0.25, 0.75], np.float16)
        return [
            Features(np.tile(pooled, (1, 1, 1)), pooled, np.array([image.mean()], np.float32), device_us=1)
            for image in pixels
        ]


def shot(number, height, width):
    pixels = np.full((height, width, 3), number, np.uint8)
    return Shot(Image(str(number), number, b""), Decoded(pixels, ImageReport("PNG", width, height), 0))


@given(st.lists(st.tuples(SIDES, SIDES), max_size=20))
@settings(deadline=None)
async def test_each_image_gets_its_own_frame_whatever_it_comes_with(sizes):
    """Images of any shapes at once: each caller gets its frame, and no batch mixes shapes."""
    model = MeanModel()
    shots = [shot(number, *size) for number, size in enumerate(sizes)]
    options = BatchSettings(max_batch=8, workers=1)
    async with Batcher("test", options, Network(model, ("dark", "bright")).frames, lambda: None) as batcher:
        asked = (batcher.submit(one, size=one.size, kind=one.shape) for one in shots)
        frames = [answer.value for answer in await asyncio.gather(*asked)]
    assert [(frame.id, frame.embedding) for frame in frames] == [(str(n), (float(n),)) for n in range(len(sizes))]
    assert sum(shape[0] for shape in model.batches) == len(sizes)


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
    assert shot(0, 32, 64).size == 2048

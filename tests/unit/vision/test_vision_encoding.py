"""Batches of images: which go together, how many, and who gets what."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.common.types import Image, ImageReport
from services.vision.decode import Decoded
from services.vision.encoding import Network, Shot, batch_settings, same_shape
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
def test_each_image_gets_its_own_frame_whatever_it_is_with(sizes):
    """Frames come in the order of the images, and the network runs once for each shape."""
    model = MeanModel()
    shots = [shot(number, *size) for number, size in enumerate(sizes)]
    frames = Network(model, ("dark", "bright")).frames(shots)
    assert [(frame.id, frame.embedding) for frame in frames] == [(str(n), (float(n),)) for n in range(len(sizes))]
    assert len(model.batches) == len(set(sizes))


@given(st.lists(st.tuples(SIDES, SIDES), max_size=20))
def test_shapes_are_told_apart(shapes):
    """Every place is in one group, and a group has one shape."""
    groups = same_shape(shapes)
    assert sorted(place for group in groups for place in group) == list(range(len(shapes)))
    assert all(len({shapes[place] for place in group}) == 1 for group in groups)


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
    settings = batch_settings(device, 3, 32, side_px)
    assert (settings.max_batch, settings.workers) == expected


def test_the_size_is_the_area():
    """What the cost grows with."""
    assert shot(0, 32, 64).size == 2048

"""The fake that names colours."""

import subprocess
import sys
from contextlib import aclosing

import numpy as np
import pytest

from services.common.errors import InvalidInput
from services.common.ports import Call
from services.common.types import EncodeConfig, FailedFrame, Image
from services.vision.app import open_image_encoder
from services.vision.settings import VisionSettings
from tests.unit.vision.files import encoded, halves, plain


async def answers(*inputs):
    async def stream():
        for item in inputs:
            yield item

    async with (
        open_image_encoder(VisionSettings(model="fake")) as encoder,
        aclosing(encoder(stream(), Call())) as outputs,
    ):
        return [answer async for answer in outputs]


@pytest.mark.parametrize(("colour", "name"), [("red", "strawberry"), ("yellow", "lemon"), ("white", "ice bear")])
async def test_mean_colour_decides_the_label(colour, name):
    """The same picture always gets the same name."""
    (frame,) = await answers(EncodeConfig(), Image("one", 5, encoded(plain(colour=colour))))
    assert (frame.id, frame.pts_us, frame.labels[0].text) == ("one", 5, name)
    assert frame.regions[0].labels[0].text == name


async def test_parts_of_different_colour_are_regions():
    """Red left and blue right are two regions, and the tokens say so cell by cell."""
    (frame,) = await answers(EncodeConfig(), Image("one", 0, encoded(halves())))
    boxes = {region.labels[0].text: (region.box.x0, region.box.x1) for region in frame.regions}
    assert boxes == {"strawberry": (0.0, 0.5), "indigo bunting": (0.5, 1.0)}
    cells = np.frombuffer(frame.tokens.cells, np.float16).reshape(frame.tokens.rows, frame.tokens.cols, -1)
    assert cells.shape == (4, 4, 1000)
    assert cells.argmax(axis=2).tolist() == [[949, 949, 14, 14]] * 4


async def test_it_fails_as_the_real_one_does():
    """A bad file is a FailedFrame, a bad stream an error."""
    bad, good = await answers(EncodeConfig("fake"), Image("bad", 0, b""), Image("good", 0, encoded(plain())))
    assert isinstance(bad, FailedFrame)
    assert (bad.code, good.id) == ("invalid_input", "good")
    with pytest.raises(InvalidInput):
        await answers(EncodeConfig("efficientnet-lite0"))


def test_it_needs_no_torch():
    """Opening the fake loads nothing heavy."""
    script = """
import asyncio, sys
from services.vision.app import open_image_encoder
from services.vision.settings import VisionSettings
async def main():
    async with open_image_encoder(VisionSettings(model="fake")):
        print({"torch", "torchvision"} & set(sys.modules))
asyncio.run(main())
"""
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout == b"set()\n"

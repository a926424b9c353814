"""An image encoder that names colours, for tests of others: images in, answers that depend on mean colours out.

It decodes as the real one does and needs neither torch, weights nor processes. Opened by app for the model ``fake``.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator

import numpy as np
from numpy.typing import NDArray

from services.common.ports import Call
from services.common.types import Image, VisionEvent, VisionInput
from services.inference.imagenet import COUNT, class_names
from services.vision.decode import DecodeLimits, decode_image
from services.vision.frame import Features, failed_frame, frame_of
from services.vision.inputs import check_bytes, image_of, take_config

NAME = "fake"
GRID = 4  # cells a side
SURE = 0.9

# RGB → the ImageNet class of something that looks like it
COLOURS = {
    (220, 30, 30): 949,  # strawberry
    (240, 150, 20): 950,  # orange
    (250, 230, 60): 951,  # lemon
    (40, 160, 40): 948,  # Granny Smith
    (30, 60, 220): 14,  # indigo bunting
    (0, 0, 0): 100,  # black swan
    (255, 255, 255): 296,  # ice bear
}


class FakeImageEncoder:
    """An ImageEncoder whose label is the nearest of a few colours; answers come in the order of the images."""

    def __init__(self, limits: DecodeLimits, max_image_bytes: int) -> None:
        self._limits = limits
        self._max_image_bytes = max_image_bytes
        self._class_names = class_names()

    async def __call__(self, inputs: AsyncIterator[VisionInput], call: Call) -> AsyncGenerator[VisionEvent, None]:
        """Answer each image with an EncodedFrame or a FailedFrame."""
        await take_config(inputs, NAME)
        async for item in inputs:
            yield await asyncio.to_thread(self._answer, image_of(item))

    def _answer(self, image: Image) -> VisionEvent:
        try:
            check_bytes(image, self._max_image_bytes)
            decoded = decode_image(image.data, self._limits)
        except Exception as error:
            return failed_frame(image.id, error)
        return frame_of(image, decoded.report, colour_features(decoded.pixels), self._class_names)


def colour_features(pixels: NDArray[np.uint8]) -> Features:
    """Return one-sided probabilities for a grid of 4 x 4 cells, and the mean colour in [0, 1] as the embedding."""
    height, width, _ = pixels.shape
    trimmed = pixels[: height - height % GRID, : width - width % GRID]
    means = trimmed.reshape(GRID, height // GRID, GRID, width // GRID, 3).mean(axis=(1, 3))
    mean = means.mean(axis=(0, 1))
    return Features(_posteriors(means), _posteriors(mean), (mean / 255).astype(np.float32), device_us=0)


def _posteriors(colours: NDArray[np.float64]) -> NDArray[np.float16]:
    """Return the probabilities (..., 1000) for colours (..., 3)."""
    distances = np.linalg.norm(colours[..., None, :] - np.array(list(COLOURS)), axis=-1)
    classes = np.array(list(COLOURS.values()))[distances.argmin(axis=-1)]
    posteriors = np.full((*classes.shape, COUNT), (1 - SURE) / (COUNT - 1), np.float16)
    np.put_along_axis(posteriors, classes[..., None], SURE, axis=-1)
    return posteriors

"""Encodes decoded images together: a batch in, one frame for each out. The engine's batcher calls it on its threads."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from services.common.types import EncodedFrame, Image
from services.inference.lanes import BatchSettings
from services.vision.decode import Decoded
from services.vision.frame import Features, frame_of

# On CPU a convolution already fills its core: an image takes 38 ms alone, 49 ms among four, 60 ms among eight (448 x
# 336, one thread), and would wait for the others besides.
CPU_BATCH = 1
CUDA_BATCH = 32
USUAL_SIDE_PX = 448  # what CUDA_BATCH is for; memory grows with the square


class GridModel(Protocol):
    """A network that describes every cell of an image."""

    def encode(self, pixels: NDArray[np.uint8]) -> list[Features]:
        """Return the features of RGB images of one size, ``[images, height, width, 3]``."""


@dataclass(frozen=True, slots=True)
class Network:
    """A loaded model and the names of its classes."""

    model: GridModel
    class_names: tuple[str, ...]

    def frames(self, shots: Sequence["Shot"]) -> list[EncodedFrame]:
        """Return the frame of each shot; those of one size go through the network together."""
        features: dict[int, Features] = {}
        for places in same_shape([shot.decoded.pixels.shape for shot in shots]):
            pixels = np.stack([shots[place].decoded.pixels for place in places])
            features.update(zip(places, self.model.encode(pixels), strict=True))
        return [
            frame_of(shot.image, shot.decoded.report, features[place], self.class_names)
            for place, shot in enumerate(shots)
        ]


@dataclass(frozen=True, slots=True)
class Shot:
    """An image with its pixels: what the batcher queues."""

    image: Image
    decoded: Decoded

    @property
    def size(self) -> float:
        """Return the area in pixels, which the cost of encoding grows with."""
        height, width, _ = self.decoded.pixels.shape
        return float(height * width)


def same_shape(shapes: Sequence[tuple[int, ...]]) -> list[list[int]]:
    """Return the places of each shape, in the order in which shapes first occur."""
    places: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for place, shape in enumerate(shapes):
        places[shape].append(place)
    return list(places.values())


def batch_settings(device_type: str, workers: int, queue_size: int, max_side_px: int) -> BatchSettings:
    """Return how images are batched on a device; one thread alone may drive CUDA."""
    if device_type != "cuda":
        return BatchSettings(max_batch=CPU_BATCH, workers=workers, max_queue=queue_size)
    largest = CUDA_BATCH * USUAL_SIDE_PX**2 // max_side_px**2
    return BatchSettings(max_batch=min(CUDA_BATCH, max(1, largest)), workers=1, max_queue=queue_size)

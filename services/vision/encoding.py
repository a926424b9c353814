"""Encodes decoded images together: a batch in, one frame for each out. The engine's batcher calls it on its threads.

The decoders hand over one image at a time, this takes as many as the device likes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from services.common.types import EncodedFrame, Image
from services.inference.handoff import Handoff
from services.inference.lanes import BatchSettings
from services.vision.decode import Decoded
from services.vision.frame import Features, frame_of

# On CPU a convolution already fills its core: an image takes 38 ms alone, 49 ms among four, 60 ms among eight (448 x
# 336, one thread), and would wait for the others besides.
CPU_BATCH = 1
CUDA_BATCH = 32
# What EfficientNet-Lite0 reads and writes: its layers for each pixel, its weights for each batch.
BYTES_PER_PIXEL = 3_200
WEIGHT_BYTES = 13.6e6
USUAL_SIDE_PX = 448  # what CUDA_BATCH is for; memory grows with the square


class GridModel(Protocol):
    """A network that describes every cell of an image."""

    def encode(self, pixels: Sequence[NDArray[np.uint8]]) -> list[Features]:
        """Return the features of RGB images (height, width, 3) of one size; their memory is free again then."""


@dataclass(frozen=True, slots=True)
class Network:
    """A loaded model, the names of its classes, and the slots that its images lie in."""

    model: GridModel
    class_names: tuple[str, ...]
    handoff: Handoff[Decoded]

    def frames(self, shots: Sequence["Shot"]) -> list[EncodedFrame]:
        """Return the frame of each shot; all are of one shape. A failure leaves the images in their slots."""
        # Held to the end, not only until the device has its copy: a batch that fails is run again in halves.
        with self.handoff.taking([shot.sequence for shot in shots]) as entries:
            features = self.model.encode([entry.value.pixels for entry in entries])
            reports = [entry.value.report for entry in entries]
        return [
            frame_of(shot.image, report, seen, self.class_names)
            for shot, report, seen in zip(shots, reports, features, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class Shot:
    """An image and the use of a slot that has its pixels: what the batcher queues. A batch is of one ``shape``."""

    image: Image
    sequence: int
    shape: tuple[int, ...]

    @property
    def size(self) -> float:
        """Return the area in pixels, which the cost of encoding grows with."""
        height, width, _ = self.shape
        return float(height * width)


def moved_bytes(shots: Sequence[Shot], frames: Sequence[object]) -> float:
    """Return the bytes of memory that encoding these shots moves."""
    return WEIGHT_BYTES + BYTES_PER_PIXEL * sum(shot.size for shot in shots)


def batch_settings(device_type: str, workers: int, queue_size: int, max_side_px: int) -> BatchSettings:
    """Return how images are batched on a device; one thread alone may drive CUDA."""
    if device_type != "cuda":
        return BatchSettings(max_batch=CPU_BATCH, workers=workers, max_queue=queue_size)
    largest = CUDA_BATCH * USUAL_SIDE_PX**2 // max_side_px**2
    return BatchSettings(max_batch=min(CUDA_BATCH, max(1, largest)), workers=1, max_queue=queue_size)

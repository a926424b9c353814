"""Puts an answer together: the network's numbers and the decoder's report in, an EncodedFrame out.

Called by the engine on the worker's thread and by the fake.
"""

from dataclasses import dataclass

import numpy as np
import structlog
from numpy.typing import NDArray

from services.common.errors import shown
from services.common.types import (
    EncodedFrame,
    FailedFrame,
    Image,
    ImageReport,
    Label,
    Region,
    RegionTokens,
    StageTiming,
)
from services.inference.imagenet import SPACE
from services.vision.regions import group_cells

MOST_LABELS = 5

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Features:
    """What a network saw, and the time its device took.

    ``cells`` (rows, cols, classes) and ``pooled`` (classes) are probabilities, ``embedding`` is of the whole image.
    """

    cells: NDArray[np.float16]
    pooled: NDArray[np.float16]
    embedding: NDArray[np.float32]
    device_us: int


def frame_of(image: Image, report: ImageReport, features: Features, names: tuple[str, ...]) -> EncodedFrame:
    """Return the answer for ``image``; ``names`` are the classes' names in the order of the probabilities."""
    groups = group_cells(features.cells.astype(np.float32))
    return EncodedFrame(
        id=image.id,
        pts_us=image.pts_us,
        labels=top_labels(features.pooled, names),
        regions=tuple(Region(group.box, top_labels(group.posterior, names)) for group in groups),
        embedding=tuple(features.embedding.tolist()),
        tokens=_tokens(features),
        report=report,
        timing=StageTiming(device_us=features.device_us),
    )


def top_labels(posterior: NDArray[np.floating], names: tuple[str, ...]) -> tuple[Label, ...]:
    """Return the five most probable classes, the best first."""
    best = np.argsort(posterior)[::-1][:MOST_LABELS]
    return tuple(Label(names[index], float(posterior[index])) for index in best)


def _tokens(features: Features) -> RegionTokens:
    rows, cols, dim = features.cells.shape
    return RegionTokens(SPACE, rows, cols, dim, features.cells.tobytes(), features.pooled.tobytes())


def failed_frame(image_id: str, error: Exception) -> FailedFrame:
    """Return the answer for an image that ``error`` befell; one that is not of the error table is logged."""
    seen = shown(error)
    if seen.code == "internal":
        log.error("image_failed", image_id=image_id, exc_info=error)
    return FailedFrame(image_id, seen.code, seen.message)

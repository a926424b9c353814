"""Boxes around the cells of a frame that carry a phrase. Pure numpy; ``judge`` calls it."""

import numpy as np
import numpy.typing as npt

from services.aligner.scorer import HeatMap
from services.common.types import Box, ScoredRegion

# A cell belongs to a region when it has this share of the best one's score. On the calibration half's collages lower
# shares reach into the neighbour picture, higher ones cover less of the right one.
NEAR_BEST = 0.45
MAX_REGIONS = 4

Labels = npt.NDArray[np.int64]


def regions_of(heat: HeatMap) -> tuple[ScoredRegion, ...]:
    """Return the boxes of the connected cells near the best one, best first; ``heat`` is ``[rows, cols]`` in [0, 1].

    There is always one: the best cell's. A box inside a better one says nothing new and is left out.
    """
    smooth = smoothed(heat)
    labels = connected(smooth >= NEAR_BEST * smooth.max())
    regions: list[ScoredRegion] = []
    for label in sorted(np.unique(labels[labels >= 0]), key=lambda label: -smooth[labels == label].max()):
        region = _region(smooth, labels == label)
        if not any(_inside(region.box, better.box) for better in regions):
            regions.append(region)
    return tuple(regions[:MAX_REGIONS])


def smoothed(heat: HeatMap) -> HeatMap:
    """Return each cell's mean with its neighbours inside the frame, so that one stray cell does not win."""
    total = _sum_of_neighbours(heat)
    return (total / _sum_of_neighbours(np.ones_like(heat))).astype(np.float32)


def _sum_of_neighbours(values: HeatMap) -> HeatMap:
    padded = np.pad(values, 1)
    total: HeatMap = np.lib.stride_tricks.sliding_window_view(padded, (3, 3)).sum(axis=(2, 3), dtype=np.float32)
    return total


def connected(mask: npt.NDArray[np.bool_]) -> Labels:
    """Return one number per group of cells that touch by a side; -1 outside the mask."""
    labels = np.where(mask, np.arange(mask.size).reshape(mask.shape), -1)
    while True:
        padded = np.pad(labels, 1, constant_values=-1)
        sides = (padded[:-2, 1:-1], padded[2:, 1:-1], padded[1:-1, :-2], padded[1:-1, 2:])
        grown = np.where(mask, np.maximum.reduce((labels, *sides)), -1)
        if np.array_equal(grown, labels):
            return labels
        labels = grown


def _region(heat: HeatMap, group: npt.NDArray[np.bool_]) -> ScoredRegion:
    rows, cols = heat.shape
    ys, xs = np.nonzero(group)
    sides = (xs.min() / cols, ys.min() / rows, (xs.max() + 1) / cols, (ys.max() + 1) / rows)
    return ScoredRegion(Box(*map(float, sides)), float(np.clip(heat[group].max(), 0, 1)))


def _inside(box: Box, other: Box) -> bool:
    return other.x0 <= box.x0 and other.y0 <= box.y0 and box.x1 <= other.x1 and box.y1 <= other.y1

"""Finds what lies where in a grid of class probabilities: neighbouring cells with one top class become a region.

Called once for each encoded image, on the worker's thread.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from services.common.types import Box

FLOOR = 0.2  # a cell whose best class is less probable shows nothing in particular
MOST_REGIONS = 8

Cell = tuple[int, int]


@dataclass(frozen=True, slots=True)
class CellGroup:
    """Connected cells: their bounding box, share of the grid, and mean probability of every class."""

    box: Box
    area: float
    posterior: NDArray[np.float32]


def group_cells(cells: NDArray[np.float32], floor: float = FLOOR) -> tuple[CellGroup, ...]:
    """Return at most 8 groups of ``cells`` (rows, cols, classes), the largest and surest first.

    Cells belong together when they touch by a side, share their top class and give it at least ``floor``.
    """
    tops = np.where(cells.max(axis=2) >= floor, cells.argmax(axis=2), -1)
    groups = [_group(cells, members) for members in _connected(tops)]
    groups.sort(key=lambda group: group.area * float(group.posterior.max()), reverse=True)
    return tuple(groups[:MOST_REGIONS])


def _connected(tops: NDArray[np.int64]) -> Iterator[list[Cell]]:
    """Yield the cells of each group; -1 in ``tops`` belongs to none."""
    left = {(int(row), int(col)) for row, col in np.argwhere(tops >= 0)}
    while left:
        members = [left.pop()]
        for row, col in members:  # grows while it is walked
            for near in ((row - 1, col), (row + 1, col), (row, col - 1), (row, col + 1)):
                if near in left and tops[near] == tops[row, col]:
                    left.remove(near)
                    members.append(near)
        yield members


def _group(cells: NDArray[np.float32], members: list[Cell]) -> CellGroup:
    rows, cols = cells.shape[:2]
    at = np.array(members)
    (top, left), (bottom, right) = at.min(axis=0), at.max(axis=0) + 1
    box = Box(float(left / cols), float(top / rows), float(right / cols), float(bottom / rows))
    return CellGroup(box, len(members) / (rows * cols), cells[at[:, 0], at[:, 1]].mean(axis=0))

"""Neighbouring cells that show the same become a region."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from services.common.types import Box
from services.vision.regions import FLOOR, MOST_REGIONS, group_cells


def grid(rows, sure=0.9, classes=5):
    """Return probabilities whose top class in each cell is the digit there; a dot is a cell without any."""
    cells = np.full((len(rows), len(rows[0]), classes), 0.0, np.float32)
    for row, line in enumerate(rows):
        for col, sign in enumerate(line):
            if sign != ".":
                cells[row, col, int(sign)] = sure
    return cells


def tops(groups):
    return [int(group.posterior.argmax()) for group in groups]


def test_cells_that_touch_by_a_side_are_one_region():
    """A connected shape gets the box around it and its share of the grid."""
    (group,) = group_cells(grid(["1...", "11..", "...."]))
    assert group.box == Box(0.0, 0.0, 0.5, 2 / 3)
    assert group.area == 3 / 12


def test_cells_that_touch_by_a_corner_are_apart():
    """Diagonal neighbours do not connect, and equal classes apart are two regions."""
    assert tops(group_cells(grid(["1.", ".1"]))) == [1, 1]


def test_the_largest_and_surest_come_first():
    """Order is area times probability."""
    cells = grid(["111.2", "....2", "3...."])
    cells[cells == 0.9] = 0.5
    cells[2, 0, 3] = 1.0
    assert tops(group_cells(cells)) == [1, 2, 3]
    cells[:2, 4, 2] = 1.0
    assert tops(group_cells(cells))[0] == 2


def test_unsure_cells_belong_to_no_region():
    """Below the floor a cell shows nothing in particular."""
    assert group_cells(grid(["11", "11"], sure=FLOOR - 0.01)) == ()


@given(st.integers(1, 9), st.integers(1, 9), st.randoms(use_true_random=False))
def test_regions_are_few_inside_the_image_and_do_not_share_cells(rows, cols, random):
    """Whatever the grid: at most eight, boxes in [0, 1], areas that sum to no more than the whole."""
    signs = ["".join(random.choice("01234.") for _ in range(cols)) for _ in range(rows)]
    groups = group_cells(grid(signs))
    assert len(groups) <= MOST_REGIONS
    assert sum(group.area for group in groups) <= 1 + 1e-9
    for group in groups:
        assert 0 <= group.box.x0 < group.box.x1 <= 1
        assert 0 <= group.box.y0 < group.box.y1 <= 1
        assert str(int(group.posterior.argmax())) in "".join(signs)


@given(st.integers(2, 9), st.integers(2, 9))
def test_a_uniform_grid_is_one_region(rows, cols):
    """One class everywhere is one region of the whole image."""
    (group,) = group_cells(grid(["2" * cols] * rows))
    assert group.box == Box(0.0, 0.0, 1.0, 1.0)
    assert group.area == 1.0

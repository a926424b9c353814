"""The size at which the network sees an image."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.vision.sizing import STRIDE_PX, input_size, most_pixels

SIDES = st.integers(1, 100_000)


@given(SIDES, SIDES, st.integers(224, 1792))
def test_sides_are_whole_cells_within_the_area_of_the_longest_side(width, height, max_side):
    """Every image fits whole cells, never more than twice the long side, and about the area of its square."""
    columns, rows = input_size(width, height, max_side)
    assert columns % STRIDE_PX == rows % STRIDE_PX == 0
    assert min(columns, rows) >= STRIDE_PX
    assert max(columns, rows) <= 2 * max_side + STRIDE_PX
    assert columns * rows <= (max_side + STRIDE_PX) ** 2


@given(SIDES, SIDES, st.integers(224, 1792))
def test_every_image_fits_its_slot(width, height, max_side):
    """No image has more pixels than a slot is made for, and a slot is hardly larger than the square."""
    columns, rows = input_size(width, height, max_side)
    assert columns * rows <= most_pixels(max_side) < 1.25 * max_side**2


@given(SIDES, SIDES)
def test_turning_the_image_turns_its_size(width, height):
    """Portrait and landscape are treated alike."""
    assert input_size(width, height, 448) == input_size(height, width, 448)[::-1]


@given(st.integers(224, 2000), st.integers(224, 2000))
def test_ordinary_images_are_hardly_distorted(width, height):
    """Up to 2:1 the proportions change by less than an eighth."""
    if max(width, height) > 2 * min(width, height):
        return
    columns, rows = input_size(width, height, 448)
    assert 7 / 8 < (columns / rows) / (width / height) < 8 / 7


@pytest.mark.parametrize(
    ("size", "seen"),
    [
        ((448, 336), (448, 352)),  # not shrunk, rounded
        ((4000, 3000), (448, 352)),
        ((100, 100), (224, 224)),
        ((1, 1), (224, 224)),
        ((672, 224), (672, 224)),  # three squares in a row keep their size
        ((3000, 1000), (672, 224)),
        ((1, 1000), (32, 896)),
    ],
)
def test_known_sizes(size, seen):
    """Small images grow, large ones shrink, narrow ones keep what they can of their short side."""
    assert input_size(*size, 448) == seen

"""Which boxes carry a phrase."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from services.aligner.regions import connected, regions_of, smoothed
from services.common.types import Box

HEAT = st.tuples(st.integers(1, 12), st.integers(1, 12)).flatmap(
    lambda shape: arrays(np.float32, shape, elements=st.floats(0, 1, width=32))
)


def test_one_warm_half_is_one_box() -> None:
    """Cells that carry the phrase are merged to one box around them."""
    heat = np.zeros((4, 8), np.float32)
    heat[:, 4:] = 0.9
    (region,) = regions_of(heat)
    assert region.box == Box(0.5, 0.0, 1.0, 1.0)
    assert region.score == pytest.approx(0.9)


def test_two_warm_corners_are_two_boxes() -> None:
    """Cells that do not touch are boxes of their own, the warmer first."""
    heat = np.zeros((9, 9), np.float32)
    heat[:3, :3], heat[6:, 6:] = 0.7, 0.9
    first, second = regions_of(heat)
    assert first.score > second.score
    assert first.box.x0 > second.box.x1


def test_one_stray_cell_does_not_win() -> None:
    """A patch of warm cells beats a single hot one."""
    heat = np.zeros((9, 9), np.float32)
    heat[0, 8] = 1.0
    heat[5:, :4] = 0.8
    assert regions_of(heat)[0].box.x1 < 0.6


def test_a_frame_without_warmth_is_one_box() -> None:
    """Where no cell stands out, the whole frame is the region."""
    (region,) = regions_of(np.zeros((3, 5), np.float32))
    assert region.box == Box(0.0, 0.0, 1.0, 1.0)


@given(HEAT)
def test_there_is_always_a_region(heat: np.ndarray) -> None:
    """There is at least one box, inside the frame, with a score in [0, 1]; the best comes first."""
    regions = regions_of(heat)
    assert 1 <= len(regions) <= 4
    for region in regions:
        box = region.box
        assert 0 <= box.x0 < box.x1 <= 1
        assert 0 <= box.y0 < box.y1 <= 1
        assert 0 <= region.score <= 1
    assert [region.score for region in regions] == sorted((region.score for region in regions), reverse=True)


@given(HEAT)
def test_smoothing_stays_between_the_extremes(heat: np.ndarray) -> None:
    """A mean with the neighbours is neither above the warmest cell nor below the coldest."""
    smooth = smoothed(heat)
    assert smooth.shape == heat.shape
    assert heat.min() - 1e-5 <= smooth.min() <= smooth.max() <= heat.max() + 1e-5


def test_cells_connect_by_sides_round_corners() -> None:
    """A winding group is one, cells that touch by a corner are two."""
    winding = np.array([[1, 1, 1, 1], [0, 0, 0, 1], [1, 1, 1, 1], [1, 0, 0, 0]], bool)
    assert len(np.unique(connected(winding))) == 2
    assert len(np.unique(connected(np.eye(2, dtype=bool)))) == 3

"""Places and times in words."""

import pytest

from attune_client.events import Box
from attune_client.talk import clock_text, region_words


@pytest.mark.parametrize(
    ("box", "words"),
    [
        ((0, 0, 1, 1), "whole image"),
        ((0, 0, 0.5, 1), "left half"),
        ((0.5, 0, 1, 1), "right half"),
        ((0, 0, 1, 0.5), "top half"),
        ((0, 0.5, 1, 1), "bottom half"),
        ((0.5, 0, 1, 0.5), "top right"),
        ((0, 0.6, 0.3, 1), "bottom left"),
        ((0.3, 0.3, 0.7, 0.7), "centre"),
        ((0.3, 0.0, 0.7, 1.0), "middle"),
        ((0.4, 0.0, 0.6, 0.3), "top"),
        ((0.0, 0.4, 0.2, 0.6), "left"),
        ((0.0, 0.0, 0.1, 1.0), "left"),
    ],
)
def test_a_box_is_named_by_where_it_lies(box: Box, words: str) -> None:
    """Halves, quarters, sides, or all of it."""
    assert region_words(box) == words


@pytest.mark.parametrize(
    ("pts_us", "text"), [(0, "0:00"), (61_999_999, "1:01"), (3_600_000_000, "1:00:00"), (-5, "0:00")]
)
def test_a_time_reads_like_a_clock(pts_us: int, text: str) -> None:
    """Hours appear where there are any."""
    assert clock_text(pts_us) == text

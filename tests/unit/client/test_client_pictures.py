"""Phrases drawn on images."""

import numpy as np
import skimage.data
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from attune_client.pictures import COLOURS, MAX_WIDTH, MIN_WIDTH, PAPER, Marked, annotated, upright

CAT = Image.fromarray(skimage.data.chelsea())
LEFT = Marked("a cat", "score 0.91", ((0.0, 0.0, 0.5, 1.0),))


def colours_in(image: Image.Image) -> set[tuple[int, int, int]]:
    return {colour for _, colour in image.getcolors(2**24) or []}  # type: ignore[misc]


def test_a_box_is_drawn_where_it_lies() -> None:
    """The outline's colour is found along the edge of the left half, and nowhere in the right half."""
    sheet = annotated(CAT, "cat.png", [LEFT])
    picture = np.asarray(sheet)[: upright(CAT).height]
    found = np.argwhere((picture == COLOURS[0]).all(axis=-1))
    width = picture.shape[1]
    assert abs(found[:, 1].max() - width / 2) <= 4
    assert found[:, 1].min() <= 4


def test_each_phrase_has_its_colour() -> None:
    """On the picture and in the legend."""
    phrases = [Marked(f"phrase {n}", "", ((n / 5, 0.1, n / 5 + 0.15, 0.9),)) for n in range(4)]
    assert set(COLOURS[:4]) <= colours_in(annotated(CAT, "cat.png", phrases))


def test_without_phrases_the_picture_is_untouched() -> None:
    """The strip below says that there is no phrase."""
    sheet = annotated(CAT, "cat.png", [])
    plain = upright(CAT)
    assert sheet.crop((0, 0, *plain.size)).tobytes() == plain.tobytes()
    strip = sheet.crop((0, plain.height, *sheet.size))
    assert strip.height > 60
    assert len(colours_in(strip)) > 2  # paper, and ink in shades


def test_a_long_phrase_makes_the_legend_taller() -> None:
    """All of it is written, in as many lines as it takes."""
    short = annotated(CAT, "cat.png", [LEFT])
    long = annotated(CAT, "cat.png", [Marked("a cat " * 40, "score", LEFT.boxes)])
    assert long.height >= short.height + 90


def test_an_image_is_turned_as_its_exif_says() -> None:
    """Boxes count from the upright image's top left."""
    turned = Image.new("RGB", (800, 1200))
    turned.getexif()[0x0112] = 6
    assert upright(turned).size == (1200, 800)


def test_sizes_leave_room_for_a_legend_and_stay_handy() -> None:
    """Small images grow, large ones shrink, the shape stays."""
    assert upright(Image.new("L", (100, 50))).size == (MIN_WIDTH, MIN_WIDTH // 2)
    assert upright(Image.new("CMYK", (5000, 2500))).size == (MAX_WIDTH, MAX_WIDTH // 2)


FRACTION = st.floats(-0.5, 1.5)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(FRACTION, FRACTION, FRACTION, FRACTION), max_size=6))
def test_any_box_can_be_drawn(boxes: list[tuple[float, float, float, float]]) -> None:
    """Empty, reversed or beyond the edge: the picture is written all the same."""
    small = Image.new("RGB", (MIN_WIDTH, 100), PAPER)
    assert annotated(small, "t", [Marked("p", "n", (box,)) for box in boxes]).width == MIN_WIDTH

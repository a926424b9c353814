"""Pixels of any kind become upright 8-bit RGB."""

import numpy as np
import pytest
from PIL import Image

from services.vision.pixels import turned, upright_rgb
from tests.unit.vision.files import plain

SIZE = (64, 32)


def corner_and_notes(image):
    pixels, notes = upright_rgb(image, 1, SIZE)
    assert pixels.dtype == np.uint8
    assert pixels.shape == (32, 64, 3)
    return tuple(map(int, pixels[0, 0])), notes


@pytest.mark.parametrize(
    ("image", "corner", "notes"),
    [
        (plain(), (200, 10, 10), ()),
        (plain(mode="L", colour=70), (70, 70, 70), ()),
        (plain(mode="1", colour=1), (255, 255, 255), ()),
        (plain(mode="CMYK", colour=(0, 255, 255, 0)), (255, 0, 0), ("CMYK converted",)),
        (plain(mode="RGBA", colour=(255, 0, 0, 0)), (255, 255, 255), ("alpha composited on white",)),
        (plain(mode="RGBA", colour=(255, 0, 0, 255)), (255, 0, 0), ()),
        (plain(mode="LA", colour=(0, 128)), (127, 127, 127), ("alpha composited on white",)),
        (plain().convert("P"), (204, 0, 0), ()),
        (plain(mode="I;16", colour=40_000), (156, 156, 156), ("reduced to 8 bits per sample",)),
        (plain(mode="I", colour=40_000), (156, 156, 156), ("reduced to 8 bits per sample",)),
    ],
)
def test_each_mode_becomes_rgb_and_says_what_was_lost(image, corner, notes):
    """Colours survive, and only what changed the picture is noted."""
    assert corner_and_notes(image) == (corner, notes)


def test_a_transparent_palette_entry_becomes_white():
    """Palette transparency is alpha like any other."""
    image = plain().convert("P")
    image.info["transparency"] = image.getpixel((0, 0))
    assert corner_and_notes(image) == ((255, 255, 255), ("alpha composited on white",))


def test_float_samples_are_stretched():
    """The least float becomes black and the greatest white, whatever their range; infinities do no harm."""
    ramp = np.linspace(-3, 5, 64 * 32, dtype=np.float32).reshape(32, 64)
    ramp[0, 1] = np.nan
    pixels, _ = upright_rgb(Image.fromarray(ramp), 1, SIZE)
    assert pixels[0, 0, 0] == 0
    assert pixels[-1, -1, 0] == 255


@pytest.mark.parametrize(
    ("orientation", "corners"),
    [
        (1, "abcd"),
        (2, "badc"),
        (3, "dcba"),
        (4, "cdab"),
        (5, "acbd"),
        (6, "cadb"),
        (7, "dbca"),
        (8, "bdac"),
    ],
)
def test_every_orientation_is_turned_upright(orientation, corners):
    """The four corners end where EXIF says (top left, top right, bottom left, bottom right)."""
    grey = {"a": 0, "b": 80, "c": 160, "d": 240}
    stored = Image.fromarray(np.array([[grey["a"], grey["b"]], [grey["c"], grey["d"]]], np.uint8))
    stored = stored.resize((64, 64), Image.Resampling.NEAREST)
    pixels, _ = upright_rgb(stored, orientation, (64, 64))
    seen = [int(pixels[row, col, 0]) for row, col in ((0, 0), (0, -1), (-1, 0), (-1, -1))]
    assert seen == [grey[corner] for corner in corners]


@pytest.mark.parametrize("orientation", range(1, 9))
def test_turning_a_size_twice_gives_it_back(orientation):
    """Half of the orientations swap the sides."""
    assert turned(turned((3, 2), orientation), orientation) == (3, 2)
    assert turned((3, 2), orientation) == ((2, 3) if orientation >= 5 else (3, 2))

"""Image files for the tests of vision, made on the spot."""

from io import BytesIO
from typing import Any

import numpy as np
import skimage.data
from PIL import Image

RED = (200, 10, 10)


def encoded(image: Image.Image, format: str = "PNG", **options: Any) -> bytes:
    """Return ``image`` as a file of ``format``."""
    file = BytesIO()
    image.save(file, format, **options)
    return file.getvalue()


def plain(size: tuple[int, int] = (40, 30), colour: Any = RED, mode: str = "RGB") -> Image.Image:
    """Return an image of one colour."""
    return Image.new(mode, size, colour)


def photograph() -> Image.Image:
    """Return a real photograph of a cat, 451 x 300."""
    return Image.fromarray(skimage.data.chelsea())


def halves(left: Any = RED, right: Any = (30, 60, 220)) -> Image.Image:
    """Return an image whose halves differ."""
    pixels = np.zeros((256, 256, 3), np.uint8)
    pixels[:, :128], pixels[:, 128:] = left, right
    return Image.fromarray(pixels)


def frames(count: int) -> list[Image.Image]:
    """Return so many pictures of growing red."""
    return [plain(colour=(10 * number, 0, 0)) for number in range(count)]

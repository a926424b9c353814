"""Turns pixels of any kind into upright 8-bit RGB of a given size: a loaded Pillow image in, an array and notes out.

Called by the decoder. Alpha is laid on white, as a page shows it.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

TURNS = {  # EXIF orientation → what makes it upright
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_SIDEWAYS = (5, 6, 7, 8)
_WIDE_MODES = ("I", "I;16", "I;16B", "I;16L", "I;16N", "F")


def turned(size: tuple[int, int], orientation: int) -> tuple[int, int]:
    """Return (width, height) as EXIF ``orientation`` turns it; turning twice gives the size again."""
    return size[::-1] if orientation in _SIDEWAYS else size


def upright_rgb(
    image: Image.Image, orientation: int, size: tuple[int, int]
) -> tuple[NDArray[np.uint8], tuple[str, ...]]:
    """Return uint8 RGB (height, width, 3) of the upright ``size`` (width, height), and what had to be changed.

    The array is not writeable: who keeps it copies it to where it shall lie.
    """
    notes: list[str] = []
    even = _resizable(image, notes)
    # Resized before colours are converted and turned: the copies are small ones then.
    small = even.resize(turned(size, orientation), Image.Resampling.BICUBIC, reducing_gap=3.0)
    colour = _rgb(small, notes)
    upright = colour.transpose(TURNS[orientation]) if orientation in TURNS else colour
    return np.asarray(upright), tuple(notes)


def _resizable(image: Image.Image, notes: list[str]) -> Image.Image:
    if image.mode in _WIDE_MODES:
        notes.append("reduced to 8 bits per sample")
        return Image.fromarray(_eight_bit(np.asarray(image)))
    if image.has_transparency_data:
        return image.convert("RGBA")
    if image.mode in ("L", "RGB", "CMYK"):
        return image
    return image.convert("L" if image.mode == "1" else "RGB")


def _eight_bit(samples: NDArray[Any]) -> NDArray[np.uint8]:
    """Shift 16-bit samples down; stretch wider ones and floats, whose range no header states."""
    if samples.dtype.kind in "iu" and samples.min() >= 0 and samples.max() < 2**16:
        return (samples >> 8).astype(np.uint8)
    finite = np.nan_to_num(samples.astype(np.float32), posinf=0.0, neginf=0.0)
    low, high = float(finite.min()), float(finite.max())
    return ((finite - low) * (255.0 / max(high - low, 1e-9))).astype(np.uint8)


def _rgb(image: Image.Image, notes: list[str]) -> Image.Image:
    if image.mode == "CMYK":
        notes.append("CMYK converted")
    if image.mode == "RGBA":
        return _on_white(image, notes)
    return image.convert("RGB")


def _on_white(image: Image.Image, notes: list[str]) -> Image.Image:
    alpha = image.getchannel("A")
    if alpha.getextrema() == (255, 255):
        return image.convert("RGB")
    notes.append("alpha composited on white")
    white = Image.new("RGB", image.size, "white")
    white.paste(image, mask=alpha)
    return white

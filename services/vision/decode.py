"""Decodes one image file: bytes in, upright RGB pixels of the size to encode at and a report out.

The pixels are written straight to where they shall lie, such as a slot of shared memory. Runs in the decoder processes,
so it imports neither torch nor grpc. Limits are checked on the header, before pixels.
"""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from services.common.errors import AttuneError, InvalidInput, TooLarge, UnsupportedMedia
from services.common.types import ImageReport
from services.inference.arena import arena_here
from services.vision.formats import READABLE, format_of, gif_frame_count, has_trailing_bytes
from services.vision.pixels import turned, upright_rgb
from services.vision.sizing import input_size

# The report says what was odd; Pillow would say it on stderr, once for each process.
warnings.filterwarnings("ignore", module=r"PIL\.")

Image.init()  # Pillow's plugins, which it would load at the first file of a rarer format

_PLUGINS = {"WebP": "WEBP", "PNM": "PPM"}  # Pillow's names where they differ from ours
_ORIENTATION = 0x0112


@dataclass(frozen=True, slots=True)
class DecodeLimits:
    """The most pixels a header may announce, and the long side to shrink to."""

    max_pixels: int
    max_side_px: int


@dataclass(frozen=True, slots=True)
class Decoded:
    """Pixels as uint8 RGB (height, width, 3), what was found in the file, and the time it took."""

    pixels: NDArray[np.uint8]
    report: ImageReport
    decode_us: int


@dataclass(frozen=True, slots=True)
class InSlot:
    """What lies in a slot: pixels as uint8 RGB of ``shape`` (height, width, 3); the rest as in ``Decoded``."""

    shape: tuple[int, ...]
    report: ImageReport
    decode_us: int


# Returns the uint8 array of a shape that pixels are written to.
Room: TypeAlias = Callable[[tuple[int, ...]], NDArray[np.uint8]]


def _anywhere(shape: tuple[int, ...]) -> NDArray[np.uint8]:
    return np.empty(shape, np.uint8)


def decode_into(slot: int, data: bytes, limits: DecodeLimits) -> InSlot:
    """Decode into a slot of this process's arena; raises as ``decode_image`` does."""
    decoded = decode_image(data, limits, partial(arena_here().array, slot))
    return InSlot(decoded.pixels.shape, decoded.report, decoded.decode_us)


def decode_image(data: bytes, limits: DecodeLimits, room: Room = _anywhere) -> Decoded:
    """Decode the first picture of a file to ``room``.

    InvalidInput for an empty, broken or cut-off file, UnsupportedMedia for another format, TooLarge for a size beyond
    the limits.
    """
    started_ns = time.monotonic_ns()
    found = _readable_format(data)
    try:
        picture, report = _decode(data, found, limits)
    except AttuneError:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise TooLarge(f"the image has more than the {limits.max_pixels} pixels that are taken") from error
    except Exception as error:  # broken files make Pillow raise anything, from struct.error to KeyError
        raise InvalidInput(f"the {found} file is broken or cut off") from error
    pixels = room(picture.shape)
    pixels[...] = picture
    return Decoded(pixels, report, (time.monotonic_ns() - started_ns) // 1000)


def _readable_format(data: bytes) -> str:
    if not data:
        raise InvalidInput("the image is empty")
    found = format_of(data)
    if found in READABLE:
        return found
    what = f"this is {found}" if found else "the bytes are of no image format that is known"
    raise UnsupportedMedia(f"{what}; {', '.join(READABLE)} can be read")


def _decode(data: bytes, format: str, limits: DecodeLimits) -> tuple[NDArray[np.uint8], ImageReport]:
    with Image.open(BytesIO(data), formats=(_PLUGINS.get(format, format),)) as image:
        _check_size(image.size, limits)
        orientation = _orientation(image)
        # Pillow turns TIFF by itself, and its size is that of the upright image from the start.
        turn = 1 if format == "TIFF" else orientation
        width, height = turned(image.size, turn)
        size = input_size(width, height, limits.max_side_px)
        # JPEG decodes at a half, a quarter or an eighth for a fraction of the time and memory.
        stored_width, stored_height = turned(size, turn)
        image.draft(None, (2 * stored_width, 2 * stored_height))
        pixels, changes = upright_rgb(image, turn, size)
        notes = (*_frame_notes(image, data, format), *changes, *_tail_notes(data, format))
    return pixels, ImageReport(format, width, height, orientation, notes)


def _check_size(size: tuple[int, int], limits: DecodeLimits) -> None:
    width, height = size
    if width < 1 or height < 1:
        raise InvalidInput("the image has no pixels")
    if width * height > limits.max_pixels:
        raise TooLarge(f"the image has {width} x {height} pixels; at most {limits.max_pixels} are taken")


def _orientation(image: Image.Image) -> int:
    found = image.getexif().get(_ORIENTATION, 1)
    return found if found in range(1, 9) else 1


def _frame_notes(image: Image.Image, data: bytes, format: str) -> tuple[str, ...]:
    if format == "TIFF":  # each page costs a walk, and a small file can name a million of them
        return ("first of several pictures",) if getattr(image, "is_animated", False) else ()
    count = gif_frame_count(data) if format == "GIF" else getattr(image, "n_frames", 1)
    if count < 2:
        return ()
    return (f"first of {count} pictures" if format == "JPEG" else f"animated: first of {count} frames",)


def _tail_notes(data: bytes, format: str) -> tuple[str, ...]:
    return ("trailing bytes ignored",) if has_trailing_bytes(data, format) else ()

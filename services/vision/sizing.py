"""Says at which size the network sees an image: a width and height in, a multiple of the network's stride out.

Called by the decoder, which resizes before the pixels travel, and for the size of the slots they travel in.
"""

import math

STRIDE_PX = 32  # one cell of the last feature map
SHORT_SIDE_PX = 224  # what the network was trained on


def input_size(width: int, height: int, max_side_px: int) -> tuple[int, int]:
    """Return the (width, height) in pixels to encode an image of this size at, each a multiple of 32.

    Small images grow until their short side is 224. Large ones shrink until their long side is ``max_side_px``; a
    narrow one may stay up to twice as long, within the area of that square, because its short side would lose too much.
    """
    short, long = min(width, height), max(width, height)
    enlarged = SHORT_SIDE_PX / short
    narrow = min(enlarged, max_side_px / math.sqrt(width * height), 2 * max_side_px / long)
    scale = min(max(1.0, enlarged), max(max_side_px / long, narrow))
    return _whole_cells(width * scale), _whole_cells(height * scale)


def most_pixels(max_side_px: int) -> int:
    """Return how many pixels an image of ``input_size`` has at most, whatever its shape."""
    # Its area is within the square's before its sides, of which the longer may be twice the square's, are rounded up by
    # half a cell.
    half = STRIDE_PX // 2
    return max_side_px**2 + half * (2 * max_side_px + max_side_px // 2 + 1) + half**2


def _whole_cells(side_px: float) -> int:
    return max(1, math.floor(side_px / STRIDE_PX + 0.5)) * STRIDE_PX  # halves go up: better larger than shrunk

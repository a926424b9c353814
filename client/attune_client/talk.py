"""The talk that is streamed: its title, its length and its images; and where on an image a box lies, in words.

Shared by the live view and the report.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from attune_client.events import Box, Frame, ScoredRegion
from attune_client.media import TimedImage


@dataclass(frozen=True)
class Talk:
    """What goes in."""

    title: str
    duration_us: int
    images: tuple[TimedImage, ...]

    def image_of(self, frame: Frame | None) -> TimedImage | None:
        """Return the image that a frame was made of; the time it was stamped with says which."""
        return next((image for image in self.images if frame and image.pts_us == frame.pts_us), None)


def region_words(box: Box) -> str:
    """Return where a box lies, like ``left half``, ``top right`` or ``whole image``."""
    x0, y0, x1, y1 = box
    wide, high = x1 - x0 >= 0.7, y1 - y0 >= 0.7
    across = _third((x0 + x1) / 2, "left", "right")
    along = _third((y0 + y1) / 2, "top", "bottom")
    if wide and high:
        return "whole image"
    if high and x1 - x0 >= 0.3:
        return f"{across} half" if across else "middle"
    if wide and y1 - y0 >= 0.3:
        return f"{along} half" if along else "middle"
    return f"{along} {across}".strip() or "centre"


def _third(centre: float, low: str, high: str) -> str:
    if 0.4 <= centre <= 0.6:
        return ""
    return low if centre < 0.5 else high


def strongest(regions: Sequence[ScoredRegion]) -> ScoredRegion | None:
    """Return the region a phrase points to most."""
    return max(regions, key=lambda region: region.score, default=None)


def clock_text(pts_us: int) -> str:
    """Return a media time as ``m:ss``, or ``h:mm:ss`` from one hour on."""
    minutes, seconds = divmod(max(0, pts_us) // 1_000_000, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"

"""Files in, media in time out: audio as 16 kHz mono PCM paced like a microphone, images with the times they are shown.

Used by ``stream_files``; useful wherever recorded media is to be sent live.
"""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable, Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import av
import av.error

from attune_client.errors import AttuneError

SAMPLE_RATE_HZ = 16_000
FRAME_MS = 50
FRAME_BYTES = SAMPLE_RATE_HZ * FRAME_MS // 1000 * 2  # 1600: 50 ms of 16-bit samples
IMAGE_SUFFIXES = {".avif", ".bmp", ".gif", ".heic", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"}
TIMELINE = "timeline.json"
MAX_PTS_US = 2**53  # 285 years: up to here every JSON reader keeps a whole number whole


@dataclass(frozen=True)
class TimedImage:
    """An image file and the media time from which it is shown."""

    path: Path
    pts_us: int

    @property
    def name(self) -> str:
        """The file's name."""
        return self.path.name


class MediaClock:
    """Says how far a recording has played since ``start``, at ``speed`` times its own pace."""

    def __init__(self, speed: float = 1.0, monotonic: Callable[[], float] = time.monotonic) -> None:
        if speed <= 0:
            raise AttuneError("invalid_input", f"speed must be above 0, not {speed}", param="speed")
        self.speed = speed
        self._monotonic = monotonic
        self._start_s: float | None = None

    def start(self) -> None:
        """Begin at 0 now."""
        self._start_s = self._monotonic()

    def elapsed_us(self) -> int:
        """Return the real time since the start; 0 before it."""
        return 0 if self._start_s is None else int((self._monotonic() - self._start_s) * 1_000_000)

    def position_us(self) -> int:
        """Return the media time that has played."""
        return int(self.elapsed_us() * self.speed)

    def seconds_until(self, pts_us: int) -> float:
        """Return how long to wait until ``pts_us`` has played; 0 when it has."""
        return max(0.0, (pts_us / self.speed - self.elapsed_us()) / 1_000_000)


def read_pcm(path: Path) -> bytes:
    """Return the first audio stream of any file as 16 kHz mono 16-bit PCM; blocks while decoding.

    AttuneError ``unsupported_media`` when there is no audio in it.
    """
    try:
        with av.open(str(path)) as container:
            if not container.streams.audio:
                raise AttuneError("unsupported_media", f"{path} holds no audio", param="audio")
            return b"".join(_resampled(container.decode(audio=0)))
    except FileNotFoundError as error:
        raise AttuneError("not_found", f"there is no file {path}", param="audio") from error
    except (av.error.FFmpegError, OSError) as error:
        raise AttuneError("unsupported_media", f"cannot read audio from {path}: {error}", param="audio") from error


def _resampled(frames: Iterable[av.AudioFrame]) -> Iterable[bytes]:
    resampler = av.AudioResampler(format="s16", layout="mono", rate=SAMPLE_RATE_HZ)
    for frame in chain(frames, [None]):
        for block in resampler.resample(frame):
            yield block.to_ndarray().tobytes()


def duration_us(pcm: bytes) -> int:
    """Return how long 16 kHz mono 16-bit PCM lasts."""
    return len(pcm) // 2 * 1_000_000 // SAMPLE_RATE_HZ


async def paced(pcm: bytes, clock: MediaClock) -> AsyncGenerator[tuple[int, bytes], None]:
    """Yield ``(pts_us, 50 ms of audio)`` when a microphone would have it: at the end of those 50 ms.

    Starts ``clock``. A reader that falls behind gets what is due at once: nothing is skipped.
    """
    clock.start()
    for start in range(0, len(pcm), FRAME_BYTES):
        block = pcm[start : start + FRAME_BYTES]
        pts_us = start // 2 * 1_000_000 // SAMPLE_RATE_HZ
        await asyncio.sleep(clock.seconds_until(pts_us + duration_us(block)))
        yield pts_us, block


def images_in(directory: Path, over_us: int) -> list[TimedImage]:
    """Return the images of a directory with their times, in order.

    A ``timeline.json`` (``[{"file", "pts_us"}]``) there sets them; without one they are spread evenly, in the order of
    their names, over ``over_us``. AttuneError when the directory or a file named is missing, or there are no images.
    """
    if not directory.is_dir():
        raise AttuneError("not_found", f"there is no directory {directory}", param="images")
    timeline = directory / TIMELINE
    try:
        images = _scheduled(timeline) if timeline.exists() else _spread(directory, over_us)
    except OSError as error:
        reason = f"cannot read {error.filename or directory}: {error.strerror}"
        raise AttuneError("invalid_input", reason, param="images") from error
    if not images:
        raise AttuneError("invalid_input", f"there are no images in {directory}", param="images")
    return images


def _spread(directory: Path, over_us: int) -> list[TimedImage]:
    paths = sorted(path for path in directory.iterdir() if path.suffix.lower() in IMAGE_SUFFIXES)
    return [TimedImage(path, at * over_us // len(paths)) for at, path in enumerate(paths)]


def _scheduled(timeline: Path) -> list[TimedImage]:
    images = _entries(timeline)
    for image in images:
        if not image.path.is_file():
            raise AttuneError("not_found", f"{timeline} names {image.name}, which is not there", param="images")
    if not all(0 <= image.pts_us < MAX_PTS_US for image in images):
        raise AttuneError("invalid_input", f"{timeline} has a pts_us below 0 or beyond 2^53", param="images")
    # Answers name an image by its time, so two may not share one.
    if len({image.pts_us for image in images}) < len(images):
        raise AttuneError("invalid_input", f"{timeline} gives two images the same pts_us", param="images")
    return sorted(images, key=lambda image: image.pts_us)


def _entries(timeline: Path) -> list[TimedImage]:
    try:
        entries = json.loads(timeline.read_text(encoding="utf-8"))
        return [TimedImage(timeline.parent / entry["file"], int(entry["pts_us"])) for entry in entries]
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        reason = f'{timeline} is not a list of {{"file", "pts_us"}}: {error!r}'
        raise AttuneError("invalid_input", reason, param="images") from error

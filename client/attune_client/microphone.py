"""Audio from a microphone, where ``sounddevice`` and a device exist, in the shape ``media.paced`` gives.

Used by ``stream_microphone``.
"""

import asyncio
import importlib
from collections import deque
from collections.abc import AsyncGenerator, Callable
from typing import Any

from attune_client.errors import AttuneError
from attune_client.media import FRAME_MS, SAMPLE_RATE_HZ, MediaClock

FRAME_SAMPLES = SAMPLE_RATE_HZ * FRAME_MS // 1000  # 800
QUEUED_FRAMES = 200  # 10 s: what a stalled network may cost before audio is lost


class FrameQueue:
    """Holds the newest recorded frames with their times; when full the oldest goes, and its time stays missing."""

    def __init__(self, limit: int = QUEUED_FRAMES) -> None:
        self._frames: deque[tuple[int, bytes]] = deque(maxlen=limit)
        self._recorded = 0
        self._filled = asyncio.Event()

    def put(self, data: bytes) -> None:
        """Add one frame; call it on the event loop's thread."""
        self._frames.append((self._recorded * FRAME_MS * 1000, data))
        self._recorded += 1
        self._filled.set()

    async def get(self) -> tuple[int, bytes]:
        """Wait for the oldest frame and return it with its media time."""
        while not self._frames:
            self._filled.clear()
            await self._filled.wait()
        return self._frames.popleft()


def load_sounddevice(name: str = "sounddevice") -> Any:
    """Return the module that records; AttuneError says what is missing."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise AttuneError("unavailable", 'no microphone: install "attune[microphone]"') from error
    except OSError as error:
        raise AttuneError("unavailable", f"no microphone: {error}") from error


async def recorded(
    clock: MediaClock, load: Callable[[], Any] = load_sounddevice
) -> AsyncGenerator[tuple[int, bytes], None]:
    """Yield ``(pts_us, 50 ms of 16 kHz mono PCM)`` from the default microphone until closed; starts ``clock``."""
    sounddevice = load()
    loop, frames = asyncio.get_running_loop(), FrameQueue()

    def keep(data: Any, *_: object) -> None:
        loop.call_soon_threadsafe(frames.put, bytes(data))

    try:
        stream = sounddevice.RawInputStream(
            samplerate=SAMPLE_RATE_HZ, channels=1, dtype="int16", blocksize=FRAME_SAMPLES, callback=keep
        )
    except sounddevice.PortAudioError as error:
        raise AttuneError("unavailable", f"no microphone: {error}") from error
    with stream:
        clock.start()
        while True:
            yield await frames.get()

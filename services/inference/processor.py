"""Opens the turns on the processor that a process's services share. Called by `attune serve` and by tests."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from services.inference.fifo import Fifo
from services.inference.profile import LoadProfile, ProfileSettings
from services.inference.room import Room
from services.inference.scheduler import Embs, EmbsSettings, Policy
from services.inference.settings import SchedulerSettings
from services.inference.turns import Turns

STAGE = "cpu"
COPY_BYTES = 2**25
COPIES = 3
# Runs here are short: what is due and does not fit is not passed any more, and has its room within one or two of them.
HOLD_S = 0.0
MOST_WAITING = 4096  # as many as a service may have sessions, of which each waits for one turn


@asynccontextmanager
async def open_turns(settings: SchedulerSettings) -> AsyncGenerator[Turns | None, None]:
    """Yield the turns, with their profile kept fresh and their figures exported; None where they are off."""
    if settings.policy == "off":
        yield None
        return
    bytes_per_s = settings.cores * await asyncio.to_thread(copy_bytes_per_s)
    profile = LoadProfile(ProfileSettings(refresh_s=settings.refresh_s, bytes_per_s=bytes_per_s))
    turns = Turns(STAGE, _policy(settings, profile), MOST_WAITING, thread_share=1 / settings.cores)
    watching = asyncio.create_task(turns.watch())
    try:
        yield turns
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


def _policy(settings: SchedulerSettings, profile: LoadProfile) -> Policy:
    if settings.policy == "fifo":
        return Fifo(profile, Room(1.0))
    return Embs(profile, EmbsSettings(fill=settings.fill, stretch=settings.stretch, hold_s=HOLD_S))


def copy_bytes_per_s() -> float:
    """Return how fast one core reads and writes memory: the best of a few copies larger than most caches."""
    block = bytearray(COPY_BYTES)
    return 2 * COPY_BYTES / min(_copy_s(block) for _ in range(COPIES))


def _copy_s(block: bytearray) -> float:
    started_s = time.perf_counter()
    bytes(block)
    return time.perf_counter() - started_s

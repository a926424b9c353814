"""Watches the event loop: how late a sleeper wakes is how long something else held the loop."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from services.common.beside import beside
from services.common.metrics import LOOP_STALL_P99_SECONDS, LOOP_STALL_SECONDS

SLEEP_S = 0.01
WINDOW = 6_000  # one minute of samples
PUBLISH_EVERY = 100


async def _watch() -> None:
    late_s: deque[float] = deque(maxlen=WINDOW)
    for count in range(1, 2**62):
        due_s = time.perf_counter() + SLEEP_S
        await asyncio.sleep(SLEEP_S)
        late_s.append(max(0.0, time.perf_counter() - due_s))
        LOOP_STALL_SECONDS.observe(late_s[-1])
        if count % PUBLISH_EVERY == 0:
            LOOP_STALL_P99_SECONDS.set(sorted(late_s)[len(late_s) * 99 // 100])


@asynccontextmanager
async def watched_loop() -> AsyncGenerator[None, None]:
    """Measure stalls of the running loop while the body runs."""
    async with beside(_watch()):
        yield

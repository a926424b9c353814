"""Stores what sessions could not store before they ended: Redis may come back while their events would still be kept.

Event logs with something left in, stored events out. Called by the route that ends a session; runs beside the server.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import structlog

from services.common.beside import beside
from services.gateway.store import EventLog

RETRY_S = 1.0
MOST_EVENTS = 50_000  # of all sessions together; the oldest session goes first

log = structlog.get_logger(__name__)


class LateEvents:
    """Event logs of sessions that are over, tried again until they are stored or ``kept_s`` old."""

    def __init__(self, kept_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._kept_s = kept_s
        self._clock = clock
        self._logs: OrderedDict[EventLog, float] = OrderedDict()
        self._filled = asyncio.Event()

    def __len__(self) -> int:
        return len(self._logs)

    def take(self, event_log: EventLog) -> None:
        """Take over the log of a session that ended, or close it when there is nothing to do for it."""
        if not event_log.waiting:
            event_log.close()
            return
        self._logs[event_log] = self._clock()
        while sum(kept.waiting for kept in self._logs) > MOST_EVENTS and len(self._logs) > 1:
            self._give_up(next(iter(self._logs)))
        self._filled.set()

    async def run(self) -> None:
        """Try again and again; no end."""
        while True:
            await self._filled.wait()
            await asyncio.sleep(RETRY_S)
            await self.store()

    async def store(self) -> None:
        """Try every log once, the oldest first; the first that cannot be stored ends the round."""
        for event_log, ended_s in list(self._logs.items()):
            if await event_log.save():
                del self._logs[event_log]
                event_log.close()
            elif self._clock() - ended_s > self._kept_s:
                self._give_up(event_log)
            else:
                break
        if not self._logs:
            self._filled.clear()

    def _give_up(self, event_log: EventLog) -> None:
        log.warning("events_lost", session_id=event_log.session_id, events=event_log.waiting)
        del self._logs[event_log]
        event_log.close()


@asynccontextmanager
async def open_late_events(kept_s: float) -> AsyncGenerator[LateEvents, None]:
    """Yield the keeper, which works beside the body and tries once more when that ends."""
    late = LateEvents(kept_s)
    try:
        async with beside(late.run()):
            yield late
    finally:
        await late.store()

"""Keeps a session's numbered events in Redis, so that an ack means stored; bears Redis being away.

Used by the pipeline through one EventLog per session.
"""

import asyncio
import json
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import stamina
import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from services.common.metrics import UNDURABLE_SESSIONS
from services.gateway.session import Event
from services.gateway.settings import GatewaySettings

# Events that wait for Redis to come back; with more the session gives up on being durable.
MAX_PENDING = 10_000

log = structlog.get_logger(__name__)


class EventStore:
    """Adds events to one sorted set per session; adding an event again changes nothing."""

    def __init__(self, redis: Redis, ttl_s: int) -> None:
        self._redis = redis
        self._ttl_s = ttl_s

    @stamina.retry(on=(RedisError, OSError), attempts=2, wait_initial=0.05, timeout=1.0)
    async def add(self, session_id: str, events: Sequence[Event]) -> None:
        """Store events, all or none. RedisError or OSError when Redis does not say in time that it took them."""
        key = f"attune:session:{session_id}:events"
        async with self._redis.pipeline(transaction=True) as pipe:
            pipe.zadd(key, {json.dumps(event): event["event_no"] for event in events})
            pipe.expire(key, self._ttl_s)
            await pipe.execute()

    async def is_there(self) -> bool:
        """Say whether Redis answers."""
        try:
            return bool(await self._redis.ping())
        except (RedisError, OSError):
            return False


class EventLog:
    """One session's events on their way to the store. Without a store there is nothing to wait for."""

    def __init__(self, store: EventStore | None, session_id: str) -> None:
        self._store = store
        self.session_id = session_id
        self._pending: deque[Event] = deque(maxlen=MAX_PENDING)
        self._gap = False
        self._saving = asyncio.Lock()
        self.durable = True
        self.stored_no = 0

    def add(self, event: Event) -> None:
        """Take a numbered event; the oldest is lost, and durability with it, when too many wait."""
        self._gap = self._gap or len(self._pending) == MAX_PENDING
        self._pending.append(event)

    @property
    def waiting(self) -> int:
        """Return how many events can still be stored: none where some were lost already."""
        return 0 if self._gap else len(self._pending)

    async def save(self) -> bool:
        """Store what is pending; return whether the session is durable now."""
        async with self._saving:
            batch = list(self._pending)
            if batch:
                self._set_durable(not self._gap and await self._try_add(batch))
            if batch and self.durable and not self._gap:
                for _ in batch:
                    self._pending.popleft()
                self.stored_no = batch[-1]["event_no"]
            return self.durable

    def close(self) -> None:
        """Give back this session's part in the gauge."""
        self._set_durable(True)

    async def _try_add(self, batch: list[Event]) -> bool:
        if self._store is None:
            return True
        try:
            await self._store.add(self.session_id, batch)
        except (RedisError, OSError) as error:
            log.warning("events_not_stored", waiting=len(batch), reason=str(error))
            return False
        return True

    def _set_durable(self, durable: bool) -> None:
        if durable != self.durable:
            self.durable = durable
            UNDURABLE_SESSIONS.inc(-1 if durable else 1)


@asynccontextmanager
async def open_store(settings: GatewaySettings) -> AsyncGenerator[EventStore | None, None]:
    """Yield the store, or None without a Redis URL. Redis may be away; it is asked again for every batch."""
    if settings.redis_url is None:
        yield None
        return
    async with Redis.from_url(
        settings.redis_url.get_secret_value(), socket_timeout=1.0, socket_connect_timeout=1.0, protocol=3
    ) as redis:
        yield EventStore(redis, settings.session_ttl_s)

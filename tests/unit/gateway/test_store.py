"""Events on their way to Redis, which may be away."""

import asyncio
from collections.abc import Sequence

from redis.exceptions import ConnectionError as RedisAway

from services.gateway.session import Event
from services.gateway.store import MAX_PENDING, EventLog, EventStore


class MemoryStore(EventStore):
    """Keeps events by number, when it is there; slow enough that two savers meet."""

    def __init__(self) -> None:
        self.events: dict[int, Event] = {}
        self.calls = 0
        self.away = False

    async def add(self, session_id: str, events: Sequence[Event]) -> None:
        self.calls += len(events)
        await asyncio.sleep(0)
        if self.away:
            raise RedisAway("away")
        self.events |= {event["event_no"]: event for event in events}


def events(first: int, last: int) -> list[Event]:
    return [{"type": "x", "event_no": number} for number in range(first, last + 1)]


async def test_events_are_stored_once_by_savers_that_meet():
    """Two saves at the same time store every event once and lose none."""
    store = MemoryStore()
    log = EventLog(store, "s")
    for event in events(1, 5):
        log.add(event)
    assert await asyncio.gather(log.save(), log.save()) == [True, True]
    assert (sorted(store.events), store.calls, log.stored_no) == ([1, 2, 3, 4, 5], 5, 5)


async def test_what_waited_is_stored_when_redis_is_back():
    """While Redis is away the session is not durable; afterwards everything is stored, in order."""
    store = MemoryStore()
    log = EventLog(store, "s")
    store.away = True
    for event in events(1, 3):
        log.add(event)
    assert not await log.save()
    assert log.stored_no == 0
    store.away = False
    for event in events(4, 4):
        log.add(event)
    assert await log.save()
    assert (sorted(store.events), log.stored_no) == ([1, 2, 3, 4], 4)


async def test_a_session_that_lost_events_never_claims_to_be_durable_again():
    """With more waiting than can be kept, the oldest are lost and no later save makes up for it."""
    store = MemoryStore()
    log = EventLog(store, "s")
    for event in events(1, MAX_PENDING + 1):
        log.add(event)
    assert not await log.save()
    assert store.events == {}


async def test_without_a_store_there_is_nothing_to_wait_for():
    """Acks then only mean that the media are decided."""
    log = EventLog(None, "s")
    for event in events(1, 2):
        log.add(event)
    assert await log.save()
    assert log.stored_no == 2

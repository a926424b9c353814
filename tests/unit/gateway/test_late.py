"""Events of sessions that ended while Redis was away."""

from services.common.metrics import UNDURABLE_SESSIONS
from services.gateway import late as late_module
from services.gateway.late import LateEvents
from services.gateway.store import EventLog
from tests.unit.gateway.test_store import MemoryStore, events


class Clock:
    """A clock that stands still unless it is moved."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


async def ended(store: MemoryStore, late: LateEvents, first: int, last: int) -> None:
    log = EventLog(store, f"s{first}")
    for event in events(first, last):
        log.add(event)
    await log.save()
    late.take(log)


async def test_the_last_events_are_stored_once_redis_is_back():
    """A session that ended without Redis loses nothing, and counts as undurable until then."""
    before = UNDURABLE_SESSIONS._value.get()
    store, late = MemoryStore(), LateEvents(60.0, Clock())
    store.away = True
    await ended(store, late, 1, 3)
    await late.store()
    assert (len(late), UNDURABLE_SESSIONS._value.get()) == (1, before + 1)
    store.away = False
    await late.store()
    assert (len(late), sorted(store.events), UNDURABLE_SESSIONS._value.get()) == (0, [1, 2, 3], before)


async def test_nothing_is_kept_of_a_session_that_is_stored():
    """With Redis there the log is closed at once."""
    late = LateEvents(60.0, Clock())
    await ended(MemoryStore(), late, 1, 3)
    assert len(late) == 0


async def test_events_are_given_up_when_they_would_be_gone_anyway():
    """After the time that events are kept there is nobody to keep them for."""
    store, clock = MemoryStore(), Clock()
    late = LateEvents(60.0, clock)
    store.away = True
    await ended(store, late, 1, 3)
    clock.now = 61.0
    await late.store()
    assert len(late) == 0


async def test_what_waits_is_bounded(monkeypatch):
    """With too many events waiting, the session that ended first is given up."""
    monkeypatch.setattr(late_module, "MOST_EVENTS", 5)
    store, late = MemoryStore(), LateEvents(60.0, Clock())
    store.away = True
    for first in (1, 4, 7):
        await ended(store, late, first, first + 2)
    store.away = False
    await late.store()
    assert sorted(store.events) == [7, 8, 9]

"""What one client is told, in order: numbered events that are kept, others that are not, and acks once both hold.

Every task of a session speaks through one Teller.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

import structlog

from services.common.errors import AttuneError
from services.common.metrics import OUTAGES
from services.gateway.inbox import Inbox
from services.gateway.replay import Outage
from services.gateway.session import Ack, Event, Session
from services.gateway.store import EventLog

SAVE_EVERY_S = 0.2
OUTBOX_EVENTS = 1024  # what a slow reader may owe before the session waits for it

log = structlog.get_logger(__name__)

Sink = Callable[[Event], Awaitable[None]]


def error_event(error: AttuneError, *, fatal: bool) -> Event:
    """Return the ``error`` event; a fatal one is followed by the close."""
    event: Event = {
        "type": "error",
        "code": error.code,
        "message": error.message,
        "retryable": error.retryable,
        "fatal": fatal,
    }
    rest = {"param": error.param, "retry_after_s": error.retry_after_s}
    return event | {key: value for key, value in rest.items() if value is not None}


def _both_partials(last: Event, new: Event) -> bool:
    return bool(last["type"] == new["type"] == "transcript.partial")


class Teller:
    """The way from a session's tasks to its client."""

    def __init__(self, session: Session, event_log: EventLog) -> None:
        self.session = session
        self._event_log = event_log
        self._outbox: Inbox[Event] = Inbox(OUTBOX_EVENTS, merges=_both_partials)
        self._acked = Ack(0, 0)
        self._closing = asyncio.Event()
        self._lost: set[str] = set()

    async def emit(self, event: Event) -> None:
        """Send an event that is numbered and kept."""
        numbered = self.session.numbered(event)
        self._event_log.add(numbered)
        await self._outbox.put(numbered)

    async def pass_by(self, event: Event) -> None:
        """Send an event that is not numbered and not kept; an unread partial gives way to the next."""
        await self._outbox.put(event)

    async def warn(self, code: str, message: str) -> None:
        """Send a warning."""
        await self.pass_by({"type": "warning", "code": code, "message": message})

    async def refuse(self, error: AttuneError, *, fatal: bool = False) -> None:
        """Send an error."""
        await self.emit(error_event(error, fatal=fatal))

    def outage(self, stage: str, patience_s: float, *, from_start: bool = False) -> Outage:
        """Return how a stage's loss is borne: told once when it goes, once when it is back."""
        return Outage(patience_s, partial(self.notice, stage), from_start)

    async def notice(self, stage: str, error: AttuneError | None) -> None:
        """Tell of a stage that is lost, or of None when it is back; each only when it is news."""
        if error is not None and stage not in self._lost:
            self._lost.add(stage)
            OUTAGES.labels(stage).inc()
            log.warning("stage_lost", stage=stage, reason=error.message)
            await self.emit({"type": "degraded", "stage": stage, "level": "lost", "reason": error.message})
        elif error is None and stage in self._lost:
            self._lost.remove(stage)
            await self.emit({"type": "recovered", "stage": stage, "level": "full", "reason": f"{stage} is back"})

    async def deliver(self, sink: Sink) -> None:
        """Hand everything to ``sink`` until closed."""
        async for event in self._outbox:
            await sink(event)

    def close(self) -> None:
        """Let ``deliver`` end once everything is handed over, and the saving once everything is saved."""
        self._outbox.close()
        self._closing.set()

    async def save_and_ack_until_closed(self) -> None:
        """Keep events and send acks as they become due; the last events are kept after the close."""
        while not self._closing.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(SAVE_EVERY_S):
                    await self._closing.wait()
            await self.save_and_ack()

    async def save_and_ack(self) -> None:
        """Store what is new; then ack the media whose events are stored."""
        ack, event_no = self.session.acks.ack(), self.session.event_no
        was_durable = self._event_log.durable
        durable = await self._event_log.save()
        if was_durable and not durable:
            await self.warn("not_durable", "events cannot be stored right now: captions go on, acks wait")
        if durable and ack != self._acked and self._event_log.stored_no >= event_no:
            self._acked = ack
            await self.pass_by({"type": "ack", "audio_seq": ack.audio_seq, "image_seq": ack.image_seq})

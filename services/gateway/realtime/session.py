"""One realtime transcription session: client events in, server events out. Called by routes/realtime.py.

    client events → handle ── audio ──→ listening (transcriber) ──→ speech events ─┐
                      └── requests ─→ turns (which words are which item's) ←───────┘
                                        └→ outbox → sink
An error leaves the session open; only a recogniser that is away for good, or at the start, ends it.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable

from services.common.errors import AttuneError
from services.common.ports import Call
from services.common.types import Committed, Marker, SpeechEvent, SpeechStarted, SpeechStopped
from services.gateway.inbox import Inbox
from services.gateway.openai.errors import no_model
from services.gateway.realtime import events
from services.gateway.realtime.events import Json
from services.gateway.realtime.listening import Listening
from services.gateway.realtime.messages import Append, Clear, ClientEvent, Commit, Refused, Update
from services.gateway.realtime.options import Options, session_json, updated
from services.gateway.realtime.turns import Turns
from services.gateway.state import GatewayState
from services.gateway.telling import OUTBOX_EVENTS

Sink = Callable[[Json], Awaitable[None]]


class RealtimeSession:
    """Runs one session; ``run`` returns when it is drained, or raises what ends it."""

    def __init__(self, id: str, options: Options, state: GatewayState) -> None:
        self._id = id
        self._state = state
        self._turns = Turns(options, lambda: f"item_{secrets.token_urlsafe(12)}")
        self._outbox: Inbox[Json] = Inbox(OUTBOX_EVENTS)
        self._tasks = asyncio.TaskGroup()
        self._listening: Listening | None = None

    async def run(self, messages: AsyncIterator[ClientEvent], sink: Sink) -> None:
        """Take client events until the server drains; the first event for ``sink`` is ``session.created``."""
        async with asyncio.TaskGroup() as delivery:
            delivery.create_task(self._deliver(sink))
            try:
                async with self._tasks:
                    await self._open(self._turns.options, "session.created")
                    await self._until_drained(messages)
                    if self._listening is not None:
                        await self._listening.close()
            finally:
                self._outbox.close()

    async def _deliver(self, sink: Sink) -> None:
        async for event in self._outbox:
            await sink({"event_id": f"event_{secrets.token_urlsafe(12)}", **event})

    async def _tell(self, told: Iterable[Json]) -> None:
        for event in told:
            await self._outbox.put(event)

    async def _until_drained(self, messages: AsyncIterator[ClientEvent]) -> None:
        async with asyncio.TaskGroup() as tasks:
            taking = tasks.create_task(self._take_all(messages))
            draining = tasks.create_task(self._state.draining.wait())
            await asyncio.wait((taking, draining), return_when=asyncio.FIRST_COMPLETED)
            taking.cancel()
            draining.cancel()

    async def _take_all(self, messages: AsyncIterator[ClientEvent]) -> None:
        async for event in messages:
            try:
                await self._take(event)
            except AttuneError as error:
                await self._tell([events.error_event(error, event.event_id)])

    async def _take(self, event: ClientEvent) -> None:
        match event.message:
            case Refused(error):
                raise error
            case Update(session, older):
                await self._update(updated(self._turns.options, session, older=older))
            case Append(audio):
                listening = await self._listener()
                self._turns.now_us += len(audio) * 1_000_000 // self._turns.options.bytes_per_s
                await listening.append(audio)
            case Commit():
                told, marker = self._turns.commit()
                await self._tell(told)
                await (await self._listener()).flush(marker)
            case Clear():
                told, marker = self._turns.clear()
                await self._tell(told)
                await (await self._listener()).flush(marker)

    async def _listener(self) -> Listening:
        """Return the call that listens; a new one where the last was lost."""
        return self._listening or await self._open(self._turns.options)

    async def _update(self, options: Options) -> None:
        """Set other options; where the recogniser does not take them the old ones stay."""
        before = self._turns.options
        if self._listening is not None:
            await self._listening.close()  # what was said before is said with the old options
            self._listening = None
        try:
            await self._open(options, "transcription_session.updated" if options.older else "session.updated")
        except AttuneError:
            await self._open(before)
            raise

    async def _open(self, options: Options, then: str = "") -> Listening:
        """Open a call with these options, and tell ``then`` what is in force."""
        listening = Listening(options.config(self._turns.now_us), self._state.settings, self._hear, self._lose)
        task = self._tasks.create_task(listening.run(self._state.upstreams, Call(session_id=self._id)))
        try:
            ready = await listening.ready()
        except AttuneError as error:
            task.cancel()
            raise _named(error, options) from None
        self._turns.options, self._listening = options, listening
        if then:
            session = session_json(options, self._id, ready.model)
            warnings = [{"code": warning.code, "message": warning.message} for warning in listening.warnings]
            await self._tell([{"type": then, "session": session | ({"warnings": warnings} if warnings else {})}])
        return listening

    async def _hear(self, event: SpeechEvent) -> None:
        match event:
            case SpeechStarted(pts_us):
                await self._tell(self._turns.started(pts_us))
            case SpeechStopped(pts_us):
                await self._tell(self._turns.stopped(pts_us))
            case Committed(words):
                await self._tell(self._turns.heard(words))
            case Marker(marker):
                await self._tell(self._turns.answered(marker))

    async def _lose(self, error: AttuneError) -> None:
        self._listening = None
        await self._tell([*self._turns.failed(error), events.error_event(error)])


def _named(error: AttuneError, options: Options) -> AttuneError:
    """Return the error with the field as the client knows it."""
    if error.param == "model":
        return no_model(options.model)
    if error.param == "language":
        error.param = "session.audio.input.transcription.language"
    return error

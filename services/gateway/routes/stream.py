"""``WS /v1/stream``: turns a WebSocket into a stream of messages and a sink, and errors into close codes."""

import asyncio
import json
import math
from collections.abc import AsyncIterator

import structlog
from fastapi import APIRouter, WebSocket
from starlette.websockets import WebSocketDisconnect, WebSocketState

from services.common.errors import AttuneError, Forbidden, Idle, InvalidInput, first_cause, shown
from services.common.metrics import SESSIONS, SESSIONS_ENDED
from services.gateway.origins import is_own
from services.gateway.pipeline import ClientGone, LiveSession, Message, Surroundings
from services.gateway.schemas import SessionStart, read_binary, read_text
from services.gateway.session import Event, Session
from services.gateway.state import GatewayState, gateway
from services.gateway.store import EventLog
from services.gateway.telling import error_event

router = APIRouter()
log = structlog.get_logger(__name__)

GOING_AWAY = 1012


@router.websocket("/v1/stream")
async def stream(websocket: WebSocket) -> None:
    """Run one live session over the socket."""
    state = gateway(websocket)
    await websocket.accept()
    session = Session()
    with structlog.contextvars.bound_contextvars(session_id=session.id):
        reason = "ended"
        try:
            await _serve(websocket, state, session)
        except ClientGone:
            reason = "client_gone"
        except AttuneError as error:
            reason = error.code
        SESSIONS_ENDED.labels(reason).inc()
        log.info("session_ended", reason=reason, events=session.event_no, **session.usage)


async def _serve(websocket: WebSocket, state: GatewayState, session: Session) -> None:
    socket = _Socket(websocket, state)
    try:
        _admit(websocket, state)
        start = await _start(socket, state)
        await _run(socket, state, session, start)
    except Exception as error:
        cause = first_cause(error)
        if isinstance(cause, ClientGone):
            raise cause from None
        seen = shown(cause)
        if cause is not seen:
            log.exception("session_failed")
        if session.event_no == 0:  # a session that runs has told its error itself
            await socket.send(session.numbered(error_event(seen, fatal=True)))
        await socket.close(seen.ws_close, _reason(seen))
        raise seen from error
    await socket.close(GOING_AWAY if state.draining.is_set() else 1000, "")


async def _start(socket: "_Socket", state: GatewayState) -> SessionStart:
    state.opening += 1
    try:
        state.check_room()
        start = await socket.first()
        state.check_room()  # others may have started meanwhile
        return start
    finally:
        state.opening -= 1


def _reason(error: AttuneError) -> str:
    if error.retry_after_s is None:
        return error.message
    return f"try again in {math.ceil(error.retry_after_s)} s: {error.message}"


async def _run(socket: "_Socket", state: GatewayState, session: Session, start: SessionStart) -> None:
    event_log = EventLog(state.store, session.id)
    around = Surroundings(state.upstreams, event_log, state.settings, state.draining)
    state.entered(session.id)
    SESSIONS.inc()
    try:
        log.info("session_started", encoding=start.audio.encoding, rate_hz=start.audio.sample_rate_hz)
        await LiveSession(session, start, around).run(socket.messages(), socket.send)
    finally:
        SESSIONS.dec()
        state.left(session.id)
        state.late.take(event_log)


def _admit(websocket: WebSocket, state: GatewayState) -> None:
    origin = websocket.headers.get("origin")
    allowed = state.settings.cors_origins
    same = origin is None or is_own(origin, websocket.headers.get("host", ""))
    if not same and "*" not in allowed and origin not in allowed:
        raise Forbidden(f"pages of {origin} may not call this server")


class _Socket:
    """The WebSocket as the pipeline wants it."""

    def __init__(self, websocket: WebSocket, state: GatewayState) -> None:
        self._websocket = websocket
        self._start_s = state.settings.start_timeout_s
        self._idle_s = state.settings.idle_timeout_s
        self._send_timeout_s = state.settings.send_timeout_s

    async def first(self) -> SessionStart:
        """Return the first message, which must start the session."""
        message = await self._next(self._start_s)
        if isinstance(message, AttuneError):
            raise message
        if not isinstance(message, SessionStart):
            raise InvalidInput("the first message must be session.start", param="type")
        if message.resume is not None:
            raise InvalidInput("this server cannot resume sessions yet", param="resume")
        return message

    async def messages(self) -> AsyncIterator[Message]:
        """Yield messages until the client hangs up or says nothing for too long; malformed ones as their error."""
        while True:
            yield await self._next(self._idle_s)

    async def _next(self, within_s: float) -> Message:
        try:
            async with asyncio.timeout(within_s):
                frame = await self._websocket.receive()
        except TimeoutError:
            raise Idle(f"nothing came for {within_s:g} s") from None
        if frame["type"] == "websocket.disconnect":
            raise ClientGone
        try:
            text = frame.get("text")
            return read_text(text) if text is not None else read_binary(frame.get("bytes") or b"")
        except AttuneError as error:
            return error

    async def send(self, event: Event) -> None:
        """Send one event; ClientGone when nobody is there, or does not read for too long."""
        try:
            async with asyncio.timeout(self._send_timeout_s):
                await self._websocket.send_text(json.dumps(event, separators=(",", ":"), ensure_ascii=False))
        except (WebSocketDisconnect, RuntimeError, TimeoutError) as error:
            raise ClientGone from error

    async def close(self, code: int, reason: str) -> None:
        """Close the socket, if it is still open; the reason is cut to what a close frame holds."""
        if self._websocket.application_state is WebSocketState.CONNECTED:
            try:
                await self._websocket.close(code, reason.encode()[:120].decode(errors="ignore"))
            except RuntimeError as error:
                raise ClientGone from error

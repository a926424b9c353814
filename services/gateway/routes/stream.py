"""``WS /v1/stream``: turns a WebSocket into a stream of messages and a sink, and errors into close codes."""

import math
from collections.abc import AsyncIterator

import structlog
from fastapi import APIRouter, WebSocket

from services.common.errors import AttuneError, InvalidInput, first_cause, shown
from services.common.metrics import SESSIONS, SESSIONS_ENDED
from services.gateway.pipeline import ClientGone, LiveSession, Message, Surroundings
from services.gateway.routes.sockets import GOING_AWAY, Socket, admit
from services.gateway.schemas import SessionStart, read_binary, read_text
from services.gateway.session import Session
from services.gateway.state import GatewayState, gateway
from services.gateway.store import EventLog
from services.gateway.telling import error_event

router = APIRouter()
log = structlog.get_logger(__name__)


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
    socket = Socket(websocket, state)
    try:
        admit(websocket, state)
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


async def _start(socket: Socket, state: GatewayState) -> SessionStart:
    with state.opened():
        start = _read(await socket.receive(state.settings.start_timeout_s))
    if isinstance(start, AttuneError):
        raise start
    if not isinstance(start, SessionStart):
        raise InvalidInput("the first message must be session.start", param="type")
    if start.resume is not None:
        raise InvalidInput("this server cannot resume sessions yet", param="resume")
    return start


def _reason(error: AttuneError) -> str:
    if error.retry_after_s is None:
        return error.message
    return f"try again in {math.ceil(error.retry_after_s)} s: {error.message}"


async def _run(socket: Socket, state: GatewayState, session: Session, start: SessionStart) -> None:
    event_log = EventLog(state.store, session.id)
    around = Surroundings(state.upstreams, event_log, state.settings, state.draining)
    state.entered(session.id)
    SESSIONS.inc()
    try:
        log.info("session_started", encoding=start.audio.encoding, rate_hz=start.audio.sample_rate_hz)
        await LiveSession(session, start, around).run(_messages(socket), socket.send)
    finally:
        SESSIONS.dec()
        state.left(session.id)
        state.late.take(event_log)


async def _messages(socket: Socket) -> AsyncIterator[Message]:
    """Yield messages until the client hangs up or says nothing for too long; malformed ones as their error."""
    while True:
        yield _read(await socket.receive())


def _read(frame: str | bytes) -> Message:
    try:
        return read_text(frame) if isinstance(frame, str) else read_binary(frame)
    except AttuneError as error:
        return error

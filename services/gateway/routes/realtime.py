"""``WS /v1/realtime?intent=transcription``: OpenAI's realtime contract, for transcription."""

import secrets
from collections.abc import AsyncIterator

import structlog
from fastapi import APIRouter, WebSocket

from services.common.errors import AttuneError, InvalidInput, first_cause, shown
from services.common.metrics import SESSIONS, SESSIONS_ENDED
from services.gateway.pipeline import ClientGone
from services.gateway.realtime.events import error_event
from services.gateway.realtime.messages import ClientEvent, read_event
from services.gateway.realtime.options import Options
from services.gateway.realtime.session import RealtimeSession
from services.gateway.routes.sockets import GOING_AWAY, Socket, admit
from services.gateway.state import GatewayState, gateway

router = APIRouter()
log = structlog.get_logger(__name__)

SUBPROTOCOL = "realtime"  # browsers offer it beside one that carries their key
BETA = ("openai-beta", "realtime=v1")  # the header by which clients say that they speak the older shape


@router.websocket("/v1/realtime")
async def realtime(websocket: WebSocket) -> None:
    """Run one session over the socket."""
    state = gateway(websocket)
    offered = websocket.scope.get("subprotocols", [])
    await websocket.accept(SUBPROTOCOL if SUBPROTOCOL in offered else None)
    session_id = f"sess_{secrets.token_urlsafe(12)}"
    with structlog.contextvars.bound_contextvars(session_id=session_id):
        reason = await _serve(websocket, state, session_id)
        SESSIONS_ENDED.labels(reason).inc()
        log.info("session_ended", reason=reason)


async def _serve(websocket: WebSocket, state: GatewayState, session_id: str) -> str:
    """Serve to the end; return the reason for it."""
    socket = Socket(websocket, state)
    try:
        admit(websocket, state)
        state.check_room()
        await _run(socket, state, RealtimeSession(session_id, _options(websocket), state), session_id)
        await socket.close(GOING_AWAY, "the server goes away")
    except Exception as error:
        return await _end(socket, first_cause(error))
    return "ended"


async def _run(socket: Socket, state: GatewayState, session: RealtimeSession, session_id: str) -> None:
    state.entered(session_id)
    SESSIONS.inc()
    try:
        log.info("session_started", protocol="realtime")
        await session.run(_messages(socket), socket.send)
    finally:
        SESSIONS.dec()
        state.left(session_id)


async def _end(socket: Socket, cause: BaseException) -> str:
    if isinstance(cause, ClientGone):
        return "client_gone"
    seen = shown(cause)
    if not isinstance(cause, AttuneError):
        log.error("session_failed", exc_info=cause)
    try:
        await socket.send({"event_id": f"event_{secrets.token_urlsafe(12)}", **error_event(seen)})
        await socket.close(seen.ws_close, seen.message)
    except ClientGone:
        return "client_gone"
    return seen.code


def _options(websocket: WebSocket) -> Options:
    query = websocket.query_params
    if query.get("intent", "transcription") != "transcription":
        raise InvalidInput("only intent=transcription is served here", param="intent")
    offered = websocket.scope.get("subprotocols", [])
    older = websocket.headers.get(BETA[0]) == BETA[1] or "openai-beta.realtime-v1" in offered
    return Options(model=query.get("model", ""), older=older)


async def _messages(socket: Socket) -> AsyncIterator[ClientEvent]:
    while True:
        yield read_event(await socket.receive())

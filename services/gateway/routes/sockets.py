"""A live WebSocket as its session wants it: who may open one, frames with a time limit, JSON out, a clean close.

Called by the routes of live sessions.
"""

import asyncio
import json
from typing import Any

from fastapi import WebSocket
from starlette.websockets import WebSocketDisconnect, WebSocketState

from services.common.errors import Forbidden, Idle
from services.gateway.origins import is_own
from services.gateway.pipeline import ClientGone
from services.gateway.state import GatewayState

GOING_AWAY = 1012


def admit(websocket: WebSocket, state: GatewayState) -> None:
    """Raise Forbidden for pages of foreign origins."""
    origin = websocket.headers.get("origin")
    allowed = state.settings.cors_origins
    same = origin is None or is_own(origin, websocket.headers.get("host", ""))
    if not same and "*" not in allowed and origin not in allowed:
        raise Forbidden(f"pages of {origin} may not call this server")


class Socket:
    """The WebSocket of one session."""

    def __init__(self, websocket: WebSocket, state: GatewayState) -> None:
        self._websocket = websocket
        self._idle_s = state.settings.idle_timeout_s
        self._send_timeout_s = state.settings.send_timeout_s

    async def receive(self, within_s: float | None = None) -> str | bytes:
        """Return the next frame; ClientGone when the client hangs up, Idle when it says nothing for too long.

        Too long is ``within_s``, or the time after which a session is idle.
        """
        limit_s = self._idle_s if within_s is None else within_s
        try:
            async with asyncio.timeout(limit_s):
                frame = await self._websocket.receive()
        except TimeoutError:
            raise Idle(f"nothing came for {limit_s:g} s") from None
        if frame["type"] == "websocket.disconnect":
            raise ClientGone
        text: str | None = frame.get("text")
        return text if text is not None else frame.get("bytes") or b""

    async def send(self, event: dict[str, Any]) -> None:
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

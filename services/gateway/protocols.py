"""uvicorn's protocols with limits it lacks: a request's head comes in time, a peer that reads nothing is let go.

Called by serve.py. Without these a half-sent request, or answers that nobody reads, hold a socket for ever.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

LINGER_S = 10.0  # what a peer that is done with may take to read the rest


class Patience:
    """One thing that a peer must do in time; otherwise its connection is cut, without waiting for it to read."""

    def __init__(self) -> None:
        self._timer: asyncio.TimerHandle | None = None

    def start(self, transport: asyncio.Transport, seconds: float) -> None:
        """Begin to wait; a wait that runs goes on."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(seconds, transport.abort)

    def stop(self) -> None:
        """End the wait: it was done."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class PatientHttp(HttpToolsProtocol):
    """HTTP/1.1. ``config.app`` is the gateway's app, whose state holds ``settings``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head, self._reading = Patience(), Patience()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first head."""
        super().connection_made(transport)
        self._head.start(transport, self._settings.read_timeout_s)

    def on_message_begin(self) -> None:
        """Wait for the rest of a further head."""
        super().on_message_begin()
        self._head.start(self.transport, self._settings.read_timeout_s)

    def on_headers_complete(self) -> None:
        """End the wait for the head."""
        self._head.stop()
        super().on_headers_complete()

    def pause_writing(self) -> None:
        """Wait for the peer to read."""
        super().pause_writing()
        self._reading.start(self.transport, self._settings.send_timeout_s)

    def resume_writing(self) -> None:
        """End the wait for the peer."""
        self._reading.stop()
        super().resume_writing()

    def timeout_keep_alive_handler(self) -> None:
        """Close an idle connection, and cut it when the peer does not even read what it was sent."""
        super().timeout_keep_alive_handler()
        self._reading.start(self.transport, LINGER_S)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        self._head.stop()
        super().connection_lost(exc)
        self._reading.stop()

    @property
    def _settings(self) -> Any:
        return self.config.app.state.settings  # type: ignore[union-attr]


class PatientWebSocket(WebSocketsSansIOProtocol):
    """WebSocket whose connection is gone soon after the app or the keep-alive is done with it."""

    def keepalive_timeout(self) -> None:
        """Cut the connection: who did not answer a ping will not read a close either."""
        super().keepalive_timeout()
        self.transport.abort()

    async def run_asgi(self) -> None:
        """Run the app; what the peer has not read a while after that is lost."""
        await super().run_asgi()
        self.loop.call_later(LINGER_S, self.transport.abort)

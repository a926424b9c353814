"""A live session: audio and images go in while typed events come out, over one WebSocket.

Callers write ``async with connect(url) as session``, send from one task and read from another.
"""

import asyncio
import json
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Self, Unpack

import websockets.asyncio.client as ws
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI

from attune_client.errors import AttuneError, SessionClosed, error_from_problem
from attune_client.events import Ack, Event, Failed, Flow, SessionReady, event_from_json
from attune_client.wire import AudioFormat, Framer, SessionOptions, start_message, stream_address

OPEN_TIMEOUT_S = 15.0
MAX_EVENT_BYTES = 16 * 2**20


@asynccontextmanager
async def connect(url: str, **options: Unpack[SessionOptions]) -> AsyncGenerator["Session", None]:
    """Yield a session that the server has accepted; leaving the block closes it.

    ``url`` is the server's, like ``http://host:port``. AttuneError says why no session came about. Call
    ``session.end()`` before leaving, and read until the events end, to get all that was said.
    """
    unknown = options.keys() - SessionOptions.__annotations__.keys()
    if unknown:
        raise TypeError(f"connect() knows no {', '.join(sorted(unknown))}")
    audio = AudioFormat.of(options)
    socket = await _open_socket(stream_address(url), options)
    try:
        session = Session(socket, audio)
        await session.start(start_message(audio, options))
        yield session
    finally:
        await socket.close()


async def _open_socket(address: str, options: SessionOptions) -> ws.ClientConnection:
    key, trace = options.get("api_key"), options.get("traceparent")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    headers |= {"traceparent": trace} if trace else {}
    try:
        # Compression costs both sides memory and time, and media does not shrink.
        return await ws.connect(
            address,
            additional_headers=headers,
            compression=None,
            max_size=MAX_EVENT_BYTES,
            open_timeout=OPEN_TIMEOUT_S,
        )
    except InvalidStatus as error:
        raise _refusal(error) from error
    except (OSError, InvalidHandshake, InvalidURI, TimeoutError, UnicodeError) as error:  # UnicodeError: no host name
        reason = str(error) or "no answer in time"
        raise AttuneError("unavailable", f"cannot reach {address}: {reason}", retryable=True) from error


def _refusal(error: InvalidStatus) -> AttuneError:
    answer = error.response
    try:
        problem = json.loads(answer.body)
    except ValueError:
        problem = None
    return error_from_problem(answer.status_code, problem, answer.headers.get("Retry-After"))


class Session:
    """One live session. Iterate it for its events; ``ready`` is the first of them, ``lag_us`` the last known lag."""

    def __init__(self, socket: ws.ClientConnection, audio: AudioFormat) -> None:
        self._socket = socket
        self._framer = Framer(audio)
        self._early: deque[Event] = deque()
        self._acked = Ack()
        self._fatal: Failed | None = None
        self.ready: SessionReady
        self.lag_us: int | None = None

    async def start(self, message: str) -> None:
        """Send ``session.start`` and wait for ``session.ready``; what comes before it is kept for the reader."""
        await self._send(message)
        try:
            async with asyncio.timeout(OPEN_TIMEOUT_S):
                self.ready = await self._until_ready()
        except TimeoutError as error:
            raise AttuneError("deadline_exceeded", "the server did not start the session", retryable=True) from error

    async def _until_ready(self) -> SessionReady:
        while True:
            event = await self._receive()
            self._early.append(event)
            if isinstance(event, SessionReady):
                return event

    @property
    def clock_us(self) -> int:
        """Media time of the next audio sample."""
        return self._framer.clock_us

    @property
    def unacked_audio_seq(self) -> range:
        """Sequence numbers of audio that was sent and that the server may still lose."""
        return range(self._acked.audio_seq + 1, self._framer.audio_seq + 1)

    @property
    def unacked_image_seq(self) -> range:
        """Sequence numbers of images that were sent and are not decided yet."""
        return range(self._acked.image_seq + 1, self._framer.image_seq + 1)

    async def send_audio(self, data: bytes, pts_us: int | None = None) -> None:
        """Send audio that follows what was sent before; waits while the server reads no further.

        Give ``pts_us`` only where audio is missing before ``data``. Large buffers go out as frames of 100 ms.
        """
        for message in self._framer.audio(data, pts_us):
            await self._send(message)

    async def send_image(self, data: bytes, pts_us: int | None = None) -> None:
        """Send one encoded image file, shown from ``pts_us`` on (default: now, by the audio clock)."""
        await self._send(self._framer.image(data, pts_us))

    async def flush(self, marker: str) -> None:
        """Ask that everything said so far become final; ``Marker(marker)`` answers."""
        await self._send_json(type="flush", marker=marker)

    async def keepalive(self) -> None:
        """Tell the server that a silent client is still there."""
        await self._send_json(type="keepalive")

    async def end(self) -> None:
        """Say that nothing more comes; the events go on until all is final, then they end."""
        await self._send_json(type="session.end")

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        if self._early:
            return self._early.popleft()
        try:
            return await self._receive()
        except SessionClosed as closed:
            if closed.close_code == 1000:
                raise StopAsyncIteration from None
            raise

    async def _receive(self) -> Event:
        try:
            event = event_from_json(await self._socket.recv())
        except ConnectionClosed as closed:
            raise self._closed(closed) from closed
        self._note(event)
        return event

    def _note(self, event: Event) -> None:
        match event:
            case Ack():
                self._acked = event
            case Flow():
                self.lag_us = event.lag_us
            case Failed(fatal=True):
                self._fatal = event

    async def _send_json(self, **message: Any) -> None:
        await self._send(json.dumps(message))

    async def _send(self, message: str | bytes) -> None:
        try:
            await self._socket.send(message)
        except ConnectionClosed as closed:
            raise self._closed(closed) from closed

    def _closed(self, closed: ConnectionClosed) -> SessionClosed:
        close = closed.rcvd or closed.sent
        error = SessionClosed(close.code, close.reason) if close else SessionClosed(1006, "the connection was lost")
        if self._fatal:
            # The error event says more than a close code can.
            error.code, error.message = self._fatal.code, self._fatal.message
            error.param, error.retryable = self._fatal.param, self._fatal.retryable
            error.retry_after_s = self._fatal.retry_after_s
            error.args = (error.message,)
        return error

"""What every HTTP request passes first: an id, a bounded body that keeps coming, and the id and trace on the answer.

Plain ASGI, so that a client that hangs up stays visible. Uncaught errors end here as a problem with the request's id.
"""

import asyncio
import re
import secrets

import structlog
from opentelemetry import propagate
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from services.common.errors import AttuneError, Idle, InvalidInput, TooLarge, shown
from services.gateway.problems import refusal
from services.gateway.settings import GatewaySettings

REQUEST_ID = re.compile(rb"[\x21-\x7e]{1,200}")

log = structlog.get_logger(__name__)


class Edge:
    """The outermost middleware."""

    def __init__(self, app: ASGIApp, settings: GatewaySettings) -> None:
        self._app = app
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; WebSockets and lifespan pass through."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if scope["method"] == "HEAD":  # what can be read can be asked for its head; uvicorn leaves the body out
            scope = {**scope, "method": "GET"}
        request_id = _request_id(scope)
        scope.setdefault("state", {})["request_id"] = request_id
        answer = _Answer(send, request_id)
        with structlog.contextvars.bound_contextvars(request_id=request_id):
            try:
                _check_length(scope, self._settings.max_upload_bytes)
                await self._app(scope, _Body(receive, self._settings).receive, answer.send)
            except Exception as error:
                await self._fail(error, answer, scope, receive)

    async def _fail(self, error: Exception, answer: "_Answer", scope: Scope, receive: Receive) -> None:
        seen = shown(error)
        if seen.http == 500:
            log.error("request_failed", exc_info=error)
        if answer.started:  # nothing honest can be said any more: cut the answer off
            raise error
        await refusal(seen, scope)(scope, receive, answer.send)


class _Body:
    """A request body that may neither grow beyond its limit nor stall."""

    def __init__(self, receive: Receive, settings: GatewaySettings) -> None:
        self._receive = receive
        self._settings = settings
        self._size = 0
        self._complete = False

    async def receive(self) -> Message:
        if self._complete:
            return await self._receive()  # now it only waits for the hang-up
        try:
            async with asyncio.timeout(self._settings.read_timeout_s):
                message = await self._receive()
        except TimeoutError:
            raise Idle(f"the body paused for {self._settings.read_timeout_s:g} s") from None
        self._complete = not message.get("more_body", False)
        self._size += len(message.get("body", b""))
        if self._size > self._settings.max_upload_bytes:
            raise _too_large(self._settings.max_upload_bytes)
        return message


class _Answer:
    """The way back: adds the ids to the headers, remembers whether anything was sent."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self.request_id = request_id
        self.started = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            headers = MutableHeaders(scope=message)
            headers["X-Request-Id"] = self.request_id
            carrier: dict[str, str] = {}
            propagate.inject(carrier)
            for name, value in carrier.items():
                headers[name] = value
        await self._send(message)


def _request_id(scope: Scope) -> str:
    given = dict(scope["headers"]).get(b"x-request-id", b"")
    return given.decode("ascii") if REQUEST_ID.fullmatch(given) else "r_" + secrets.token_urlsafe(12)


def _check_length(scope: Scope, limit: int) -> None:
    length = dict(scope["headers"]).get(b"content-length", b"0")
    if not length.isdigit():
        raise InvalidInput("content-length is not a number")
    if int(length) > limit:
        raise _too_large(limit)


def _too_large(limit: int) -> AttuneError:
    return TooLarge(f"the body is larger than {limit} bytes")

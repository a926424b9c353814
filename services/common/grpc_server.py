"""Puts ports on gRPC: a server with health, reflection, keep-alive and a drain; one method body for all streams.

Used by the services' servicers and by `attune serve`.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

import grpc
import structlog
from google.protobuf.message import Message
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection
from opentelemetry import propagate, trace

from services.common.beside import beside
from services.common.deadlines import Deadline, until
from services.common.errors import InvalidInput, shown
from services.common.grpc_errors import status_from_error
from services.common.metrics import STREAMS
from services.common.ports import Call, Port, Priority
from services.common.telemetry import set_outcome
from services.common.wire import Codec

In = TypeVar("In")
Out = TypeVar("Out")

SESSION_KEY = "attune-session-id"
REQUEST_KEY = "x-request-id"
PRIORITY_KEY = "attune-priority"
MAX_MESSAGE_BYTES = 64 * 2**20

# The server's default refuses pings closer than 300 s apart; the clients ping every 20 s.
SERVER_OPTIONS = [
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    # Long-lived channels must come back now and then to see a new version; running streams are not cut.
    ("grpc.max_connection_age_ms", 600_000),
    ("grpc.so_reuseport", 0),
]

HEALTH_EVERY_S = 1.0

log = structlog.get_logger(__name__)
tracer = trace.get_tracer(__name__)

StreamMethod = Callable[[AsyncIterator[Any], Any], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Hosted:
    """One service as the server needs it: its full name, how to add its servicer, and whether its work moves on."""

    name: str
    add: Callable[[grpc.aio.Server], None]
    healthy: Callable[[], bool] = lambda: True


@runtime_checkable
class Watched(Protocol):
    """A port whose engine can get stuck, and knows it."""

    def healthy(self) -> bool:
        """Return whether work moves on."""
        ...


def health_of(port: object) -> Callable[[], bool]:
    """Return how to ask a port whether its work moves on; one that cannot tell is taken to be well."""
    return port.healthy if isinstance(port, Watched) else lambda: True


def stream_method(name: str, port: Port[In, Out], codec: Codec[In, Out]) -> StreamMethod:
    """Return the body of a bidirectional gRPC method that serves ``port``."""

    async def method(requests: AsyncIterator[Message], context: grpc.aio.ServicerContext[Any, Any]) -> None:
        await serve(name, lambda: _answer(port, codec, requests, context), context)

    return method


async def serve(name: str, work: Callable[[], Awaitable[None]], context: grpc.aio.ServicerContext[Any, Any]) -> None:
    """Do one call's work inside its span, its log context and the gauge of streams; its error becomes the status."""
    metadata = {key: str(value) for key, value in context.invocation_metadata() or ()}
    session_id, request_id = metadata.get(SESSION_KEY, ""), metadata.get(REQUEST_KEY, "")
    parent = propagate.extract(metadata)
    with (
        tracer.start_as_current_span(
            name, parent, trace.SpanKind.SERVER, record_exception=False, set_status_on_exception=False
        ) as span,
        structlog.contextvars.bound_contextvars(session_id=session_id, request_id=request_id),
    ):
        span.set_attribute("session_id", session_id)
        try:
            with STREAMS.labels(name).track_inprogress():
                await work()
        except Exception as error:
            set_outcome(span, error)
            _log_failure(name, error)
            await context.abort_with_status(status_from_error(error))


async def _answer(
    port: Port[In, Out],
    codec: Codec[In, Out],
    requests: AsyncIterator[Message],
    context: grpc.aio.ServicerContext[Any, Any],
) -> None:
    call = call_of(context)
    inputs = (codec.input_from_pb(request) async for request in requests)
    async with until(call.deadline), aclosing(port(inputs, call)) as outputs:
        async for output in outputs:
            await context.write(codec.output_to_pb(output))


def call_of(context: grpc.aio.ServicerContext[Any, Any]) -> Call:
    """Return what travels beside a call."""
    metadata = {key: str(value) for key, value in context.invocation_metadata() or ()}
    remaining_s = context.time_remaining()
    deadline = None if remaining_s is None else Deadline.after(remaining_s)
    priority = _priority_of(metadata.get(PRIORITY_KEY, Priority.LIVE))
    return Call(metadata.get(SESSION_KEY, ""), metadata.get(REQUEST_KEY, ""), deadline, priority)


def _priority_of(value: str) -> Priority:
    try:
        return Priority(value)
    except ValueError:
        raise InvalidInput(f"{PRIORITY_KEY} is live or file, not {value!r}", param=PRIORITY_KEY) from None


def _log_failure(name: str, error: Exception) -> None:
    seen = shown(error)
    if seen.code == "internal":
        log.exception("call_failed", method=name, code=seen.code)
    else:
        log.info("call_refused", method=name, code=seen.code, reason=seen.message)


@asynccontextmanager
async def open_server(listen: str, hosted: Sequence[Hosted], drain_s: float = 10.0) -> AsyncGenerator[str, None]:
    """Serve until the body ends, then drain for at most ``drain_s``; yields the bound ``host:port``.

    ``listen`` is ``host:port`` (port 0: any free one) or ``unix:path``. OSError when it is taken.
    """
    server = grpc.aio.server(options=SERVER_OPTIONS)
    statuses = health.aio.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(statuses, server)
    for service in hosted:
        service.add(server)
    names = [service.name for service in hosted]
    reflection.enable_server_reflection([*names, health.SERVICE_NAME, reflection.SERVICE_NAME], server)
    address = _bind(server, listen)
    await server.start()
    await _tell(statuses, hosted)
    try:
        async with beside(_watch(statuses, hosted)):
            yield address
    finally:
        await statuses.enter_graceful_shutdown()
        await server.stop(drain_s)


async def _watch(statuses: health.aio.HealthServicer, hosted: Sequence[Hosted]) -> None:
    while True:
        await asyncio.sleep(HEALTH_EVERY_S)
        await _tell(statuses, hosted)


async def _tell(statuses: health.aio.HealthServicer, hosted: Sequence[Hosted]) -> None:
    """Set the status of each service, and that of the process, which is well when all of them are."""
    well = {service.name: service.healthy() for service in hosted}
    serving = health_pb2.HealthCheckResponse.SERVING
    for name, healthy in {**well, "": all(well.values())}.items():
        await statuses.set(name, serving if healthy else health_pb2.HealthCheckResponse.NOT_SERVING)


def _bind(server: grpc.aio.Server, listen: str) -> str:
    try:
        port = server.add_insecure_port(listen)
    except RuntimeError as error:
        raise OSError(f"cannot listen on {listen}: is something else there?") from error
    return listen if listen.startswith("unix:") else f"{listen.rpartition(':')[0]}:{port}"

"""Makes a gRPC method a port again: deadline, trace and session travel as timeout and metadata.

Used by the gateway's clients and by the contract tests.
"""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any, TypeVar

import grpc
from google.protobuf.message import Message
from grpc_health.v1 import health_pb2, health_pb2_grpc
from opentelemetry import propagate, trace

from services.common.grpc_errors import error_from_rpc
from services.common.grpc_server import MAX_MESSAGE_BYTES, REQUEST_KEY, SESSION_KEY
from services.common.ports import Call, Port
from services.common.telemetry import set_outcome
from services.common.wire import Codec

In = TypeVar("In")
Out = TypeVar("Out")

CLIENT_OPTIONS = [
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.max_pings_without_data", 0),
    # A service that was killed is back within seconds: look again soon, not after the default two minutes.
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.min_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 1_000),
    ("grpc.service_config", '{"loadBalancingConfig": [{"round_robin": {}}]}'),
]

tracer = trace.get_tracer(__name__)


@asynccontextmanager
async def open_channel(target: str) -> AsyncGenerator[grpc.aio.Channel, None]:
    """Yield a channel to ``target``; it connects on the first call and by itself after that."""
    async with grpc.aio.insecure_channel(target, options=CLIENT_OPTIONS) as channel:
        yield channel


def stream_client(name: str, method: Any, codec: Codec[In, Out]) -> Port[In, Out]:
    """Return the port that a stub's bidirectional ``method`` is; errors are the table's."""

    async def port(inputs: AsyncIterator[In], call: Call) -> AsyncGenerator[Out, None]:
        span = tracer.start_span(name, kind=trace.SpanKind.CLIENT, attributes={"session_id": call.session_id})
        requests = _Requests(inputs, codec)
        rpc = method(requests.stream(), timeout=_timeout_s(call), metadata=_metadata(call, span))
        try:
            async for message in rpc:
                yield codec.output_from_pb(message)
        except BaseException as error:
            cause = requests.error or error  # a failed input reaches us as a cancelled call
            if isinstance(cause, grpc.aio.AioRpcError):
                cause = error_from_rpc(cause)
            set_outcome(span, cause)
            raise cause from None
        finally:
            rpc.cancel()
            span.end()

    return port


class _Requests:
    """The request stream of one call; keeps the error that ended it, which gRPC would hide."""

    def __init__(self, inputs: AsyncIterator[Any], codec: Codec[Any, Any]) -> None:
        self._inputs = inputs
        self._codec = codec
        self.error: Exception | None = None

    async def stream(self) -> AsyncGenerator[Message, None]:
        try:
            async for item in self._inputs:
                yield self._codec.input_to_pb(item)
        except Exception as error:
            self.error = error
            raise


def _timeout_s(call: Call) -> float | None:
    return None if call.deadline is None else call.deadline.remaining_s()


def _metadata(call: Call, span: trace.Span) -> tuple[tuple[str, str], ...]:
    carrier: dict[str, str] = {}
    propagate.inject(carrier, trace.set_span_in_context(span))
    carrier |= {key: value for key, value in ((SESSION_KEY, call.session_id), (REQUEST_KEY, call.request_id)) if value}
    return tuple(carrier.items())


async def is_serving(channel: grpc.aio.Channel, service: str, timeout_s: float) -> bool:
    """Ask the standard health service about ``service``; False also when nobody answers in time."""
    stub = health_pb2_grpc.HealthStub(channel)
    try:
        answer = await stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=timeout_s)
    except grpc.aio.AioRpcError:
        return False
    return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)


async def one(port: Port[In, Out], inputs: AsyncIterator[In], call: Call) -> Out | None:
    """Return the port's only output once the stream has ended well; None when it ends without one."""
    answer = None
    async with aclosing(port(inputs, call)) as outputs:
        async for output in outputs:
            answer = output
    return answer

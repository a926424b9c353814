"""Makes a gRPC method a port again: deadline, trace, session and priority travel as timeout and metadata.

Used by the gateway's clients and by the contract tests.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Coroutine
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Any, TypeVar, cast

import grpc
from google.protobuf.message import Message
from grpc_health.v1 import health_pb2, health_pb2_grpc
from opentelemetry import propagate, trace

from services.common.grpc_errors import error_from_rpc
from services.common.grpc_server import MAX_MESSAGE_BYTES, PRIORITY_KEY, REQUEST_KEY, SESSION_KEY
from services.common.ports import Call, Port
from services.common.telemetry import set_outcome
from services.common.wire import Codec

In = TypeVar("In")
Out = TypeVar("Out")
Result = TypeVar("Result")

WRITE_FAILED = "Internal error from Core"  # grpc.aio's text for a write that failed
STATUS_WAIT_S = 5.0  # a write fails only when the call is over, so the status is near

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
    """Return the port that a stub's bidirectional ``method`` is; errors are the table's.

    ``name`` is ``stage.method``; the stage is named to users when it does not answer.
    """

    async def port(inputs: AsyncIterator[In], call: Call) -> AsyncGenerator[Out, None]:
        span = tracer.start_span(name, kind=trace.SpanKind.CLIENT, attributes={"session_id": call.session_id})
        rpc = method(timeout=timeout_s_of(call), metadata=metadata_of(call, span))
        ending = _Ending(rpc)
        sender = _Sender(rpc, inputs, codec)
        try:
            while (message := await ending.read()) is not None:
                yield codec.output_from_pb(message)
        except BaseException as error:
            cause = true_cause(sender.error or error, name)  # a failed input reaches us as a cancelled call
            set_outcome(span, cause)
            raise cause from None
        finally:
            rpc.cancel()
            span.end()
            await sender.close()

    return port


def true_cause(error: BaseException, name: str) -> BaseException:
    """Return the table's error for a call's status, and any other error as it is."""
    return error_from_rpc(error, name.partition(".")[0]) if isinstance(error, grpc.aio.AioRpcError) else error


class _Sender:
    """Writes one call's inputs, in a task that ends with the call; keeps the error that ended the inputs."""

    def __init__(self, rpc: Any, inputs: AsyncIterator[Any], codec: Codec[Any, Any]) -> None:
        self.error: Exception | None = None
        self._rpc = rpc
        self._inputs = inputs
        self._codec = codec
        self._task = asyncio.create_task(self._send())

    async def close(self) -> None:
        """Stop writing, and close the inputs if that can be done."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        if isinstance(self._inputs, AsyncGenerator):
            await self._inputs.aclose()

    async def _send(self) -> None:
        try:
            async for item in self._inputs:
                if not await _is_done(self._rpc.write(self._codec.input_to_pb(item))):
                    return
        except Exception as error:
            self.error = error
            self._rpc.cancel()
        else:
            await _is_done(self._rpc.done_writing())


async def _is_done(writing: Awaitable[None]) -> bool:
    """Wait for a write; False when the call is over, which is no error of the write: the call's status says why."""
    try:
        await writing
    except (grpc.aio.AioRpcError, grpc.aio.BaseError, asyncio.InvalidStateError):
        return False
    return True


class _Ending:
    """Reads one call's answers and its true status.

    A write that fails makes grpc.aio set a status of its own (``AioCall.set_internal_error``), before the server's has
    been read or over it. Each status that is set calls the done callbacks, so the true one is kept from there.
    """

    def __init__(self, rpc: Any) -> None:
        self._answers = aiter(rpc)
        self._status: asyncio.Future[grpc.aio.AioRpcError] = asyncio.get_running_loop().create_future()
        rpc.add_done_callback(self._note)

    async def read(self) -> Message | None:
        """Return the next answer; None at a good end, AioRpcError with the server's status at any other."""
        try:
            return cast("Message | None", await anext(self._answers, None))
        except grpc.aio.AioRpcError as error:
            if not _is_of_a_write(error):
                raise
            await self._end(error)
            return None

    async def _end(self, error: grpc.aio.AioRpcError) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(STATUS_WAIT_S):
                error = await asyncio.shield(self._status)
        if error.code() is not grpc.StatusCode.OK:
            raise error

    def _note(self, rpc: Any) -> None:
        # Now or never: a write that fails in this turn of the loop replaces the status.
        status = _at_once(_status_of(rpc))
        if not self._status.done() and not _is_of_a_write(status):
            self._status.set_result(status)


def _is_of_a_write(status: grpc.aio.AioRpcError) -> bool:
    return status.code() is grpc.StatusCode.INTERNAL and status.details() == WRITE_FAILED


async def _status_of(rpc: Any) -> grpc.aio.AioRpcError:
    return grpc.aio.AioRpcError(
        await rpc.code(), grpc.aio.Metadata(), await rpc.trailing_metadata(), await rpc.details()
    )


def _at_once(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Return what a coroutine returns that has nothing to wait for."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return cast("Result", stop.value)
    raise AssertionError("the coroutine waits")


def timeout_s_of(call: Call) -> float | None:
    """Return the time that a call has left."""
    return None if call.deadline is None else call.deadline.remaining_s()


def metadata_of(call: Call, span: trace.Span) -> tuple[tuple[str, str], ...]:
    """Return what travels beside a call: trace, session and request."""
    carrier: dict[str, str] = {}
    propagate.inject(carrier, trace.set_span_in_context(span))
    carrier[PRIORITY_KEY] = call.priority
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

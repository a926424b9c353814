"""A port over one unary call: all inputs in one message, all outputs in another. For short calls.

A stream costs a round through the event loop for every message on either side. Used by the servicers and by the
gateway's clients, beside the stream.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable
from contextlib import aclosing
from typing import Any, Generic, Protocol, TypeVar

import grpc
from opentelemetry import trace

from services.common.deadlines import until
from services.common.grpc_client import metadata_of, timeout_s_of, true_cause
from services.common.grpc_server import call_of, serve
from services.common.ports import Call, Port
from services.common.telemetry import set_outcome
from services.common.wire import Codec

In = TypeVar("In")
Out = TypeVar("Out")

tracer = trace.get_tracer(__name__)


class Whole(Protocol):
    """A message that holds a stream's messages."""

    items: Any


class WholeMethod(Generic[In, Out]):
    """The body of a unary gRPC method that serves ``port``."""

    def __init__(self, name: str, port: Port[In, Out], codec: Codec[In, Out], answer_of: Callable[..., Whole]) -> None:
        self._name = name
        self._port = port
        self._codec = codec
        self._answer_of = answer_of

    async def __call__(self, request: Whole, context: grpc.aio.ServicerContext[Any, Any]) -> Whole:
        """Answer one request."""
        outputs: list[Any] = []

        async def work() -> None:
            call = call_of(context)
            inputs = given(map(self._codec.input_from_pb, request.items))
            async with until(call.deadline), aclosing(self._port(inputs, call)) as stream:
                outputs.extend([self._codec.output_to_pb(output) async for output in stream])

        await serve(self._name, work, context)
        return self._answer_of(items=outputs)


async def given(items: Iterable[In]) -> AsyncGenerator[In, None]:
    """Yield what is there."""
    for item in items:
        yield item


def whole_client(
    name: str, method: Callable[..., Awaitable[Any]], codec: Codec[In, Out], request_of: Callable[..., Whole]
) -> Port[In, Out]:
    """Return the port that a stub's unary ``method`` is; it reads all inputs first. Errors are the table's."""

    async def port(inputs: AsyncIterator[In], call: Call) -> AsyncGenerator[Out, None]:
        items = [codec.input_to_pb(item) async for item in inputs]
        span = tracer.start_span(name, kind=trace.SpanKind.CLIENT, attributes={"session_id": call.session_id})
        try:
            answer = await method(request_of(items=items), timeout=timeout_s_of(call), metadata=metadata_of(call, span))
        except BaseException as error:
            cause = true_cause(error, name)
            set_outcome(span, cause)
            raise cause from None
        finally:
            span.end()
        for item in answer.items:
            yield codec.output_from_pb(item)

    return port

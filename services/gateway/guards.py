"""Small wrappers, port to port: each adds one behaviour and leaves the port a port."""

import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import TypeVar

from services.common.errors import shown
from services.common.metrics import STAGE_CALLS, STAGE_SECONDS
from services.common.ports import Call, Port

In = TypeVar("In")
Out = TypeVar("Out")


def with_deadline(port: Port[In, Out], seconds: float) -> Port[In, Out]:
    """Give every call at most ``seconds``; DeadlineExceeded after that."""

    async def guarded(inputs: AsyncIterator[In], call: Call) -> AsyncGenerator[Out, None]:
        async with aclosing(port(inputs, call.within(seconds))) as outputs:
            async for output in outputs:
                yield output

    return guarded


def with_metrics(port: Port[In, Out], stage: str) -> Port[In, Out]:
    """Count calls by stage and outcome, and time them. A caller that leaves is ``cancelled``, not a failure."""

    async def guarded(inputs: AsyncIterator[In], call: Call) -> AsyncGenerator[Out, None]:
        started_s = time.monotonic()
        outcome = "ok"
        try:
            async with aclosing(port(inputs, call)) as outputs:
                async for output in outputs:
                    yield output
        except BaseException as error:
            outcome = shown(error).code if isinstance(error, Exception) else "cancelled"
            raise
        finally:
            STAGE_CALLS.labels(stage, outcome).inc()
            STAGE_SECONDS.labels(stage).observe(time.monotonic() - started_s)

    return guarded

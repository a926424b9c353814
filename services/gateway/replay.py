"""A guard that outlives its upstream: what is not yet decided is kept, and sent again once the upstream is back.

The inputs must survive a cancelled ``__anext__`` (an Inbox does): the next attempt goes on reading them.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Generic, TypeVar

from services.common.errors import AttuneError, Unavailable
from services.common.ports import Call, Port
from services.gateway.kept import Kept

In = TypeVar("In")
Out = TypeVar("Out")


@dataclass(frozen=True, slots=True)
class Outage:
    """How long an upstream may be away, and who is told: of the error when it is lost, of None when it is back."""

    patience_s: float
    notice: Callable[[AttuneError | None], Awaitable[None]]
    from_start: bool = False  # bear an upstream that was never there, too
    pause_s: float = 0.25  # between attempts


class _Attempts(Generic[In, Out]):
    """The state of one replayed stream over all its attempts."""

    def __init__(self, kept: Kept[In, Out], outage: Outage) -> None:
        self.kept = kept
        self._outage = outage
        self._answered = False
        self._lost_at_s: float | None = None

    async def inputs(self, fresh: AsyncIterator[In]) -> AsyncGenerator[In, None]:
        for item in tuple(self.kept.again()):
            yield item
        async for item in fresh:
            self.kept.sent(item)
            yield item

    async def answered(self, output: Out) -> Out:
        self._answered = True
        if self._lost_at_s is not None:
            self._lost_at_s = None
            await self._outage.notice(None)
        return self.kept.received(output)

    async def lost(self, error: Unavailable) -> None:
        """Wait before the next attempt; raise when it was never there or patience ends."""
        if not (self._answered or self._outage.from_start):
            raise error
        if self._lost_at_s is None:
            self._lost_at_s = time.monotonic()
            await self._outage.notice(error)
        if time.monotonic() - self._lost_at_s > self._outage.patience_s:
            raise error
        await asyncio.sleep(self._outage.pause_s)


def with_replay(port: Port[In, Out], keep: Callable[[], Kept[In, Out]], outage: Outage) -> Port[In, Out]:
    """Open the port again whenever it becomes Unavailable after its first answer; other errors pass."""

    async def replayed(inputs: AsyncIterator[In], call: Call) -> AsyncGenerator[Out, None]:
        attempts = _Attempts(keep(), outage)
        while True:
            try:
                async with aclosing(port(attempts.inputs(inputs), call)) as outputs:
                    async for output in outputs:
                        yield await attempts.answered(output)
            except Unavailable as error:
                await attempts.lost(error)
            else:
                return

    return replayed

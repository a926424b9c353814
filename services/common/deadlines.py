"""Monotonic deadlines: made at the edge, carried in the call, handed on as the gRPC timeout."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Self

from services.common.errors import DeadlineExceeded


@dataclass(frozen=True, slots=True, order=True)
class Deadline:
    """A moment on this process's monotonic clock, in seconds."""

    at: float

    @classmethod
    def after(cls, seconds: float) -> Self:
        """Return the deadline that lies ``seconds`` from now."""
        return cls(time.monotonic() + seconds)

    @staticmethod
    def sooner(first: "Deadline | None", second: "Deadline") -> "Deadline":
        """Return the earlier of the two; None never comes."""
        return second if first is None else min(first, second)

    def remaining_s(self) -> float:
        """Return the seconds left, never below 0."""
        return max(0.0, self.at - time.monotonic())


@asynccontextmanager
async def until(deadline: Deadline | None) -> AsyncGenerator[None, None]:
    """Run the body until the deadline, then raise DeadlineExceeded in it."""
    try:
        async with asyncio.timeout(None if deadline is None else deadline.remaining_s()):
            yield
    except TimeoutError as error:
        raise DeadlineExceeded("the deadline passed before the answer was ready") from error

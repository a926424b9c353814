"""Turns work that emits events into a stream of them. Called by ``engine.py``.

The work runs in a task of its own that ends with the stream, however that ends. A generator must not yield from inside
a task group: it would cancel whoever happens to read it.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

Event = TypeVar("Event")
Emit = Callable[[Event], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class _Ending:
    error: Exception | None = None


async def produced(work: Callable[[Emit[Event]], Awaitable[None]], room: int) -> AsyncGenerator[Event, None]:
    """Yield what ``work`` emits; at most ``room`` events wait, then the work waits. Its error is raised here."""
    events: asyncio.Queue[Event | _Ending] = asyncio.Queue(room)
    task = asyncio.create_task(_run(work, events))
    try:
        while not isinstance(event := await events.get(), _Ending):
            yield event
        if event.error is not None:
            raise event.error
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _run(work: Callable[[Emit[Event]], Awaitable[None]], events: asyncio.Queue[Event | _Ending]) -> None:
    ending = _Ending()
    try:
        await work(events.put)
    except Exception as error:
        ending = _Ending(_single(error))
    await events.put(ending)


def _single(error: Exception) -> Exception:
    """Return the first error of a group: a stream has one end."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error

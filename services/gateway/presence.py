"""Ends work that nobody waits for any more. Called by routes whose work takes long."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from starlette.types import Receive

from services.common.errors import first_cause

Result = TypeVar("Result")


class CallerGone(Exception):
    """The caller hung up before the answer."""


async def while_present(receive: Receive, work: Awaitable[Result]) -> Result:
    """Return what ``work`` returns, or raise its error. When the caller hangs up it is cancelled: CallerGone.

    The request's body must have been read.
    """
    try:
        async with asyncio.TaskGroup() as tasks:
            watching = tasks.create_task(_until_gone(receive))
            try:
                return await work
            finally:
                watching.cancel()
    except ExceptionGroup as errors:
        raise first_cause(errors) from None


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    raise CallerGone

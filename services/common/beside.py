"""Work that runs beside a body: an error of either ends both, so that no watcher ends unseen.

Called where a process opens something that needs watching: the stack, the gRPC server, the gateway.
"""

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from services.common.errors import first_cause


@asynccontextmanager
async def beside(*works: Coroutine[Any, Any, None]) -> AsyncGenerator[None, None]:
    """Run ``works`` until the body ends; raise what the first of them, or the body, raises."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(work) for work in works]
            try:
                yield
            finally:
                for task in tasks:
                    task.cancel()
    except BaseExceptionGroup as errors:
        raise first_cause(errors) from errors

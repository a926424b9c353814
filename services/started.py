"""Servers that run in the background while a command does. Called by ``attune stream``, ``demo`` and ``bench``."""

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from services.terminal import fail


@asynccontextmanager
async def started_stack(**variables: str) -> AsyncGenerator[tuple[dict[str, Any], int], None]:
    """Start `attune up` on a free port in the background; yields what it says and its root process id, and stops it.

    ``variables`` are added to its environment. It dies with this process, and has a folder of its own: a server that
    runs in this one is left alone.
    """
    tied = [sys.executable, "-m", "services.common.tether", sys.executable, "-m", "services.cli"]
    with tempfile.TemporaryDirectory(prefix="attune-home-", ignore_cleanup_errors=True) as home:
        env = {"ATTUNE_UP_HOME": home, **os.environ, **variables}
        process = await asyncio.create_subprocess_exec(
            *tied, "up", "--port", "0", "--json", stdout=asyncio.subprocess.PIPE, env=env
        )
        try:
            assert process.stdout is not None
            line = await process.stdout.readline()
            if not line:
                fail("the server did not start; its own message stands above")
            yield json.loads(line), process.pid
        finally:
            if process.returncode is None:
                process.terminate()
                await process.wait()


@asynccontextmanager
async def server_at(url: str | None) -> AsyncGenerator[tuple[str, int | None], None]:
    """Yield the given server, or one that runs while the body does."""
    if url is not None:
        yield url, None
        return
    async with started_stack() as (said, pid):
        yield said["url"], pid

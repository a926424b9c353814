"""One process of the stack: how to start it, how it says that it is ready, how to end it.

Used by stack.py alone.
"""

import asyncio
import contextlib
import os
import signal
import sys
from dataclasses import dataclass, field
from pathlib import Path

from services.common.tether import READY_FD


@dataclass
class Child:
    """One process of the stack: how to start it, and how it is doing."""

    name: str
    argv: list[str]
    env: dict[str, str]
    log: Path
    address: str
    says_ready: bool = True
    metrics: str | None = None  # where Prometheus finds its metrics
    process: asyncio.subprocess.Process | None = None
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    restarts: int = 0
    unhealthy_since_s: float | None = None

    async def start(self) -> None:
        """Start the process; ``ready`` is set once it says so."""
        self.ready.clear()
        self.unhealthy_since_s = None
        reading, writing = os.pipe()
        env = {**os.environ, **self.env} | ({READY_FD: str(writing)} if self.says_ready else {})
        with self.log.open("ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "services.common.tether",
                *self.argv,
                env=env,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[writing],
                start_new_session=True,  # a Ctrl-C in the terminal is the stack's to handle
            )
        os.close(writing)
        self._watch_pipe(reading)

    def _watch_pipe(self, fd: int) -> None:
        loop = asyncio.get_running_loop()

        def on_readable() -> None:
            loop.remove_reader(fd)
            if os.read(fd, 4096):
                self.ready.set()
            os.close(fd)

        loop.add_reader(fd, on_readable)

    def signal(self, number: int) -> None:
        """Send a signal, if the process still runs."""
        if self.process is not None and self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(number)

    async def stop(self, timeout_s: float) -> None:
        """Ask the process to end; after ``timeout_s`` end it. One that is not ready has nothing to drain."""
        if self.process is None:
            return
        self.signal(signal.SIGTERM if self.ready.is_set() else signal.SIGKILL)
        try:
            async with asyncio.timeout(timeout_s):
                await self.process.wait()
        except TimeoutError:
            self.signal(signal.SIGKILL)
            await self.process.wait()


def tail(path: Path, lines: int = 15) -> str:
    """Return the last lines of a log file."""
    return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])


async def connects(path: str) -> bool:
    """Say whether a Unix socket takes connections."""
    try:
        _, writer = await asyncio.open_unix_connection(path)
    except OSError:
        return False
    writer.close()
    return True

"""Starts `attune up` for tests, talks to it over raw sockets, and ends it."""

import asyncio
import json
import struct
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosedError

from services.child import tail


@dataclass(frozen=True)
class Running:
    """A stack that runs: where it is, its root process, the addresses of its parts, and its files."""

    url: str
    process: "subprocess.Popen[str]"
    processes: dict[str, str]
    home: Path
    ready_s: float
    metrics: dict[str, str]

    @property
    def ws(self) -> str:
        """Return the live socket's address."""
        return self.url.replace("http", "ws") + "/v1/stream"

    def child(self, name: str) -> psutil.Process:
        """Return the process of one part; LookupError when it is not there now."""
        for process in psutil.Process(self.process.pid).children():
            command = process.cmdline()
            if name in command or (name == "redis" and "redis-server" in command[0]):
                return process
        raise LookupError(name)


@contextmanager
def running_stack(home: Path, env: dict[str, str]) -> Iterator[Running]:
    """Run `attune up` on a free port in ``home`` until the body ends, then SIGTERM it and wait."""
    log = home / "up.log"
    with log.open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "services.cli", "up", "--port", "0", "--json"],
            cwd=home,
            env=env,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, f"the stack did not start:\n{tail(log)}"
        ready = json.loads(line)
        try:
            yield Running(ready["url"], process, ready["processes"], home, ready["ready_s"], ready["metrics"])
        finally:
            process.terminate()
            process.wait(60)
            process.stdout.close()


async def eventually(condition: Callable[[], bool], within_s: float = 20.0) -> None:
    """Wait until another process has made the condition true; AssertionError when it does not in time."""
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, f"not within {within_s} s"
        await asyncio.sleep(0.1)


def media(kind: int, seq: int, pts_us: int, payload: bytes) -> bytes:
    """Return a binary frame of the live protocol."""
    return struct.pack(">B3xIQ", kind, seq, pts_us) + payload


class Talk:
    """A live session over a raw socket."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.events: list[dict[str, Any]] = []

    async def send(self, message: dict[str, Any] | str | bytes) -> None:
        """Send a message as it is, dictionaries as JSON."""
        await self.socket.send(json.dumps(message) if isinstance(message, dict) else message)

    async def until(self, kind: str) -> dict[str, Any]:
        """Read events up to the first of a type, and return it."""
        while True:
            event: dict[str, Any] = json.loads(await self.socket.recv())
            self.events.append(event)
            if event["type"] == kind:
                return event

    async def rest(self) -> list[dict[str, Any]]:
        """Read events until the server closes; return all of the session."""
        with suppress(ConnectionClosedError):  # any code but 1000 and 1001; the tests look at it
            async for message in self.socket:
                self.events.append(json.loads(message))
        return self.events

    async def end(self) -> list[dict[str, Any]]:
        """End the session and return all its events."""
        await self.send({"type": "session.end"})
        return await self.rest()

    def of(self, kind: str) -> list[dict[str, Any]]:
        """Return the events of a type so far."""
        return [event for event in self.events if event["type"] == kind]


@asynccontextmanager
async def talking(running: Running, headers: dict[str, str] | None = None, **start: Any) -> AsyncGenerator[Talk, None]:
    """Open a session and wait until it is ready."""
    async with connect(running.ws, max_size=None, additional_headers=headers) as socket:
        talk = Talk(socket)
        await talk.send({"type": "session.start", **start})
        await talk.until("session.ready")
        yield talk

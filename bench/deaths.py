"""Clients that die, in every way a client can, and what the server still holds for them afterwards.

Called by service.py, which lets hundreds die, and by the integration tests, which let a few of each kind. A kind takes
the server's address and returns once its client is gone.
"""

import asyncio
import re
import socket
import struct
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

import httpx
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from attune_client import Attune, AttuneError
from bench.measure import Target, tree_rss_mb

SLOTS = re.compile(r"^(attune_(?:sessions|streams|transcriptions)(?:\{.*\})?) (\S+)$", re.MULTILINE)
EMPTY_WITHIN_S = 60.0
TOGETHER = 6  # as many die side by side: all are let in
SOUND = b"".join(struct.pack("<h", 8000 if n // 40 % 2 else -8000) for n in range(8_000))  # half a second of 200 Hz
AUDIO = struct.pack(">B3xIQ", 1, 1, 0) + SOUND
START = '{"type":"session.start"}'

Die = Callable[[str], Awaitable[None]]


def masked(opcode: int, payload: bytes) -> bytes:
    """Return a client's frame under a mask of zeros."""
    size = len(payload)
    head = bytes([0x80 | opcode, 0x80 | size]) if size < 126 else struct.pack(">BBH", 0x80 | opcode, 0xFE, size)
    return head + bytes(4) + payload


@asynccontextmanager
async def by_hand(url: str, *, start: bool = True) -> AsyncGenerator[socket.socket, None]:
    """Open a live socket that nobody reads: its events stay where they are, and no ping is answered."""
    at = urlsplit(url)
    sock = await asyncio.to_thread(socket.create_connection, (at.hostname, at.port))
    head = (
        f"GET /v1/stream HTTP/1.1\r\nHost: {at.netloc}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    try:
        sock.sendall(head.encode())
        await asyncio.to_thread(sock.recv, 4096)
        if start:
            sock.sendall(masked(1, START.encode()))
        yield sock
    finally:
        sock.close()


async def close_without_end(url: str) -> None:
    """Close the socket in good order, but never end the session."""
    async with connect(_stream(url)) as sock:
        await sock.send(START)
        await sock.recv()
        with suppress(ConnectionClosed):
            await sock.send(AUDIO)


async def good_end(url: str) -> None:
    """End as one should, and read everything."""
    async with connect(_stream(url)) as sock:
        with suppress(ConnectionClosed):
            for message in (START, AUDIO, '{"type":"session.end"}'):
                await sock.send(message)
            async for _ in sock:
                pass


async def reset(url: str) -> None:
    """Reset the connection in the middle."""
    async with by_hand(url) as sock:
        sock.sendall(masked(2, AUDIO))
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


async def half_a_message(url: str) -> None:
    """Drop the connection in the middle of a message."""
    async with by_hand(url) as sock:
        sock.sendall(masked(2, AUDIO)[:500])


async def gone_before_ready(url: str) -> None:
    """Start a session and go at once."""
    async with by_hand(url):
        pass


async def never_starts(url: str) -> None:
    """Open the socket, say nothing, go."""
    async with by_hand(url, start=False):
        pass


async def half_a_handshake(url: str) -> None:
    """Begin a request and go before its head is complete."""
    at = urlsplit(url)
    with await asyncio.to_thread(socket.create_connection, (at.hostname, at.port)) as sock:
        sock.sendall(b"GET /v1/stream HTTP/1.1\r\nHost: x\r\nUpgrade: webs")


async def refused(url: str) -> None:
    """Start with something that is no session, and be closed."""
    async with connect(_stream(url)) as sock:
        await sock.send('{"type":"session.start","language":"xx"}')
        await sock.wait_closed()


async def file_left(url: str) -> None:
    """Send a file and hang up before the answer."""
    async with httpx.AsyncClient(base_url=url, timeout=0.05) as http:
        with suppress(httpx.TimeoutException):
            await http.post("/v1/alignments", files={"audio": SOUND * 20})


async def killed(url: str) -> None:
    """Kill the client's process while it talks."""
    talker = (
        "import asyncio, sys\nfrom websockets.asyncio.client import connect\n"
        "async def main():\n    async with connect(sys.argv[1]) as sock:\n"
        "        await sock.send(sys.argv[2])\n        await sock.recv()\n        print('talking', flush=True)\n"
        "        await asyncio.Event().wait()\nasyncio.run(main())\n"
    )
    pipe, null = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    argv = (sys.executable, "-c", talker, _stream(url), START)
    process = await asyncio.create_subprocess_exec(*argv, stdout=pipe, stderr=null)
    assert process.stdout is not None
    await process.stdout.readline()
    process.kill()
    await process.wait()


DEATHS: tuple[Die, ...] = (
    close_without_end, good_end, reset, half_a_message, gone_before_ready,
    never_starts, half_a_handshake, refused, file_left, killed,
)  # fmt: skip


def _stream(url: str) -> str:
    return url.replace("http", "ws", 1) + "/v1/stream"


async def slots(addresses: Iterable[str]) -> dict[str, float]:
    """Return every slot in use, by where it is: sessions, streams and transcriptions of all processes."""
    found: dict[str, float] = {}
    async with httpx.AsyncClient() as http:
        for address in addresses:
            text = (await http.get(address)).text
            found |= {f"{address} {name}": float(value) for name, value in SLOTS.findall(text) if float(value)}
    return found


async def until_empty(addresses: Iterable[str], within_s: float = EMPTY_WITHIN_S) -> dict[str, float]:
    """Wait until no slot is in use, and return those that still are after ``within_s``."""
    addresses = tuple(addresses)
    loop = asyncio.get_running_loop()
    deadline_s = loop.time() + within_s
    while (held := await slots(addresses)) and loop.time() < deadline_s:  # noqa: ASYNC110  # other processes send no event
        await asyncio.sleep(0.1)
    return held


async def run(target: Target, count: int) -> dict[str, float | None]:
    """Let ``count`` clients of all kinds die, a few at a time; return memory after over before, and slots in use."""
    assert target.pid is not None
    await _die(target.url, len(DEATHS))  # loads what the first of each kind loads
    await until_empty(target.metrics.values())
    before_mb = await asyncio.to_thread(tree_rss_mb, target.pid)
    await _die(target.url, count)
    held = await until_empty(target.metrics.values())
    after_mb = await asyncio.to_thread(tree_rss_mb, target.pid)
    async with Attune(target.url) as client:
        if not await client.ready():
            raise AttuneError("unavailable", "the server is not ready after the deaths", retryable=True)
    return {
        "deaths": count,
        "rss_before_mb": before_mb,
        "rss_after_mb": after_mb,
        "rss_after_over_before": round(after_mb / before_mb, 4),
        "slots_in_use_after": sum(held.values()),
    }


async def _die(url: str, count: int) -> None:
    free = asyncio.Semaphore(TOGETHER)

    async def one(die: Die) -> None:
        async with free:
            await die(url)

    async with asyncio.TaskGroup() as group:
        for number in range(count):
            group.create_task(one(DEATHS[number % len(DEATHS)]))

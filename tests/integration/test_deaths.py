"""Clients that die, hang or never begin, in every way: each is noticed, and every slot comes back."""

import asyncio
import json
import os
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

import httpx
import pytest
from websockets.asyncio.client import connect

from tests.integration.test_stack import FAKES, until_ready
from tests.integration.test_stream import picture, sound
from tests.running import Running, eventually, media, running_stack, talking

QUICK = {
    "ATTUNE_UP_SERVICE_METRICS": "true",
    "ATTUNE_GATEWAY_START_TIMEOUT_S": "1",
    "ATTUNE_GATEWAY_IDLE_TIMEOUT_S": "4",
    "ATTUNE_GATEWAY_MAX_SILENCE_S": "3",
    "ATTUNE_GATEWAY_PING_INTERVAL_S": "0.5",
    "ATTUNE_GATEWAY_PING_TIMEOUT_S": "1",
    "ATTUNE_GATEWAY_READ_TIMEOUT_S": "1",
    "ATTUNE_GATEWAY_MAX_SESSIONS": "3",
}
SLOTS = ("attune_sessions", "attune_streams", "attune_transcriptions")
ROUNDS = 6  # of ten kinds of death each


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Run a stack that loses its patience soon."""
    with running_stack(tmp_path_factory.mktemp("quick"), {**os.environ, **FAKES, **QUICK}) as running:
        yield running


@pytest.fixture(scope="module")
def roomy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Run the same stack with room for all who die at once."""
    env = {**os.environ, **FAKES, **QUICK, "ATTUNE_GATEWAY_MAX_SESSIONS": "100"}
    with running_stack(tmp_path_factory.mktemp("roomy"), env) as running:
        yield running


async def slots(running: Running) -> dict[str, float]:
    """Return every slot that is in use, by process and metric."""
    found = {}
    async with httpx.AsyncClient() as http:
        for name, address in running.metrics.items():
            for line in (await http.get(address)).text.splitlines():
                key, _, value = line.rpartition(" ")
                if key.partition("{")[0] in SLOTS and float(value):
                    found[f"{name} {key}"] = float(value)
    return found


async def until_empty(running: Running, within_s: float = 20.0) -> None:
    """Wait until no slot is in use anywhere."""
    try:
        async with asyncio.timeout(within_s):
            while await slots(running):  # noqa: ASYNC110  # other processes send no event
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise AssertionError(f"still in use: {await slots(running)}") from None


@asynccontextmanager
async def raw(running: Running, start: bool = True) -> AsyncGenerator[socket.socket, None]:
    """Open a live socket by hand and yield it; nobody reads it, so nobody answers pings."""
    at = urlsplit(running.url)
    sock = socket.create_connection((at.hostname, at.port))
    head = (
        f"GET /v1/stream HTTP/1.1\r\nHost: {at.netloc}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    sock.sendall(head.encode())
    await asyncio.to_thread(sock.recv, 4096)
    if start:
        sock.sendall(masked(1, b'{"type":"session.start"}'))
    try:
        yield sock
    finally:
        sock.close()


def masked(opcode: int, payload: bytes) -> bytes:
    """Return a client's frame under a mask of zeros."""
    size = len(payload)
    head = bytes([0x80 | opcode, 0x80 | size]) if size < 126 else struct.pack(">BBH", 0x80 | opcode, 0xFE, size)
    return head + bytes(4) + payload


async def close_without_end(running: Running) -> None:
    """Close the socket in good order, but never end the session."""
    async with talking(running) as talk:
        await talk.send(media(1, 1, 0, sound(0.5)))
        await talk.send(media(2, 1, 0, picture()))


async def reset(running: Running) -> None:
    """Reset the connection in the middle."""
    async with raw(running) as sock:
        sock.sendall(masked(2, media(1, 1, 0, sound(0.5))))
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


async def abort(running: Running) -> None:
    """Drop the connection in the middle of a message."""
    async with raw(running) as sock:
        sock.sendall(masked(2, media(1, 1, 0, sound(0.5)))[:500])


async def killed(running: Running) -> None:
    """Kill the client's process while it talks."""
    talker = (
        "import asyncio, sys\nfrom attune_client import connect\n"
        "async def main():\n    async with connect(sys.argv[1]) as session:\n"
        "        await session.send_audio(bytes(16000))\n        print('talking', flush=True)\n"
        "        await asyncio.Event().wait()\nasyncio.run(main())\n"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", talker, running.url, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"talking\n"
    process.kill()
    await process.wait()


async def never_starts(running: Running) -> None:
    """Open the socket, say nothing, go."""
    async with raw(running, start=False):
        pass


async def half_a_handshake(running: Running) -> None:
    """Begin a request and go before its head is complete."""
    at = urlsplit(running.url)
    with socket.create_connection((at.hostname, at.port)) as sock:
        sock.sendall(b"GET /v1/stream HTTP/1.1\r\nHost: x\r\nUpgrade: webs")


async def nonsense(running: Running) -> None:
    """Start with something that is no session, and be closed."""
    async with connect(running.ws) as sock:
        await sock.send('{"type":"session.start","language":"xx"}')
        await sock.wait_closed()


async def good_end(running: Running) -> None:
    """End as one should."""
    async with talking(running) as talk:
        await talk.send(media(1, 1, 0, sound(0.5)))
        await talk.end()


async def file_left(running: Running) -> None:
    """Send a file and hang up before the answer."""
    async with httpx.AsyncClient(base_url=running.url, timeout=0.02) as http:
        with suppress(httpx.TimeoutException):
            await http.post("/v1/alignments", files={"audio": sound(5.0)})


async def gone_before_ready(running: Running) -> None:
    """Start a session and go at once."""
    async with raw(running):
        pass


DEATHS = (
    close_without_end, reset, abort, killed, never_starts, half_a_handshake, nonsense, good_end, file_left,
    gone_before_ready,
)  # fmt: skip


@pytest.mark.parametrize("die", DEATHS, ids=lambda die: die.__name__)
async def test_every_kind_of_death_gives_its_slots_back(roomy: Running, die: Callable[[Running], Awaitable[None]]):
    """Six clients die side by side; afterwards neither the gateway nor a service holds anything for them."""
    await asyncio.gather(*(die(roomy) for _ in range(ROUNDS)))
    await until_empty(roomy)


async def test_a_client_that_vanished_is_noticed(roomy: Running):
    """A connection that is open but answers no ping is closed, long before it would be idle, and its slot freed."""
    async with raw(roomy) as sock:
        for number in range(3):
            sock.sendall(masked(2, media(1, number + 1, number * 100_000, sound(0.1))))
        await eventually(lambda: closed(sock))
        await until_empty(roomy)


def closed(sock: socket.socket) -> bool:
    """Say whether the other side has closed a connection, by sending on it."""
    try:
        sock.sendall(masked(1, b'{"type":"keepalive"}'))
    except OSError:
        return True
    return False


async def test_a_client_that_never_starts_is_told_and_freed(quick: Running):
    """Without a first message the socket closes 4408."""
    async with connect(quick.ws) as sock:
        assert json.loads(await asyncio.wait_for(sock.recv(), 5))["code"] == "idle"
        await sock.wait_closed()
        assert sock.close_code == 4408


async def test_a_client_that_falls_silent_is_told_and_freed(quick: Running):
    """No message for the idle time closes 4408; a keepalive counts as one."""
    async with talking(quick) as talk:
        for _ in range(3):
            await asyncio.sleep(1.5)
            await talk.send({"type": "keepalive"})
        assert talk.of("error") == []
        await asyncio.wait_for(talk.rest(), 10)
        assert (talk.events[-1]["code"], talk.events[-1]["fatal"], talk.socket.close_code) == ("idle", True, 4408)
    await until_empty(quick)


async def test_silence_is_legal_for_so_long(quick: Running):
    """Audio without speech is taken up to its bound, speech begins the count anew, and then the socket closes 4408."""
    async with talking(quick) as talk:
        await talk.send(media(1, 1, 0, bytes(2 * 16_000 * 2)))
        await talk.send(media(1, 2, 2_000_000, sound(1.0)))
        await talk.send(media(1, 3, 3_000_000, bytes(2 * 16_000 * 2)))
        await talk.send({"type": "flush", "marker": "m"})
        await talk.until("marker")
        assert talk.of("error") == []
        await talk.send(media(1, 4, 5_000_000, bytes(2 * 16_000 * 2)))
        await asyncio.wait_for(talk.rest(), 10)
        assert (talk.events[-1]["code"], talk.socket.close_code) == ("idle", 4408)


async def test_a_full_server_says_when_to_come_back(quick: Running):
    """Beyond the cap a client gets overloaded with a time and close 1013, also when all start in one moment."""
    async with talking(quick), talking(quick):
        late = [await connect(quick.ws) for _ in range(3)]
        for sock in late:
            await sock.send('{"type":"session.start"}')
        first = [json.loads(await asyncio.wait_for(sock.recv(), 5)) for sock in late]
        assert sorted(event["type"] for event in first) == ["error", "error", "session.ready"]
        for sock, event in zip(late, first, strict=True):
            if event["type"] == "error":
                await sock.wait_closed()
                assert (event["code"], event["retryable"], sock.close_code) == ("overloaded", True, 1013)
                assert event["retry_after_s"] >= 1
                assert "try again in" in (sock.close_reason or "")
            await sock.close()
    await until_empty(quick)
    async with talking(quick):
        pass


async def test_a_request_that_stalls_in_its_head_is_cut(quick: Running):
    """Half a head holds a socket no longer than the read timeout."""
    at = urlsplit(quick.url)
    with socket.create_connection((at.hostname, at.port)) as sock:
        sock.settimeout(10)
        sock.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n")
        with suppress(ConnectionResetError):
            assert await asyncio.to_thread(sock.recv, 100) == b""


async def test_a_killed_recogniser_takes_no_slot_along(roomy: Running):
    """Sessions that outlive a killed recogniser, and those that end meanwhile, give everything back."""
    async with talking(roomy) as stays, talking(roomy) as leaves:
        await stays.send(media(1, 1, 0, sound(0.5)))
        await leaves.send(media(1, 1, 0, sound(0.5)))
        os.kill(roomy.child("asr").pid, signal.SIGKILL)
        await stays.until("degraded")
        leaves.socket.transport.abort()
        await stays.send(media(1, 2, 500_000, sound(0.5)))
        await stays.until("recovered")
        events = await stays.end()
    assert events[-1]["coverage"]["duration_us"] == 1_000_000
    await until_ready(roomy)
    await until_empty(roomy)

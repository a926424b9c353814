"""Clients that die, hang or never begin, in every way: each is noticed, and every slot comes back."""

import asyncio
import json
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import urlsplit

import pytest
from websockets.asyncio.client import connect

from bench.deaths import DEATHS, Die, by_hand, masked, until_empty
from tests.integration.test_stack import FAKES, until_ready
from tests.integration.test_stream import sound
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
ROUNDS = 6  # of each kind of death


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


async def empty(running: Running) -> None:
    """Wait until no slot is in use anywhere."""
    assert await until_empty(running.metrics.values(), 20) == {}


@pytest.mark.parametrize("die", DEATHS, ids=lambda die: die.__name__)
async def test_every_kind_of_death_gives_its_slots_back(roomy: Running, die: Die):
    """Six clients die side by side; afterwards neither the gateway nor a service holds anything for them."""
    await asyncio.gather(*(die(roomy.url) for _ in range(ROUNDS)))
    await empty(roomy)


async def test_a_client_that_vanished_is_noticed(roomy: Running):
    """A connection that is open but answers no ping is closed, long before it would be idle, and its slot freed."""
    async with by_hand(roomy.url) as sock:
        for number in range(3):
            sock.sendall(masked(2, media(1, number + 1, number * 100_000, sound(0.1))))
        await eventually(lambda: closed(sock))
        await empty(roomy)


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
    await empty(quick)


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
    await empty(quick)
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
    await empty(roomy)

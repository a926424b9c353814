"""Recording a session, against a small server on a real socket."""

import json
import struct
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import pytest
import websockets.asyncio.server as ws

from attune_client.errors import AttuneError
from attune_client.events import Committed
from bench.recording import record
from bench.tour import Picture

QUARTER_SECOND = bytes(8_000)
PICTURES = (Picture("late.jpg", 100_000, b"late"), Picture("early.jpg", 0, b"early"))

Received = list[tuple[int, int, bytes]]


def event(**fields: object) -> str:
    return json.dumps(fields)


@asynccontextmanager
async def serving(received: Received, ending: Callable[[], list[str]]) -> AsyncGenerator[str, None]:
    """Serve sessions that note media and answer ``session.end`` with ``ending``."""

    async def session(socket: ws.ServerConnection) -> None:
        await socket.recv()
        await socket.send(event(type="session.ready", event_no=1, session_id="s"))
        async for message in socket:
            if isinstance(message, str):
                break
            kind, _, pts_us = struct.unpack_from(">B3xIQ", message)
            received.append((kind, pts_us, message[16:]))
        for each in ending():
            await socket.send(each)

    async with ws.serve(session, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}"


def committed_then_ended() -> list[str]:
    word = {"id": 1, "text": " hello", "start_us": 0, "end_us": 5, "confidence": 0.5}
    commit = event(type="transcript.committed", event_no=2, words=[word])
    coverage = {"transcribed_us": 1, "silent_us": 1, "dropped": []}
    return [commit, event(type="session.ended", event_no=3, coverage=coverage)]


async def test_a_recording_holds_every_event_and_when_it_came() -> None:
    """Arrivals never go back in time; words come from the commits."""
    received: Received = []
    async with serving(received, committed_then_ended) as url:
        recording = await record(url, QUARTER_SECOND, PICTURES)
    times = [arrival.at_us for arrival in recording.arrivals]
    assert times == sorted(times)
    assert recording.text == "hello"
    assert any(isinstance(arrival.event, Committed) for arrival in recording.arrivals)


async def test_pictures_go_out_in_order_between_the_audio() -> None:
    """All audio arrives, in 50 ms frames; a picture goes before the first audio that is no older."""
    received: Received = []
    async with serving(received, committed_then_ended) as url:
        await record(url, QUARTER_SECOND, PICTURES)
    assert b"".join(data for kind, _, data in received if kind == 1) == QUARTER_SECOND
    assert [(kind, pts_us) for kind, pts_us, _ in received] == [
        (2, 0),
        (1, 0),
        (1, 50_000),
        (2, 100_000),
        (1, 100_000),
        (1, 150_000),
        (1, 200_000),
    ]


async def test_a_session_without_its_end_is_no_recording() -> None:
    """A server that closes without ``session.ended`` has not said everything."""
    async with serving([], list) as url:
        with pytest.raises(AttuneError, match="without ending"):
            await record(url, QUARTER_SECOND, ())

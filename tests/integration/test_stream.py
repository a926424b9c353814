"""A live session from outside: what comes back, in what order, and what bad input does."""

import asyncio
import base64
import io
import itertools
import json
import time

import httpx
import numpy as np
import pytest
from PIL import Image
from websockets.asyncio.client import connect

from tests.running import Running, Talk, media, talking


def sound(seconds: float) -> bytes:
    """Return a tone of 16 kHz PCM; the fake recogniser hears a word every half second of it."""
    t = np.arange(int(seconds * 16_000)) / 16_000
    return (np.sin(2 * np.pi * 200 * t) * 8000).astype("<i2").tobytes()


def picture(colour: str = "red") -> bytes:
    """Return a JPEG of one colour."""
    out = io.BytesIO()
    Image.new("RGB", (320, 240), colour).save(out, "JPEG")
    return out.getvalue()


async def test_a_session_from_start_to_end(fakes: Running):
    """Words are committed in order, the image is seen, coverage sums, numbers have no gap, and the close is 1000."""
    async with talking(fakes) as talk:
        await talk.send(media(2, 1, 0, picture()))
        await talk.until("frame")
        for seq in range(1, 41):
            await talk.send(media(1, seq, (seq - 1) * 50_000, sound(0.05)))
        events = await talk.end()
        assert talk.socket.close_code == 1000
    numbers = [event["event_no"] for event in events if "event_no" in event]
    assert numbers == list(range(1, len(numbers) + 1))
    unnumbered = {event["type"] for event in events if "event_no" not in event}
    assert unnumbered <= {"transcript.partial", "flow", "ack", "warning"}
    words = [word for event in talk.of("transcript.committed") for word in event["words"]]
    assert [word["id"] for word in words] == list(range(1, len(words) + 1))
    assert len(words) == 4
    assert all(a["end_us"] <= b["start_us"] for a, b in itertools.pairwise(words))
    assert talk.of("frame")[0]["status"] == "seen"
    coverage = events[-1]["coverage"]
    assert events[-1]["type"] == "session.ended"
    assert coverage["duration_us"] == 2_000_000
    assert coverage["transcribed_us"] + coverage["silent_us"] == 2_000_000
    assert talk.of("ack")[-1] == {"type": "ack", "audio_seq": 40, "image_seq": 1}
    aligned = {word_id for event in talk.of("alignment") if event["final"] for word_id in event["word_ids"]}
    assert aligned == {word["id"] for word in words}


async def test_a_flush_makes_everything_final(fakes: Running):
    """The marker comes after the words and final alignments of all that was said; the session goes on."""
    async with talking(fakes) as talk:
        await talk.send(media(1, 1, 0, sound(2.0)))
        await talk.send({"type": "flush", "marker": "now"})
        assert (await talk.until("marker"))["marker"] == "now"
        words = {word["id"] for event in talk.of("transcript.committed") for word in event["words"]}
        final = {word_id for event in talk.of("alignment") if event["final"] for word_id in event["word_ids"]}
        assert words
        assert final == words
        await talk.send(media(1, 2, 2_000_000, sound(1.0)))
        events = await talk.end()
    assert events[-1]["coverage"]["duration_us"] == 3_000_000


async def test_json_media_and_repeats(fakes: Running):
    """Media as JSON count as binary ones do; a sequence number that was here is ignored."""
    async with talking(fakes, align=False) as talk:
        data = base64.b64encode(sound(1.0)).decode()
        frame = {"type": "audio", "seq": 1, "pts_us": 0, "data": data}
        await talk.send(frame)
        await talk.send(frame)
        events = await talk.end()
    assert events[-1]["coverage"]["duration_us"] == 1_000_000
    assert talk.of("alignment") == []


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("nonsense", "invalid_input"),
        ('{"type":"dance"}', "invalid_input"),
        ('{"type":"flush"}', "invalid_input"),
        ('{"type":"session.start"}', "invalid_input"),
        (b"", "invalid_input"),
        (b"\x01\x00", "invalid_input"),
        (media(9, 1, 0, b"x"), "invalid_input"),
        (media(1, 0, 0, b"xx"), "invalid_input"),
        (media(1, 1, 2**60, b"xx"), "invalid_input"),
        (media(2, 1, 0, b""), "invalid_input"),
        (media(2, 1, 0, b"x" * 200_001), "too_large"),
        (media(1, 1, 0, b"x" * (2**20 + 1)), "too_large"),
        ('{"type":"image","seq":1,"pts_us":0,"data":"***"}', "invalid_input"),
    ],
)
async def test_a_malformed_message_is_told_and_the_session_goes_on(fakes: Running, message: str | bytes, code: str):
    """The typed error comes at once, is not fatal, and the next good audio is heard."""
    async with talking(fakes) as talk:
        await talk.send(message)
        error = await asyncio.wait_for(talk.until("error"), 2)
        assert (error["code"], error["fatal"]) == (code, False)
        await talk.send(media(1, 2, 0, sound(1.0)))  # a refused frame keeps its number
        events = await talk.end()
    assert events[-1]["type"] == "session.ended"
    assert sum(len(event["words"]) for event in talk.of("transcript.committed")) == 2


async def test_refused_media_are_acked(fakes: Running):
    """An image or a chunk that is refused is decided: it is told, and the ack goes past it."""
    async with talking(fakes) as talk:
        await talk.send(media(2, 1, 0, b""))
        assert (await talk.until("frame"))["status"] == "failed"
        await talk.send(media(2, 2, 0, b"x" * 200_001))
        assert (await talk.until("frame"))["code"] == "too_large"
        await talk.send(media(1, 1, 0, sound(0.5)))
        await talk.send(media(1, 2, 500_000, b"x" * (2**20 + 1)))
        await talk.end()
    assert talk.of("ack")[-1] == {"type": "ack", "audio_seq": 2, "image_seq": 2}
    assert talk.of("warning") == []


async def test_repeats_and_absurd_numbers_are_told(fakes: Running):
    """Media that are ignored for their number are never ignored in silence."""
    async with talking(fakes) as talk:
        await talk.send(media(1, 2**32 - 1, 0, sound(0.1)))
        assert (await talk.until("error"))["param"] == "seq"
        for _ in range(3):
            await talk.send(media(1, 1, 0, sound(0.5)))
        assert (await talk.until("warning"))["code"] == "seq_repeat"
        events = await talk.end()
    assert events[-1]["coverage"]["duration_us"] == 500_000
    assert len(talk.of("warning")) == 1


@pytest.mark.parametrize("payload", [b"no image", picture()[:300], b"\x00" * 5000])
async def test_a_broken_image_is_its_own_failure(fakes: Running, payload: bytes):
    """A frame that cannot be read fails with a reason and is acked; the next one is seen."""
    async with talking(fakes) as talk:
        await talk.send(media(2, 1, 0, payload))
        failed = await asyncio.wait_for(talk.until("frame"), 2)
        assert (failed["status"], bool(failed["reason"])) == ("failed", True)
        await talk.send(media(2, 2, 0, picture()))
        assert (await talk.until("frame"))["status"] == "seen"
        await talk.end()
    assert talk.of("ack")[-1]["image_seq"] == 2


@pytest.mark.parametrize(
    ("first", "param"),
    [
        ("nonsense", None),
        ('{"type":"flush","marker":"x"}', "type"),
        ('{"type":"session.start","audio":{"encoding":"mp9"}}', "audio.encoding"),
        ('{"type":"session.start","audio":{"sample_rate_hz":10}}', "audio.sample_rate_hz"),
        ('{"type":"session.start","model":"huge"}', "model"),
        ('{"type":"session.start","language":"xx"}', "language"),
        ('{"type":"session.start","resume":{"session_id":"s"}}', "resume"),
        (b"\x01\x00\x00", None),
    ],
)
async def test_a_session_that_cannot_start_says_why(fakes: Running, first: str | bytes, param: str | None):
    """A fatal error names the parameter, then the socket closes with 4400."""
    async with connect(fakes.ws) as socket:
        await socket.send(first)
        error = json.loads(await asyncio.wait_for(socket.recv(), 2))
        assert (error["type"], error["code"], error["fatal"]) == ("error", "invalid_input", True)
        assert error.get("param") == param
        await asyncio.wait_for(socket.wait_closed(), 2)
        assert socket.close_code == 4400


async def test_missing_numbers_draw_a_warning(fakes: Running):
    """A jump in seq is told, and the time without audio stands in the coverage."""
    async with talking(fakes) as talk:
        await talk.send(media(1, 1, 0, sound(0.5)))
        await talk.send(media(1, 5, 2_000_000, sound(0.5)))
        assert (await talk.until("warning"))["code"] == "seq_gap"
        events = await talk.end()
    dropped = events[-1]["coverage"]["dropped"]
    assert [(d["start_us"], d["end_us"]) for d in dropped] == [(500_000, 2_000_000)]


async def test_a_flood_of_images_never_holds_audio_back(fakes: Running):
    """Under pressure the newest images win, the others are told as dropped, and every one is acked."""
    async with talking(fakes) as talk:
        for seq in range(1, 41):
            await talk.send(media(2, seq, seq * 1000, picture()))
        await talk.send(media(1, 1, 0, sound(1.0)))
        await talk.end()
    frames = talk.of("frame")
    assert len(frames) == 40
    assert {frame["status"] for frame in frames} <= {"seen", "dropped"}
    assert next(frame for frame in frames if frame["id"] == "f40")["status"] == "seen"
    assert talk.of("ack")[-1] == {"type": "ack", "audio_seq": 1, "image_seq": 40}


async def test_a_hang_up_frees_the_session(fakes: Running):
    """After clients that vanish in every state, no session is left and the next one works."""
    for count in range(60):
        socket = await connect(fakes.ws)
        if count % 2:
            await socket.send('{"type":"session.start"}')
        if count % 3 == 0:
            await socket.send(media(1, 1, 0, sound(0.2)))
        socket.transport.abort()
    async with httpx.AsyncClient(base_url=fakes.url) as http:
        deadline = time.monotonic() + 10
        while "attune_sessions 0.0" not in (await http.get("/metrics")).text:
            assert time.monotonic() < deadline, "a session of a client that is gone still counts"
            await asyncio.sleep(0.1)
    async with talking(fakes) as talk:
        await talk.send(media(1, 1, 0, sound(1.0)))
        events = await talk.end()
    assert events[-1]["type"] == "session.ended"


async def test_pages_of_strangers_may_not_connect(fakes: Running):
    """A browser page from another origin is refused with 4403; the server's own page is not."""
    async with connect(fakes.ws, origin="https://evil.example") as socket:  # type: ignore[arg-type]
        assert json.loads(await socket.recv())["code"] == "forbidden"
        await socket.wait_closed()
        assert socket.close_code == 4403
    async with connect(fakes.ws, origin=fakes.url) as socket:  # type: ignore[arg-type]
        talk = Talk(socket)
        await talk.send({"type": "session.start"})
        await talk.until("session.ready")


async def test_events_are_in_redis_once_acked(fakes: Running):
    """What an ack speaks of stands in the session's list, number by number."""
    from redis.asyncio import Redis

    async with talking(fakes) as talk:
        await talk.send(media(1, 1, 0, sound(1.0)))
        await talk.send({"type": "flush", "marker": "m"})
        await talk.until("marker")
        await talk.until("ack")
        session_id = talk.of("session.ready")[0]["session_id"]
        await talk.end()
    async with Redis.from_url(fakes.processes["redis"]) as redis:
        stored = [json.loads(item) for item in await redis.zrange(f"attune:session:{session_id}:events", 0, -1)]
        ttl_s = await redis.ttl(f"attune:session:{session_id}:events")
    assert stored == [event for event in talk.events if "event_no" in event]
    assert 0 < ttl_s <= 3600


async def test_one_trace_holds_every_hop(fakes: Running):
    """The client's traceparent is followed through the gateway and every service."""
    trace_id = "4bf92f3577b34da6a3ce929d0e0e4736"
    async with talking(fakes, headers={"traceparent": f"00-{trace_id}-00f067aa0ba902b7-01"}) as talk:
        await talk.send(media(2, 1, 0, picture()))
        await talk.send(media(1, 1, 0, sound(1.0)))
        await talk.end()
    deadline = time.monotonic() + 10
    services: set[str] = set()
    while time.monotonic() < deadline and services != {"gateway", "asr", "vision", "aligner"}:
        await asyncio.sleep(0.2)
        lines = [
            line for path in (fakes.home / ".attune/traces").glob("*.jsonl") for line in path.read_text().splitlines()
        ]
        spans = [json.loads(line) for line in lines if trace_id in line]
        services = {span["service_name"] for span in spans}
    assert services == {"gateway", "asr", "vision", "aligner"}
    by_id = {span["span_id"]: span for span in spans}
    for span in spans:
        assert span["parent_span_id"] in by_id or span["parent_span_id"] == "00f067aa0ba902b7"
    names = {span["name"] for span in spans}
    assert {"asr.recognize", "vision.encode", "aligner.align"} <= names
    assert any("ZADD" in name for name in names)

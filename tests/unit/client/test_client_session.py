"""Live sessions against a real server."""

import asyncio

import pytest
from starlette.responses import JSONResponse

from attune_client import (
    Ack,
    Alignment,
    AttuneError,
    Committed,
    Event,
    Failed,
    Marker,
    SessionClosed,
    SessionEnded,
    SessionReady,
    Unknown,
    connect,
)
from tests.unit.client.server import Heard, Script

SECOND = bytes(32_000)
FATAL = {"type": "error", "code": "too_large", "message": "an image too many", "param": "data", "fatal": True}


async def test_audio_goes_in_and_typed_events_come_out(url: str, heard: Heard) -> None:
    """Six seconds of audio and an image: the words, the alignments and the end arrive, in the server's order."""
    async with connect(url) as session:
        await session.send_image(b"picture")
        await session.send_audio(SECOND * 6)
        await session.end()
        events = [event async for event in session]
    assert isinstance(events[0], SessionReady)
    assert isinstance(events[-1], SessionEnded)
    words = [word.text for event in events if isinstance(event, Committed) for word in event.words]
    assert " ".join(words) == "here you can see a cat. and this is a cup of coffee."
    assert [event.frame_id for event in events if isinstance(event, Alignment) and event.final] == ["f1", "f1"]
    numbers = [event.event_no for event in events if event.event_no is not None]
    assert numbers == list(range(1, len(numbers) + 1))
    assert heard.stamps(1) == [(seq, (seq - 1) * 100_000) for seq in range(1, 61)]


async def test_the_caller_says_who_and_what(url: str, heard: Heard) -> None:
    """Key and trace travel as headers, format and language in the first message."""
    trace = "00-" + "a" * 32 + "-" + "b" * 16 + "-01"
    async with connect(url, api_key="secret", traceparent=trace, language="en", sample_rate_hz=8_000, encoding="mulaw"):
        pass
    assert heard.headers["authorization"] == "Bearer secret"
    assert heard.headers["traceparent"] == trace
    assert heard.messages[0]["audio"] == {"encoding": "mulaw", "sample_rate_hz": 8_000, "channels": 1}
    assert heard.messages[0]["language"] == "en"


async def test_a_flush_is_answered_by_its_marker(url: str) -> None:
    """The session goes on after it."""
    async with connect(url) as session:
        await session.flush("here")
        await session.keepalive()
        await session.end()
        events = [event async for event in session]
    assert Marker("here", event_no=2) in events


async def test_media_is_unacked_until_the_server_says_so(url: str) -> None:
    """What was sent and not acknowledged is listed, and the lag is the server's last word."""
    async with connect(url) as session:
        await session.send_image(b"picture")
        await session.send_audio(SECOND)
        assert session.lag_us is None
        assert session.unacked_audio_seq == range(1, 11)
        assert session.unacked_image_seq == range(1, 2)
        await session.end()
        acked = [event.audio_seq async for event in session if isinstance(event, Ack)]
    assert session.unacked_audio_seq == range(acked[-1] + 1, 11)
    assert not session.unacked_image_seq
    assert session.lag_us == 250_000


async def test_an_unknown_event_does_not_end_a_session(url: str, script: Script) -> None:
    """Older clients live with newer servers."""
    script.extra = ({"type": "brand.new", "data": 1},)
    async with connect(url) as session:
        await session.end()
        events = [event async for event in session]
    assert Unknown("brand.new", {"type": "brand.new", "data": 1}) in events


async def test_a_session_cut_off_says_why(url: str, script: Script) -> None:
    """After the events that came, SessionClosed carries the close code and what the last fatal error said."""
    script.close_after_audio, script.before_close = (4413, "too large"), (FATAL,)
    events: list[Event] = []
    with pytest.raises(SessionClosed, match="an image too many") as caught:
        async with connect(url) as session:
            await session.send_audio(SECOND)
            async for event in session:
                events.append(event)  # noqa: PERF401 - the loop raises, and what came before it is wanted
    assert any(isinstance(event, Failed) and event.fatal for event in events)
    closed = caught.value
    assert (closed.close_code, closed.code, closed.param, closed.retryable) == (4413, "too_large", "data", False)


@pytest.mark.parametrize(
    ("code", "name", "retryable"), [(1012, "unavailable", True), (4408, "idle", True), (4409, "conflict", False)]
)
async def test_a_close_code_is_a_typed_error(url: str, script: Script, code: int, name: str, retryable: bool) -> None:
    """Without an error event the close code alone says what it was."""
    script.close_after_audio = (code, "")
    with pytest.raises(SessionClosed) as caught:
        async with connect(url) as session:
            await session.send_audio(SECOND)
            async for _ in session:
                pass
    assert (caught.value.close_code, caught.value.code, caught.value.retryable) == (code, name, retryable)


async def test_a_refused_handshake_carries_the_servers_problem(url: str, script: Script) -> None:
    """A problem document on the upgrade becomes the error, with its Retry-After."""
    problem = {"detail": "no such key", "code": "unauthenticated"}
    script.refuse_upgrade = JSONResponse(problem, 401, {"Retry-After": "7"})
    with pytest.raises(AttuneError, match="no such key") as caught:
        async with connect(url):
            pass
    assert (caught.value.code, caught.value.retry_after_s) == ("unauthenticated", 7.0)


async def test_an_error_before_the_session_needs_no_number(url: str, script: Script) -> None:
    """Numbers begin with the session; what refused it is what the caller hears."""
    script.instead_of_ready = FATAL
    with pytest.raises(SessionClosed, match="an image too many") as caught:
        async with connect(url):
            pass
    assert (caught.value.close_code, caught.value.code, caught.value.param) == (4400, "too_large", "data")


@pytest.mark.parametrize("host", ["a..b", "a" * 70])
async def test_a_host_that_no_name_can_be_is_an_error_in_one_line(host: str) -> None:
    """Names of empty or endless parts are not even looked up."""
    with pytest.raises(AttuneError, match="cannot reach"):
        async with connect(f"http://{host}"):
            pass


async def test_no_server_is_an_error_in_one_line() -> None:
    """A refused connection is 'unavailable' and may be tried again."""
    with pytest.raises(AttuneError, match=r"cannot reach ws://127\.0\.0\.1:9/v1/stream") as caught:
        async with connect("http://127.0.0.1:9"):
            pass
    assert (caught.value.code, caught.value.retryable) == ("unavailable", True)


async def test_a_misspelt_option_is_refused() -> None:
    """An option that nobody reads would silently change nothing."""
    with pytest.raises(TypeError, match="lang"):
        async with connect("http://127.0.0.1:9", lang="en"):  # type: ignore[call-arg]
            pass


async def test_leaving_the_block_closes_the_session(url: str) -> None:
    """Afterwards sending is an error and reading ends."""
    async with connect(url) as session:
        pass
    with pytest.raises(SessionClosed):
        await session.send_audio(SECOND)
    async with asyncio.timeout(5):
        assert [type(event) async for event in session] == [SessionReady]

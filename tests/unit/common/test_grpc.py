"""Spans and answers of every way a stream can end, over a real connection."""

import asyncio
import gc
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from attune.v1 import vision_pb2_grpc
from services.common import grpc_server
from services.common.errors import AttuneError, Idle, Overloaded, Unavailable
from services.common.grpc_client import is_serving, open_channel, stream_client
from services.common.grpc_server import Hosted, health_of, open_server
from services.common.ports import Call, ImageEncoder
from services.common.telemetry import JsonLinesExporter
from services.common.types import EncodeConfig, FailedFrame, Image, VisionEvent, VisionInput
from services.common.wire.vision import CODEC
from services.vision.servicer import NAME, hosted


@pytest.fixture(scope="module")
def spans(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file that this module's spans are written to."""
    path = tmp_path_factory.mktemp("traces") / "spans.jsonl"
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(JsonLinesExporter(path)))
    trace.set_tracer_provider(provider)
    return path


async def port(inputs: AsyncIterator[VisionInput], call: Call) -> AsyncGenerator[VisionEvent, None]:
    """Answer, refuse, crash or wait, as the image's id says."""
    async for item in inputs:
        if isinstance(item, Image):
            if item.id == "refuse":
                raise Overloaded("full", retry_after_s=3)
            if item.id == "crash":
                raise ZeroDivisionError("secret")
            if item.id == "wait":
                yield FailedFrame("waiting", "c", "m")
                await asyncio.Event().wait()
            yield FailedFrame(item.id, "c", call.session_id)


async def items(*ids: str) -> AsyncIterator[VisionInput]:
    """Yield a configuration and images with these ids."""
    yield EncodeConfig()
    for image_id in ids:
        yield Image(image_id, 0, b"")


async def ended_as(session_id: str, image_id: str) -> str:
    """Call the port and return how it ended."""
    async with open_server("127.0.0.1:0", [hosted(port)], drain_s=0) as address, open_channel(address) as channel:
        call = stream_client("client", vision_pb2_grpc.VisionEncoderStub(channel).Encode, CODEC)
        stream = call(items(image_id), Call(session_id))
        try:
            async for event in stream:
                if isinstance(event, FailedFrame) and event.id == "waiting":
                    await stream.aclose()
                    return "left"
        except AttuneError as error:
            return f"{error.code} {error.message}"
        return "ok"


@pytest.mark.parametrize(
    ("image_id", "ended", "server"),
    [
        ("fine", "ok", ("UNSET", {})),
        ("refuse", "overloaded full", ("UNSET", {"error_code": "overloaded"})),
        ("crash", "internal something went wrong on our side", ("ERROR", {"error_code": "internal"})),
        ("wait", "left", ("UNSET", {})),
    ],
)
async def test_every_outcome_is_on_both_spans(
    spans: Path, image_id: str, ended: str, server: tuple[str, dict[str, str]]
):
    """A crash is an error, a refusal names its code, a hang-up is neither; both spans are in one trace."""
    session_id = f"session-{image_id}"
    assert await ended_as(session_id, image_id) == ended
    await asyncio.sleep(0.05)
    records = [json.loads(line) for line in await asyncio.to_thread(lines, spans)]
    mine = {r["name"]: r for r in records if r["attributes"].get("session_id") == session_id}
    assert set(mine) == {"client", "vision.encode"}
    status, attributes = server
    for record in mine.values():
        assert record["status_code"] == status
        assert attributes.items() <= record["attributes"].items()
        assert record["end_time_unix_nano"] >= record["start_time_unix_nano"]
    assert mine["vision.encode"]["parent_span_id"] == mine["client"]["span_id"]
    assert mine["vision.encode"]["trace_id"] == mine["client"]["trace_id"]


def lines(path: Path) -> list[str]:
    """Return a file's lines."""
    return path.read_text().splitlines()


async def refuses(inputs: AsyncIterator[VisionInput], _call: Call) -> AsyncGenerator[VisionEvent, None]:
    """Refuse after the first image."""
    await anext(inputs)
    await anext(inputs)
    raise Overloaded("full")
    yield


async def leaves(inputs: AsyncIterator[VisionInput], _call: Call) -> AsyncGenerator[VisionEvent, None]:
    """End well after the first image."""
    await anext(inputs)
    yield FailedFrame("x", "c", "m")


@asynccontextmanager
async def far(near: ImageEncoder) -> AsyncGenerator[ImageEncoder, None]:
    """Yield a port as it is over a connection."""
    async with open_server("127.0.0.1:0", [hosted(near)], drain_s=0) as address, open_channel(address) as channel:
        yield stream_client("vision.encode", vision_pb2_grpc.VisionEncoderStub(channel).Encode, CODEC)


async def much() -> AsyncGenerator[VisionInput, None]:
    """Yield more than a connection lets in at once."""
    yield EncodeConfig()
    for _ in range(500):
        yield Image("x", 0, b"x" * 3_000)


async def test_a_refusal_arrives_while_the_client_still_sends():
    """A port that refuses at once is heard as it spoke, every time, however much is on its way."""
    async with far(refuses) as port_again:
        for _ in range(200):
            with pytest.raises(Overloaded, match="full"):
                _ = [event async for event in port_again(much(), Call())]


async def test_a_good_end_arrives_while_the_client_still_sends():
    """A port that has enough ends its stream, and nothing is wrong with that."""
    async with far(leaves) as port_again:
        for _ in range(50):
            assert [event async for event in port_again(much(), Call())] == [FailedFrame("x", "c", "m")]


async def test_a_refused_call_leaves_nothing_behind():
    """Inputs that wait are closed with their call, so asyncio has nothing to complain of."""
    complaints: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: complaints.append(context["message"]))
    closed = 0

    async def waiting() -> AsyncGenerator[VisionInput, None]:
        nonlocal closed
        try:
            yield EncodeConfig()
            yield Image("x", 0, b"")
            await asyncio.Event().wait()
        finally:
            closed += 1

    async with far(refuses) as port_again:
        for _ in range(20):
            with pytest.raises(Overloaded):
                _ = [event async for event in port_again(waiting(), Call())]
        assert closed == 20
    gc.collect()
    await asyncio.sleep(0)
    assert complaints == []


async def test_a_failed_input_is_the_calls_error():
    """What the caller's inputs raise comes back to the caller as it was."""

    async def fails() -> AsyncGenerator[VisionInput, None]:
        yield EncodeConfig()
        raise Idle("said nothing")

    async with far(port) as port_again:
        with pytest.raises(Idle, match="said nothing"):
            _ = [event async for event in port_again(fails(), Call())]


async def test_a_service_that_is_not_there_is_named():
    """Users read which stage is missing, not what gRPC says of addresses."""
    async with open_channel("127.0.0.1:1") as channel:
        call = stream_client("vision.encode", vision_pb2_grpc.VisionEncoderStub(channel).Encode, CODEC)
        with pytest.raises(Unavailable) as caught:
            _ = [event async for event in call(items("x"), Call())]
    assert caught.value.message == "vision does not answer"


async def test_health_and_a_taken_port():
    """The health service knows the service; a second server on the same port is an OSError that says so."""
    async with open_server("127.0.0.1:0", [hosted(port)]) as address, open_channel(address) as channel:
        assert await is_serving(channel, NAME, 2)
        assert not await is_serving(channel, "attune.v1.Nothing", 2)
        with pytest.raises(OSError, match="something else"):
            async with open_server(address, [hosted(port)]):
                pass
    async with open_channel(address) as channel:
        assert not await is_serving(channel, NAME, 0.5)


class StuckPort:
    """A port whose engine is well or stuck, as it is told."""

    def __init__(self) -> None:
        self.well = True

    async def __call__(self, inputs: AsyncIterator[VisionInput], call: Call) -> AsyncGenerator[VisionEvent, None]:
        """Answer nothing."""
        return
        yield

    def healthy(self) -> bool:
        """Return whether it is well."""
        return self.well


async def test_an_engine_that_is_stuck_is_not_serving_until_it_moves_again(monkeypatch: pytest.MonkeyPatch):
    """Its service and the process say so within a moment; another service of the process stays as it is."""
    monkeypatch.setattr(grpc_server, "HEALTH_EVERY_S", 0.01)
    stuck = StuckPort()
    services = [hosted(stuck), Hosted("other", lambda server: None)]
    async with open_server("127.0.0.1:0", services, drain_s=0) as address, open_channel(address) as channel:

        async def serving() -> list[bool]:
            return [await is_serving(channel, name, 1.0) for name in (NAME, "", "other")]

        assert await serving() == [True, True, True]
        for well in (False, True):
            stuck.well = well
            await asyncio.sleep(0.2)
            assert await serving() == [well, well, True]


def test_a_port_that_cannot_tell_is_taken_to_be_well():
    """Fakes and guards need no health of their own."""
    assert health_of(port)()
    assert health_of(StuckPort())()

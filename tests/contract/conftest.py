"""Every port twice: called directly, and through its servicer, a real gRPC connection and its client."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from attune.v1 import aligner_pb2_grpc, asr_pb2_grpc, vision_pb2, vision_pb2_grpc
from services.aligner import servicer as aligner_servicer
from services.aligner.app import open_aligner
from services.aligner.settings import AlignerSettings
from services.asr import servicer as asr_servicer
from services.asr.app import open_transcriber
from services.asr.settings import AsrSettings
from services.common.grpc_client import open_channel, stream_client
from services.common.grpc_server import open_server
from services.common.grpc_whole import whole_client
from services.common.ports import Call, Port
from services.common.wire import aligner as aligner_wire
from services.common.wire import asr as asr_wire
from services.common.wire import vision as vision_wire
from services.vision import servicer as vision_servicer
from services.vision.app import open_image_encoder
from services.vision.settings import VisionSettings


@dataclass(frozen=True)
class Kind:
    """How one port is opened, hosted and called."""

    open: Callable[[str], Any]
    hosted: Callable[[Any], Any]
    client: Callable[[Any], Any]
    real: str
    whole: Callable[[Any], Any] | None = None


KINDS = {
    "asr": Kind(
        lambda model: open_transcriber(AsrSettings(model=model)),
        asr_servicer.hosted,
        lambda channel: stream_client("asr", asr_pb2_grpc.SpeechRecognizerStub(channel).Recognize, asr_wire.CODEC),
        "tiny.en",
    ),
    "vision": Kind(
        lambda model: open_image_encoder(VisionSettings(model=model)),
        vision_servicer.hosted,
        lambda channel: stream_client("vision", vision_pb2_grpc.VisionEncoderStub(channel).Encode, vision_wire.CODEC),
        "efficientnet-lite0",
        lambda channel: whole_client(
            "vision",
            vision_pb2_grpc.VisionEncoderStub(channel).EncodeWhole,
            vision_wire.CODEC,
            vision_pb2.EncodeRequests,
        ),
    ),
    "aligner": Kind(
        lambda model: open_aligner(AlignerSettings(model=model)),
        aligner_servicer.hosted,
        lambda channel: stream_client(
            "aligner", aligner_pb2_grpc.CrossModalAlignerStub(channel).Align, aligner_wire.CODEC
        ),
        "conse-minilm",
    ),
}


@dataclass(frozen=True)
class Pair:
    """One engine, reached in both ways; the image encoder also by one call for all."""

    direct: Port[Any, Any]
    grpc: Port[Any, Any]
    whole: Port[Any, Any] | None = None

    def all(self) -> Sequence[tuple[str, Port[Any, Any]]]:
        """Return both ways with their names."""
        return (("direct", self.direct), ("grpc", self.grpc))


@asynccontextmanager
async def open_pair(name: str, model: str) -> AsyncGenerator[Pair, None]:
    """Yield the port ``name`` with ``model``, directly and through gRPC."""
    kind = KINDS[name]
    async with AsyncExitStack() as stack:
        port = await stack.enter_async_context(kind.open(model))
        address = await stack.enter_async_context(open_server("127.0.0.1:0", [kind.hosted(port)], drain_s=1))
        channel = await stack.enter_async_context(open_channel(address))
        yield Pair(port, kind.client(channel), kind.whole(channel) if kind.whole else None)


async def given(*items: Any) -> AsyncIterator[Any]:
    """Yield the items, then end."""
    for item in items:
        yield item


async def outputs(port: Port[Any, Any], *items: Any, call: Call | None = None) -> list[Any]:
    """Return everything that a port answers to the items."""
    return [output async for output in port(given(*items), call or Call(session_id="s").within(60))]


@pytest.fixture(params=["fake", "real"])
def model_of(request: pytest.FixtureRequest) -> Callable[[str], str]:
    """Return which model a port shall open: its fake, then its real one."""
    return lambda name: "fake" if request.param == "fake" else KINDS[name].real

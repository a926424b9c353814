"""Opens the three upstreams: a channel each, and the port that its stub is.

Called by the composition root in app.py.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import grpc

from attune.v1 import aligner_pb2_grpc, asr_pb2_grpc, vision_pb2, vision_pb2_grpc
from services.common.grpc_client import is_serving, open_channel, stream_client
from services.common.grpc_whole import whole_client
from services.common.ports import Aligner, ImageEncoder, Transcriber
from services.common.wire import aligner as aligner_wire
from services.common.wire import asr as asr_wire
from services.common.wire import vision as vision_wire
from services.gateway.guards import with_deadline, with_metrics
from services.gateway.settings import GatewaySettings

HEALTH_TIMEOUT_S = 1.0


@dataclass(frozen=True, slots=True)
class Upstreams:
    """The three ports a session needs, guarded, and how to ask whether each is there."""

    transcriber: Transcriber
    image_encoder: ImageEncoder
    whole_image_encoder: ImageEncoder  # for images that are all there, and few
    aligner: Aligner
    channels: dict[str, tuple[grpc.aio.Channel, str]]

    async def health(self) -> dict[str, bool]:
        """Ask every upstream's health service; False where it does not answer within a second."""
        asked = [is_serving(channel, service, HEALTH_TIMEOUT_S) for channel, service in self.channels.values()]
        return dict(zip(self.channels, await asyncio.gather(*asked), strict=True))


@asynccontextmanager
async def open_upstreams(settings: GatewaySettings) -> AsyncGenerator[Upstreams, None]:
    """Yield the upstreams; channels connect when first used, so a missing service does not stop the gateway."""
    async with AsyncExitStack() as stack:
        asr = await stack.enter_async_context(open_channel(settings.asr))
        vision = await stack.enter_async_context(open_channel(settings.vision))
        aligner = await stack.enter_async_context(open_channel(settings.aligner))
        recognize = asr_pb2_grpc.SpeechRecognizerStub(asr).Recognize
        seeing = vision_pb2_grpc.VisionEncoderStub(vision)
        whole = whole_client("vision.encode", seeing.EncodeWhole, vision_wire.CODEC, vision_pb2.EncodeRequests)
        align = aligner_pb2_grpc.CrossModalAlignerStub(aligner).Align
        yield Upstreams(
            with_metrics(stream_client("asr.recognize", recognize, asr_wire.CODEC), "asr"),
            with_metrics(
                with_deadline(
                    stream_client("vision.encode", seeing.Encode, vision_wire.CODEC), settings.image_timeout_s
                ),
                "vision",
            ),
            with_metrics(with_deadline(whole, settings.image_timeout_s), "vision"),
            with_metrics(stream_client("aligner.align", align, aligner_wire.CODEC), "aligner"),
            {
                "asr": (asr, "attune.v1.SpeechRecognizer"),
                "vision": (vision, "attune.v1.VisionEncoder"),
                "aligner": (aligner, "attune.v1.CrossModalAligner"),
            },
        )

"""Opens the image encoder that the settings ask for. Called by the command that serves, and by tests.

Settings in, a port out that is ready: decoders running, weights checked and loaded, one image encoded.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image as Picture

from services.common.ports import ImageEncoder
from services.common.types import EncodedFrame, Image, ImageReport
from services.inference.batching import Batcher
from services.inference.imagenet import class_names
from services.inference.processes import Processes
from services.vision.decode import Decoded, DecodeLimits, decode_image
from services.vision.encoding import Network, Shot, batch_settings
from services.vision.engine import EncoderLimits, GridImageEncoder
from services.vision.models.fake import FakeImageEncoder
from services.vision.settings import VisionSettings
from services.vision.sizing import input_size

if TYPE_CHECKING:
    from services.vision.models.efficientnet import EfficientNetLite0


@asynccontextmanager
async def open_image_encoder(settings: VisionSettings) -> AsyncGenerator[ImageEncoder, None]:
    """Yield the encoder when it is ready.

    FileNotFoundError where the weights are not installed, ValueError where they are not the known ones or where the
    device does not exist.
    """
    limits = DecodeLimits(settings.max_pixels, settings.max_side_px)
    if settings.model == "fake":
        yield FakeImageEncoder(limits, settings.max_image_bytes)
    else:
        async with _open_grid_encoder(settings, limits) as encoder:
            yield encoder


@asynccontextmanager
async def _open_grid_encoder(settings: VisionSettings, decode: DecodeLimits) -> AsyncGenerator[GridImageEncoder, None]:
    limits = EncoderLimits(settings.max_image_bytes, settings.images_per_stream, decode)
    async with _decoders(settings) as decoders:
        # The decoders start while torch is imported and the weights are read.
        model, _ = await asyncio.gather(
            asyncio.to_thread(_load, settings.device), decoders.warm_up(decode_image, _sample_file(), decode)
        )
        network = Network(model, class_names())
        batches = batch_settings(model.device.type, settings.workers, settings.queue_size, settings.max_side_px)
        async with Batcher("vision", batches, network.frames) as batcher:
            await _warm_up(batcher, batches.workers, settings.max_side_px)
            yield GridImageEncoder(settings.model, decoders, batcher, limits)


async def _warm_up(batcher: Batcher[Shot, EncodedFrame], workers: int, max_side_px: int) -> None:
    width, height = input_size(max_side_px, max_side_px, max_side_px)
    blank = Decoded(np.zeros((height, width, 3), np.uint8), ImageReport("", width, height), 0)
    await asyncio.gather(*(batcher.submit(Shot(Image("", 0, b""), blank)) for _ in range(workers)))


def _decoders(settings: VisionSettings) -> Processes:
    return Processes(
        "image decoders", settings.decoder_processes, settings.decoder_queue_size, settings.decode_timeout_s
    )


def _load(device: str) -> "EfficientNetLite0":
    # Imported here: torch takes a second, and the fake does not need it.
    from services.inference.device import pick_device
    from services.vision.models.efficientnet import EfficientNetLite0

    return EfficientNetLite0(pick_device(device))


def _sample_file() -> bytes:
    file = BytesIO()
    Picture.new("RGB", (1, 1)).save(file, "JPEG")
    return file.getvalue()

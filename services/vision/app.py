"""Opens the image encoder that the settings ask for. Called by the command that serves, and by tests.

Settings in, a port out that is ready: decoders running, weights checked and loaded, one image encoded.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager
from io import BytesIO
from typing import TYPE_CHECKING

from PIL import Image as Picture

from services.common.ports import ImageEncoder
from services.common.types import EncodedFrame, Image
from services.inference.arena import Arena
from services.inference.batching import Batcher
from services.inference.handoff import Handoff
from services.inference.imagenet import class_names
from services.inference.place import place_of
from services.inference.processes import Processes
from services.inference.turns import Turns
from services.vision.decode import Decoded, DecodeLimits, decode_image
from services.vision.decoders import Decoders
from services.vision.encoding import Network, Shot, batch_settings, moved_bytes
from services.vision.engine import EncoderLimits, GridImageEncoder
from services.vision.models.fake import FakeImageEncoder
from services.vision.settings import VisionSettings
from services.vision.sizing import most_pixels

if TYPE_CHECKING:
    from services.vision.models.efficientnet import EfficientNetLite0


@asynccontextmanager
async def open_image_encoder(
    settings: VisionSettings, turns: Turns | None = None
) -> AsyncGenerator[ImageEncoder, None]:
    """Yield the encoder when it is ready; on CPU it takes ``turns`` with the other services of the process.

    FileNotFoundError where the weights are not installed, ValueError where they are not the known ones or where the
    device does not exist.
    """
    limits = DecodeLimits(settings.max_pixels, settings.max_side_px)
    if settings.model == "fake":
        yield FakeImageEncoder(limits, settings.max_image_bytes)
    else:
        async with _open_grid_encoder(settings, limits, turns) as encoder:
            yield encoder


@asynccontextmanager
async def _open_grid_encoder(
    settings: VisionSettings, limits: DecodeLimits, turns: Turns | None
) -> AsyncGenerator[GridImageEncoder, None]:
    async with _open_decoders(settings, limits) as decoders:
        # The decoders start while torch is imported and the weights are read.
        model, _ = await asyncio.gather(
            asyncio.to_thread(_load, settings.device), decoders.processes.warm_up(decode_image, _blank_file(1), limits)
        )
        network = Network(model, class_names(), decoders.handoff)
        batches = batch_settings(model.device.type, settings.workers, settings.slots, settings.max_side_px)
        # On CUDA the streams' priorities decide.
        place = place_of(turns if model.device.type == "cpu" else None, "vision", moved_bytes)
        with _pinned(model, decoders.arena):
            async with Batcher("vision", batches, network.frames, gate=place) as batcher:
                await _warm_up(decoders, batcher, min(batches.workers, settings.slots))
                yield GridImageEncoder(
                    settings.model,
                    decoders,
                    batcher,
                    EncoderLimits(settings.max_image_bytes, settings.images_per_stream),
                )


@asynccontextmanager
async def _open_decoders(settings: VisionSettings, limits: DecodeLimits) -> AsyncGenerator[Decoders, None]:
    handoff: Handoff[Decoded] = Handoff(settings.slots, settings.decoder_queue_size)
    with Arena(settings.slots, 3 * most_pixels(settings.max_side_px)) as arena:
        # Whoever asks a process has a slot, so no more can wait for one.
        async with Processes(
            "image decoders", settings.decoder_processes, settings.slots, settings.decode_timeout_s, arena=arena
        ) as processes:
            yield Decoders(processes, arena, handoff, limits)


async def _warm_up(decoders: Decoders, batcher: Batcher[Shot, EncodedFrame], workers: int) -> None:
    """Have every worker encode an image of the largest usual size at once."""
    file = _blank_file(decoders.limits.max_side_px)
    async with AsyncExitStack() as held:
        places = [await held.enter_async_context(decoders.decoded(file)) for _ in range(workers)]
        shots = (Shot(Image("", 0, b""), place.sequence, place.shape) for place in places)
        await asyncio.gather(*(batcher.submit(shot) for shot in shots))


def _load(device: str) -> "EfficientNetLite0":
    # Imported here: torch takes a second, and the fake does not need it.
    from services.inference.device import pick_device
    from services.vision.models.efficientnet import EfficientNetLite0

    return EfficientNetLite0(pick_device(device))


def _pinned(model: "EfficientNetLite0", arena: Arena) -> AbstractContextManager[None]:
    from services.inference.device import pinned

    return pinned(model.device, arena.all_bytes)


def _blank_file(side_px: int) -> bytes:
    file = BytesIO()
    Picture.new("RGB", (side_px, side_px)).save(file, "JPEG")
    return file.getvalue()

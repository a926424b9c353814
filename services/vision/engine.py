"""The image encoder: a configuration and images in, one answer for each image out, as they are ready.

Files are decoded in processes and encoded on worker threads. Opened by app, put on gRPC by the servicer.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from opentelemetry import trace

from services.common.deadlines import until
from services.common.ports import Call
from services.common.types import EncodedFrame, Image, StageTiming, VisionEvent, VisionInput
from services.inference.processes import Processes
from services.inference.worker import Workers
from services.vision.decode import Decoded, DecodeLimits, decode_image
from services.vision.frame import Features, failed_frame, frame_of
from services.vision.inputs import check_bytes, image_of, take_config

tracer = trace.get_tracer(__name__)

Answers: TypeAlias = "asyncio.Queue[VisionEvent | None]"


class GridModel(Protocol):
    """A network that describes every cell of an image."""

    def encode(self, pixels: NDArray[np.uint8]) -> Features:
        """Return the features of RGB ``pixels`` (height, width, 3)."""


@dataclass(frozen=True, slots=True)
class Network:
    """A loaded model, its name and the names of its classes."""

    name: str
    model: GridModel
    class_names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EncoderLimits:
    """What one image and one stream may ask for."""

    max_image_bytes: int
    images_per_stream: int
    decode: DecodeLimits


class GridImageEncoder:
    """An ImageEncoder around one network; all streams share its decoders and workers."""

    def __init__(self, network: Network, decoders: Processes, workers: Workers, limits: EncoderLimits) -> None:
        self._network = network
        self._decoders = decoders
        self._workers = workers
        self._limits = limits

    async def __call__(self, inputs: AsyncIterator[VisionInput], call: Call) -> AsyncGenerator[VisionEvent, None]:
        """Answer each image with an EncodedFrame or a FailedFrame; InvalidInput for a wrong order or model."""
        await take_config(inputs, self._network.name)
        answers: Answers = asyncio.Queue(self._limits.images_per_stream)
        async with asyncio.TaskGroup() as group:
            reading = group.create_task(self._read(inputs, call, answers))
            try:
                while (answer := await answers.get()) is not None:
                    yield answer
            except GeneratorExit:  # the caller left, which a TaskGroup would turn into an error
                reading.cancel()
                return
        if failure := reading.result():
            raise failure

    async def _read(self, inputs: AsyncIterator[VisionInput], call: Call, answers: Answers) -> Exception | None:
        """Have all images answered, then end the answers; return what broke the inputs off."""
        failure = None
        try:
            await self._answer_all(inputs, call, answers)
        except ExceptionGroup as group:  # handed over: raised here, it would cancel the caller wherever it stands
            failure = group.exceptions[0]
        await answers.put(None)
        return failure

    async def _answer_all(self, inputs: AsyncIterator[VisionInput], call: Call, answers: Answers) -> None:
        free = asyncio.Semaphore(self._limits.images_per_stream)

        async def answer(image: Image) -> None:
            await answers.put(await self._answer(image, call))
            free.release()

        async with asyncio.TaskGroup() as group:
            async for item in inputs:
                await free.acquire()
                group.create_task(answer(image_of(item)))

    async def _answer(self, image: Image, call: Call) -> VisionEvent:
        try:
            async with until(call.deadline):
                return await self._encode(image)
        except Exception as error:  # one bad image never spoils the others
            return failed_frame(image.id, error)

    async def _encode(self, image: Image) -> EncodedFrame:
        check_bytes(image, self._limits.max_image_bytes)
        decoded, waited_us = await self._decode(image.data)
        # A caller that left has cancelled this task by now, so the device is not spent on it.
        encoded = await self._workers.run(lambda: self._encode_pixels(image, decoded))
        timing = StageTiming(
            queue_us=waited_us + encoded.timing.queue_us,
            compute_us=decoded.decode_us + encoded.timing.compute_us,
            device_us=encoded.value.timing.device_us,
        )
        return replace(encoded.value, timing=timing)

    async def _decode(self, data: bytes) -> tuple[Decoded, int]:
        """Return the decoded image and the µs it waited for a process, the way there and back included."""
        asked_ns = time.monotonic_ns()
        with tracer.start_as_current_span("vision.decode"):
            decoded = await self._decoders.run(decode_image, data, self._limits.decode)
        return decoded, max(0, (time.monotonic_ns() - asked_ns) // 1000 - decoded.decode_us)

    def _encode_pixels(self, image: Image, decoded: Decoded) -> EncodedFrame:
        features = self._network.model.encode(decoded.pixels)
        return frame_of(image, decoded.report, features, self._network.class_names)

"""The image encoder: a configuration and images in, one answer for each image out, as they are ready.

Files are decoded in processes, handed over in shared memory, and encoded in batches on worker threads. Opened by app,
put on gRPC by the servicer.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from services.common.deadlines import until
from services.common.ports import Call
from services.common.types import EncodedFrame, Image, StageTiming, VisionEvent, VisionInput
from services.inference.batching import Batcher
from services.inference.lanes import Job
from services.vision.decoders import Decoders
from services.vision.encoding import Shot
from services.vision.frame import failed_frame
from services.vision.inputs import check_bytes, image_of, take_config

Answers: TypeAlias = "asyncio.Queue[VisionEvent | None]"


@dataclass(frozen=True, slots=True)
class EncoderLimits:
    """What one image and one stream may ask for."""

    max_image_bytes: int
    images_per_stream: int


class GridImageEncoder:
    """An ImageEncoder around the network called ``name``; all streams share its decoders and its batcher."""

    def __init__(
        self, name: str, decoders: Decoders, batcher: Batcher[Shot, EncodedFrame], limits: EncoderLimits
    ) -> None:
        self._name = name
        self._decoders = decoders
        self._batcher = batcher
        self._limits = limits

    def healthy(self) -> bool:
        """Return whether images move on."""
        return self._batcher.healthy()

    async def __call__(self, inputs: AsyncIterator[VisionInput], call: Call) -> AsyncGenerator[VisionEvent, None]:
        """Answer each image with an EncodedFrame or a FailedFrame; InvalidInput for a wrong order or model."""
        await take_config(inputs, self._name)
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
                return await self._encode(image, call)
        except Exception as error:  # one bad image never spoils the others
            return failed_frame(image.id, error)

    async def _encode(self, image: Image, call: Call) -> EncodedFrame:
        check_bytes(image, self._limits.max_image_bytes)
        async with self._decoders.decoded(image.data, call.priority) as place:
            # A caller that left has cancelled this task by now, so the device is not spent on it.
            shot = Shot(image, place.sequence, place.shape)
            encoded = await self._batcher.submit(
                shot, size=shot.size, kind=shot.shape, deadline=call.deadline, job=Job(call.priority)
            )
        timing = StageTiming(
            queue_us=place.waited_us + encoded.timing.queue_us,
            compute_us=place.decode_us + encoded.timing.compute_us,
            device_us=encoded.value.timing.device_us,
        )
        return replace(encoded.value, timing=timing)

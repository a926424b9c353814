"""Has image files decoded into slots of shared memory: bytes in, the number of an entry to take out.

The pixels are written once, by the decoder process, and read where they lie. Called by the engine.
"""

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from opentelemetry import trace

from services.common.ports import Priority
from services.inference.arena import Arena
from services.inference.handoff import Handoff
from services.inference.processes import Processes
from services.vision.decode import Decoded, DecodeLimits, decode_into

tracer = trace.get_tracer(__name__)


@dataclass(frozen=True, slots=True)
class InSlot:
    """Where the image lies, by the number of its slot's use; its shape; the µs it was decoded and waited for that."""

    sequence: int
    shape: tuple[int, ...]
    decode_us: int
    waited_us: int


@dataclass(frozen=True, slots=True)
class Decoders:
    """Processes that write into the arena's slots; ``handoff`` says whose each slot is."""

    processes: Processes
    arena: Arena
    handoff: Handoff[Decoded]
    limits: DecodeLimits

    @asynccontextmanager
    async def decoded(self, data: bytes, priority: Priority = Priority.LIVE) -> AsyncGenerator[InSlot]:
        """Yield the decoded image; it can be taken until the body ends.

        Waits for a slot, then for a process, which is counted as waiting, with the way there and back. Raises what
        ``decode_image`` and ``Processes`` raise; Overloaded when too many wait for a slot.
        """
        asked_ns = time.monotonic_ns()
        with tracer.start_as_current_span("vision.wait_for_slot"):
            lease = await self.handoff.lease(priority)
        with lease:
            with tracer.start_as_current_span("vision.decode"):
                found = await self.processes.run(decode_into, lease.slot, data, self.limits, using=lease)
            lease.commit(Decoded(self.arena.array(lease.slot, found.shape), found.report, found.decode_us))
            waited_us = (time.monotonic_ns() - asked_ns) // 1000 - found.decode_us
            yield InSlot(lease.sequence, found.shape, found.decode_us, max(0, waited_us))

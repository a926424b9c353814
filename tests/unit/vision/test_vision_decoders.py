"""Files are decoded into shared memory, by processes that may die and for callers that may leave."""

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager

import numpy as np
import pytest

from services.common.errors import AttuneError, InvalidInput
from services.inference.arena import Arena
from services.inference.handoff import Handoff
from services.inference.processes import Processes
from services.vision.decode import DecodeLimits, decode_image
from services.vision.decoders import Decoders
from services.vision.sizing import most_pixels
from tests.running import eventually
from tests.unit.vision.files import encoded, photograph, plain

LIMITS = DecodeLimits(max_pixels=1_000_000, max_side_px=448)
SLOTS = 2


@asynccontextmanager
async def open_decoders():
    with Arena(SLOTS, 3 * most_pixels(LIMITS.max_side_px)) as arena:
        async with Processes("test", 1, SLOTS, 30, arena=arena) as processes:
            yield Decoders(processes, arena, Handoff(SLOTS, most_waiting=100), LIMITS)


async def test_a_file_lies_decoded_in_its_slot():
    """The pixels are those of decoding it here, in memory of the arena, and nothing but their place came back."""
    data = encoded(photograph(), "JPEG")
    async with open_decoders() as decoders:
        async with decoders.decoded(data) as place:
            expected = decode_image(data, LIMITS)
            assert place.shape == expected.pixels.shape
            with decoders.handoff.taking([place.sequence]) as (entry,):
                assert np.array_equal(entry.value.pixels, expected.pixels)
                assert np.shares_memory(entry.value.pixels, decoders.arena.all_bytes)
                assert (entry.batch, entry.index, entry.count) == (place.sequence, 0, 1)
                assert entry.value.report == expected.report
        assert decoders.handoff.free == SLOTS


@pytest.mark.parametrize("size", [(1, 1), (5000, 1), (448, 448), (900, 100), (1000, 1000)])
async def test_pictures_of_any_shape_fit(size):
    """The narrowest and the largest find room."""
    async with open_decoders() as decoders, decoders.decoded(encoded(plain(size))) as place:
        with decoders.handoff.taking([place.sequence]) as (entry,):
            assert entry.value.report.width == size[0]


async def test_files_that_fail_give_their_slots_back():
    """Many more broken files than slots are refused one by one, and a good one is decoded then."""
    good = encoded(plain())
    async with open_decoders() as decoders:
        for data in [b"", b"hello", good[:30]] * SLOTS:
            with pytest.raises(AttuneError):
                async with decoders.decoded(data):
                    pass
        assert decoders.handoff.free == SLOTS
        async with decoders.decoded(good):
            assert decoders.handoff.free == SLOTS - 1


async def test_a_caller_that_leaves_frees_its_slot_when_the_decoder_is_done():
    """Until then nobody else gets the memory that is written to; those who wait get it afterwards."""
    async with open_decoders() as decoders:

        async def pass_through(data):
            async with decoders.decoded(data):
                pass

        callers = [asyncio.create_task(pass_through(encoded(photograph()))) for _ in range(6)]
        await eventually(lambda: decoders.handoff.free == 0)
        for caller in callers[:3]:
            caller.cancel()
        ends = await asyncio.gather(*callers, return_exceptions=True)
        assert [isinstance(end, asyncio.CancelledError) for end in ends] == [True] * 3 + [False] * 3
        await eventually(lambda: decoders.handoff.free == SLOTS)


async def test_a_decoder_that_is_killed_loses_no_slot():
    """Both tries of a file have died when it is refused, and its slot is free."""
    async with open_decoders() as decoders:
        await decoders.processes.warm_up(decode_image, encoded(plain()), LIMITS)
        decoders.processes._timeout_s = 0.0
        with pytest.raises(InvalidInput, match="longer"):
            async with decoders.decoded(encoded(photograph())):
                pass
        decoders.processes._timeout_s = 30
        assert decoders.handoff.free == SLOTS
        async with AsyncExitStack() as held:
            for _ in range(SLOTS):
                await held.enter_async_context(decoders.decoded(encoded(plain())))
            assert decoders.handoff.free == 0

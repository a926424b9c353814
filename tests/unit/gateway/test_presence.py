"""Work for callers who may hang up."""

import asyncio

import pytest

from services.common.errors import InvalidInput
from services.gateway.presence import CallerGone, while_present


async def forever():
    """Wait for a hang-up that never comes."""
    await asyncio.Event().wait()


async def test_the_result_and_the_error_pass():
    """What the work returns or raises is what the caller gets."""

    async def work():
        return 7

    async def failing():
        raise InvalidInput("no")

    assert await while_present(forever, work()) == 7
    with pytest.raises(InvalidInput):
        await while_present(forever, failing())


async def test_a_hang_up_ends_the_work():
    """The work is cancelled before CallerGone is raised."""
    ended = []

    async def work():
        try:
            await forever()
        finally:
            ended.append(True)

    async def gone():
        return {"type": "http.disconnect"}

    with pytest.raises(CallerGone):
        await while_present(gone, work())
    assert ended == [True]

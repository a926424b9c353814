"""Work beside a body."""

import asyncio

import pytest

from services.common.beside import beside


async def test_the_end_of_the_body_ends_the_work():
    """Work without an end is cancelled, and has cleaned up by then."""
    ended = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    async with beside(work(), work()):
        await asyncio.sleep(0)
    assert ended == [True, True]


async def test_work_that_fails_ends_the_body():
    """A watcher that dies is not missed: its error is raised where the body stands."""

    async def work() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        async with beside(work()):
            await asyncio.Event().wait()


async def test_the_error_of_the_body_is_its_own():
    """What the body raises comes out as it is, not in a group."""
    with pytest.raises(KeyError, match="own"):
        async with beside(asyncio.Event().wait()):  # type: ignore[arg-type]
            raise KeyError("own")

"""The bounded queue between a session's tasks."""

import asyncio

from services.gateway.inbox import Inbox


async def test_a_writer_waits_while_the_queue_is_full():
    """A full queue holds its writer back until something was read."""
    inbox: Inbox[int] = Inbox(limit=2)
    await inbox.put(1)
    await inbox.put(2)
    third = asyncio.create_task(inbox.put(3))
    await asyncio.sleep(0)
    assert not third.done()
    assert await anext(inbox) == 1
    await third
    assert [await anext(inbox), await anext(inbox)] == [2, 3]


async def test_weights_bound_the_queue_and_one_heavy_item_fits_an_empty_one():
    """The bound is the sum of weights, and nothing is too heavy for an empty queue."""
    inbox: Inbox[bytes] = Inbox(limit=10, weigh=len)
    await inbox.put(b"x" * 50)
    waiting = asyncio.create_task(inbox.put(b"y"))
    await asyncio.sleep(0)
    assert not waiting.done()
    await anext(inbox)
    await waiting


async def test_a_cancelled_reader_loses_nothing():
    """Cancelling a read while it waits leaves the next item for the next reader."""
    inbox: Inbox[str] = Inbox(limit=1)
    reading = asyncio.ensure_future(anext(inbox))
    await asyncio.sleep(0)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    await inbox.put("kept")
    assert await anext(inbox) == "kept"


async def test_the_newest_wins():
    """put_newest never waits: it takes the oldest out and returns it."""
    inbox: Inbox[int] = Inbox(limit=2)
    assert [inbox.put_newest(n) for n in (1, 2, 3)] == [None, None, 1]
    assert [await anext(inbox), await anext(inbox)] == [2, 3]


async def test_merging_replaces_only_what_was_not_read():
    """A new item takes the last one's place when the two merge, never an earlier one's."""
    inbox: Inbox[str] = Inbox(limit=9, merges=lambda last, new: last[0] == new[0] == "p")
    for item in ("p1", "p2", "c1", "p3", "p4"):
        await inbox.put(item)
    inbox.close()
    assert [item async for item in inbox] == ["p2", "c1", "p4"]


async def test_closing_ends_readers_and_frees_writers():
    """After close, what is there is read, then the end comes; a waiting writer is let go."""
    inbox: Inbox[int] = Inbox(limit=1)
    await inbox.put(1)
    waiting = asyncio.create_task(inbox.put(2))
    await asyncio.sleep(0)
    inbox.close()
    await waiting
    assert [item async for item in inbox] == [1]

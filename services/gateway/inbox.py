"""Bounded queues between the tasks of a session. A reader that is cancelled while it waits loses nothing.

Written by the pipeline; read as the input streams of ports.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Generic, Self, TypeVar

Item = TypeVar("Item")


class Inbox(Generic[Item]):
    """A queue bounded by weight: a writer waits while it is full. Ends for its readers when closed.

    ``merges(last, new)`` says when a new item takes the place of the last one, if that was not read yet.
    """

    def __init__(
        self,
        limit: int,
        weigh: Callable[[Item], int] = lambda _: 1,
        merges: Callable[[Item, Item], bool] = lambda _last, _new: False,
    ) -> None:
        self._limit = limit
        self._weigh = weigh
        self._merges = merges
        self._items: deque[Item] = deque()
        self._weight = 0
        self._closed = False
        self._filled = asyncio.Event()
        self._drained = asyncio.Event()

    async def put(self, item: Item) -> None:
        """Add an item, waiting while the queue is full; an item heavier than the limit fits an empty queue."""
        while self._items and self._weight + self._weigh(item) > self._limit and not self._closed:
            self._drained.clear()
            await self._drained.wait()
        self._add(item)

    def put_newest(self, item: Item) -> Item | None:
        """Add an item at once; when the queue was full, take out and return the oldest."""
        oldest = self._take() if self._items and self._weight + self._weigh(item) > self._limit else None
        self._add(item)
        return oldest

    def close(self) -> None:
        """Let the reader end once it has read what is there; later items are not taken."""
        self._closed = True
        self._filled.set()
        self._drained.set()

    @classmethod
    def of(cls, *items: Item) -> Self:
        """Return a closed queue that holds just these items."""
        inbox = cls(limit=len(items))
        for item in items:
            inbox._add(item)
        inbox.close()
        return inbox

    def __len__(self) -> int:
        return len(self._items)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Item:
        while not self._items:
            if self._closed:
                raise StopAsyncIteration
            self._filled.clear()
            await self._filled.wait()
        return self._take()

    def _add(self, item: Item) -> None:
        if not self._closed:
            if self._items and self._merges(self._items[-1], item):
                self._weight -= self._weigh(self._items.pop())
            self._items.append(item)
            self._weight += self._weigh(item)
            self._filled.set()

    def _take(self) -> Item:
        item = self._items.popleft()
        self._weight -= self._weigh(item)
        self._drained.set()
        return item

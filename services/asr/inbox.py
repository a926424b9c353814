"""Holds what a live session was sent while a pass runs; full, it makes the sender wait. Called by ``live_call.py``."""

import asyncio
from collections.abc import AsyncIterator, Callable

from services.asr.live import End, LiveItem
from services.common.types import AudioChunk

LEAST_US = 10_000  # what any item weighs: a flush or an empty chunk costs memory too


class Inbox:
    """At most ``max_us`` of audio that is not decided; a chunk longer than that is taken when nothing else is here.

    Every item counts as ``LEAST_US`` at least, so a storm of flushes makes its sender wait like audio does.
    ``length_us`` says how long a chunk is.
    """

    def __init__(self, max_us: int, length_us: Callable[[AudioChunk], int]) -> None:
        self._max_us = max_us
        self._length_us = length_us
        self._items: list[LiveItem] = []
        self._waiting_us = 0
        self._taken_us = 0
        self._urgent = False
        self._changed = asyncio.Condition()

    async def fill(self, inputs: AsyncIterator[LiveItem]) -> None:
        """Take inputs until they end; the end is an item of its own."""
        async for item in inputs:
            await self._put(item)
        await self._put(End())

    async def take(self, enough_us: int) -> list[LiveItem]:
        """Return what waits, once that is ``enough_us``, more than audio, or all there is room for.

        What was taken before is done.
        """
        async with self._changed:
            self._taken_us = 0
            self._changed.notify_all()
            await self._changed.wait_for(lambda: self._urgent or self._waiting_us >= enough_us)
            items, self._items = self._items, []
            self._taken_us, self._waiting_us, self._urgent = self._waiting_us, 0, False
            return items

    async def _put(self, item: LiveItem) -> None:
        length_us = max(LEAST_US, self._length_us(item) if isinstance(item, AudioChunk) else 0)
        async with self._changed:
            if not self._has_room(length_us):
                self._urgent = True  # whoever takes must not wait for audio that has no room
                self._changed.notify_all()
            await self._changed.wait_for(lambda: self._has_room(length_us))
            self._items.append(item)
            self._waiting_us += length_us
            self._urgent |= not isinstance(item, AudioChunk)
            self._changed.notify_all()

    def _has_room(self, length_us: int) -> bool:
        held_us = self._waiting_us + self._taken_us
        return held_us == 0 or held_us + length_us <= self._max_us

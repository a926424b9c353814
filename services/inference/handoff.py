"""Hands batches from one stage to the next, of another device and batch size: one puts, the other takes.

Both wait without polling, on one event loop. A full ring holds the producer back; the ring is ``slots.py``'s.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

from services.inference.slots import Claim, Entry, Ring, Take, numbered

Value = TypeVar("Value")


class HandoffClosed(RuntimeError):
    """The producer is done, and nothing is left to take; or somebody puts into a closed hand-off."""


class Handoff(Generic[Value]):
    """A hand-off of ``size`` slots. Any number of tasks may put and take; each entry is worked off once."""

    def __init__(self, size: int) -> None:
        self._ring: Ring[Value] = Ring(size)
        self._changed = asyncio.Event()
        self._batches = 0
        self._closed = False

    async def put(self, values: Sequence[Value]) -> int:
        """Hand a batch over and return its number; waits for room. HandoffClosed after ``close``.

        A batch may be larger than the ring: it goes over in parts. Cancelled in between, it stops after a whole part.
        """
        self._batches += 1
        number = self._batches
        entries = numbered(number, values)
        while entries:
            claim = await self._claimed(len(entries))
            try:
                self._fill(claim, entries)
            finally:
                self._ring.abandon_claim(claim)  # nothing, once it is committed
            self._tell()
        return number

    def close(self) -> None:
        """Say that no more is put; takers get what is there, then HandoffClosed."""
        self._closed = True
        self._tell()

    @asynccontextmanager
    async def taking(self, most: int) -> AsyncGenerator[tuple[Entry[Value], ...]]:
        """Wait for entries and yield up to ``most`` of the oldest; a body that fails or is cancelled gives them back.

        HandoffClosed when none will come any more.
        """
        take = await self._taken(most)
        try:
            yield take.entries
            self._ring.release(take)
        finally:
            self._ring.abandon_take(take)  # nothing, once it is released
            self._tell()

    def _fill(self, claim: Claim, entries: deque[Entry[Value]]) -> None:
        for sequence in claim.sequences:
            self._ring.write(claim, sequence, entries.popleft())
        self._ring.commit(claim)

    async def _claimed(self, most: int) -> Claim:
        while not self._closed:
            if (claim := self._ring.claim(most)) is not None:
                return claim
            await self._changed.wait()
        raise HandoffClosed("nothing can be put after the end")

    async def _taken(self, most: int) -> Take[Value]:
        while (take := self._ring.take(most)) is None:
            # Entries at work elsewhere may still come back.
            if self._closed and self._ring.idle:
                raise HandoffClosed("nothing is left")
            await self._changed.wait()
        return take

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()  # for the next change; those who wait hold the old one

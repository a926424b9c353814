"""One session's matching: words, progress and frames in, alignment events and flush markers out."""

import asyncio
from contextlib import aclosing, suppress

from services.common.errors import AttuneError
from services.common.ports import Aligner, Call
from services.common.types import AlignInput, Flush, FrameTokens, Marker, Progress, RegionTokens
from services.gateway import events
from services.gateway.inbox import Inbox
from services.gateway.telling import Teller

MARKER_PATIENCE_S = 1.0  # a marker comes at most this long after its words
WAITING_BYTES = 16 * 2**20  # what may wait for the aligner; with more the oldest is never aligned
LEAST_BYTES = 1024


def _both_progress(last: AlignInput, new: AlignInput) -> bool:
    return isinstance(last, Progress) and isinstance(new, Progress)


def _weight(moment: AlignInput) -> int:
    if isinstance(moment, FrameTokens) and isinstance(moment.tokens, RegionTokens):
        return len(moment.tokens.cells)
    return LEAST_BYTES


class Matching:
    """Feeds an aligner and tells what it finds. Nothing here ever waits for it: captions go first."""

    def __init__(self, teller: Teller, *, wanted: bool) -> None:
        self._teller = teller
        self._wanted = wanted
        self._moments: Inbox[AlignInput] = Inbox(WAITING_BYTES, _weight, _both_progress)
        self._flushes: dict[str, asyncio.Event] = {}
        self._images_open = 0
        self._images_decided = asyncio.Event()
        self._images_decided.set()

    def image_came(self) -> None:
        """Note an image that may still change what a phrase is about."""
        self._images_open += 1
        self._images_decided.clear()

    def image_decided(self) -> None:
        """Note that an image was seen, dropped or failed."""
        self._images_open -= 1
        if not self._images_open:
            self._images_decided.set()

    def take(self, moment: AlignInput) -> None:
        """Take words, progress or a frame at once."""
        if self._wanted:
            self._moments.put_newest(moment)

    def close(self) -> None:
        """Say that nothing more comes."""
        self._moments.close()

    async def match(self, aligner: Aligner, call: Call) -> None:
        """Run the aligner to its end; an error ends the matching, not the session."""
        if not self._wanted:
            return
        try:
            async with aclosing(aligner(self._moments, call)) as matched:
                async for event in matched:
                    if isinstance(event, Marker):
                        self._flushes.get(event.marker, asyncio.Event()).set()
                    else:
                        await self._teller.emit({"type": "alignment", **events.alignment_json(event)})
        except AttuneError as error:
            await self._teller.notice("aligner", error)

    async def answer_flush(self, marker: str) -> None:
        """Tell the marker once everything before it is aligned, or a second after its words."""
        aligned = self._flushes.setdefault(marker, asyncio.Event())
        with suppress(TimeoutError):
            async with asyncio.timeout(MARKER_PATIENCE_S if self._wanted else 0):
                await self._images_decided.wait()
                self.take(Flush(marker))
                await aligned.wait()
        self._flushes.pop(marker, None)
        await self._teller.emit({"type": "marker", "marker": marker})

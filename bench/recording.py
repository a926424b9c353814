"""One live session in real time, recorded: audio and pictures go in, events come out with the time each arrived.

Called by demo.py and live.py. Arrival times count from the first sample, as the audio's own times do.
"""

import asyncio
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from itertools import chain

from attune_client.errors import AttuneError, first_error
from attune_client.events import Alignment, Committed, Event, Frame, SessionEnded, Word
from attune_client.media import MediaClock, duration_us, paced
from attune_client.session import Session, connect
from bench.tour import Picture

DRAIN_S = 30.0


@dataclass(frozen=True, slots=True)
class Arrival:
    """An event and when it came."""

    at_us: int
    event: Event


@dataclass(frozen=True, slots=True)
class Recording:
    """Everything one session said, in order."""

    arrivals: tuple[Arrival, ...]

    @property
    def words(self) -> list[Word]:
        """The committed words."""
        events = [arrival.event for arrival in self.arrivals]
        return list(chain.from_iterable(event.words for event in events if isinstance(event, Committed)))

    @property
    def text(self) -> str:
        """The committed words as one line."""
        return " ".join(word.text.strip() for word in self.words)

    @property
    def frames(self) -> list[Frame]:
        """What became of each picture."""
        return [arrival.event for arrival in self.arrivals if isinstance(arrival.event, Frame)]

    @property
    def final_alignments(self) -> list[Alignment]:
        """The alignments that never change again."""
        events = [arrival.event for arrival in self.arrivals]
        return [event for event in events if isinstance(event, Alignment) and event.final]


async def record(url: str, pcm: bytes, pictures: Iterable[Picture]) -> Recording:
    """Stream 16 kHz mono 16-bit audio and pictures as if they happened now; return once the session has ended.

    AttuneError when the server refuses, breaks off, or does not end.
    """
    clock = MediaClock()
    try:
        async with connect(url, language="en") as session, asyncio.timeout(duration_us(pcm) / 1e6 + DRAIN_S):
            async with asyncio.TaskGroup() as tasks:
                reading = tasks.create_task(_read(session, clock))
                tasks.create_task(_send(session, pcm, sorted(pictures, key=lambda shown: shown.pts_us), clock))
            return reading.result()
    except BaseExceptionGroup as group:
        raise first_error(group) from group
    except TimeoutError as error:
        raise AttuneError("deadline_exceeded", "the server did not end the session in time") from error


async def _read(session: Session, clock: MediaClock) -> Recording:
    arrivals = [Arrival(clock.elapsed_us(), event) async for event in session]
    if not any(isinstance(arrival.event, SessionEnded) for arrival in arrivals):
        raise AttuneError("bad_answer", "the server closed the session without ending it")
    return Recording(tuple(arrivals))


async def _send(session: Session, pcm: bytes, pictures: Sequence[Picture], clock: MediaClock) -> None:
    waiting = deque(pictures)
    async with aclosing(paced(pcm, clock)) as blocks:
        async for pts_us, block in blocks:
            while waiting and waiting[0].pts_us <= pts_us:
                picture = waiting.popleft()
                await session.send_image(picture.data, picture.pts_us)
            await session.send_audio(block, pts_us)
    await session.end()

"""The scheduler for async callers: ``turn`` waits until a request may run and gives its room back afterwards.

A service wraps the device work of a request in ``async with turns.turn(…)``; one task of it runs ``watch``. What a body
says about its cost goes into the live profile, so the next decisions rest on what really ran.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from services.common.errors import Overloaded
from services.common.metrics import BACKLOG, SCALE_OUT, UTILISATION
from services.inference.profile import Ran
from services.inference.scale_out import ScaleOut
from services.inference.scheduler import Embs, Request


@dataclass(frozen=True, slots=True)
class Ask:
    """What a caller wants to run: its kind, its size in the kind's unit, whether somebody listens meanwhile.

    ``remaining_s`` is the work left, where the caller knows better than what the kind has cost so far.
    """

    kind: str
    size: float
    live: bool
    remaining_s: float | None = None


@dataclass(frozen=True, slots=True)
class Cost:
    """What a run took: seconds on a processor, of waiting for I/O, bytes of memory and of the line.

    ``width`` is the share of the device's compute that it took while on a processor: one of how many there are.
    """

    busy_s: float
    io_wait_s: float = 0.0
    width: float = 1.0
    moved_bytes: float = 0.0
    line_bytes: float = 0.0


@dataclass(slots=True)
class Turn:
    """A running request; the body sets ``cost`` once it knows it. Without one the profile learns nothing."""

    cost: Cost | None = None


class Turns:
    """Turns on one device, ``stage`` names it in metrics; beyond ``queue_size`` waiting the next is Overloaded."""

    def __init__(
        self, stage: str, scheduler: Embs, queue_size: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stage = stage
        self._scheduler = scheduler
        self._queue_size = queue_size
        self._clock = clock
        self._number = 0
        self._waiting: dict[int, asyncio.Future[None]] = {}
        self._scale_out = ScaleOut()

    @asynccontextmanager
    async def turn(self, ask: Ask) -> AsyncGenerator[Turn]:
        """Wait for this request's turn, and hold its room while the body runs. A caller that leaves is passed over."""
        request = self._enqueued(ask)
        await self._started(request)
        turn = Turn()
        try:
            yield turn
            self._learn(request, turn.cost)
        finally:
            self._end(request)

    async def watch(self) -> None:
        """Refresh the profile, start what fits by it, and export utilisation, backlog and the wish for more; no end."""
        while True:
            self.sample()
            await asyncio.sleep(self._scheduler.profile.settings.refresh_s / 2)

    def sample(self) -> bool:
        """Do one round of ``watch``; return whether another device is wanted."""
        self._start_waiting()
        utilisation = min(1.0, self._scheduler.room.in_use.most)
        wanted = self._scale_out.observe(utilisation)
        UTILISATION.labels(self._stage).set(utilisation)
        BACKLOG.labels(self._stage).set(len(self._scheduler))
        SCALE_OUT.labels(self._stage).set(wanted)
        return wanted

    def _enqueued(self, ask: Ask) -> Request:
        if len(self._waiting) >= self._queue_size:
            raise Overloaded(f"{self._stage}: {self._queue_size} requests are waiting", retry_after_s=1.0)
        self._number += 1
        now_s = self._clock()
        request = Request(self._number, ask.kind, now_s, ask.size, ask.live, ask.remaining_s)
        self._scheduler.add(request, now_s)
        self._waiting[request.number] = asyncio.get_running_loop().create_future()
        return request

    async def _started(self, request: Request) -> None:
        turn = self._waiting[request.number]
        self._start_waiting()
        try:
            await turn
        except asyncio.CancelledError:
            if self._waiting.pop(request.number, None) is None:  # its turn came in the same moment
                self._end(request)
            else:
                self._scheduler.leave(request)
                self._start_waiting()  # it may have held others up
            raise

    def _start_waiting(self) -> None:
        while (request := self._scheduler.next(self._clock())) is not None:
            turn = self._waiting.pop(request.number)
            if not turn.done():
                turn.set_result(None)

    def _learn(self, request: Request, cost: Cost | None) -> None:
        if cost is not None:
            alone_s, compute_s = cost.busy_s + cost.io_wait_s, cost.busy_s * cost.width
            ran = Ran(request.size, alone_s, compute_s, cost.io_wait_s, cost.moved_bytes, cost.line_bytes)
            self._scheduler.profile.observe(request.kind, ran)

    def _end(self, request: Request) -> None:
        self._scheduler.ended(request)
        self._start_waiting()

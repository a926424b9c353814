"""The scheduler for the work of one process on one device: who waits is let in when its turn comes.

``cli.py`` opens one and passes it to all services of the process, because they share the device. It has two kinds of
callers: a job that runs by itself takes a ``turn``; a batcher asks through its place (``place.py``) before each batch.
Turns are for batches and for pieces of files, never for whole files or sessions: what has started runs to its end, so
a turn that lasts is a wait for all others. What really ran goes into the live profile, on which the next turns rest.

Safe to call from any thread: a batcher's threads take their next batch themselves.
"""

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from services.common.errors import Overloaded
from services.common.metrics import BACKLOG, SCALE_OUT, UTILISATION
from services.inference.profile import Load, Ran
from services.inference.scale_out import ScaleOut
from services.inference.scheduler import Policy, Request


@dataclass(frozen=True, slots=True)
class Ask:
    """What a caller wants to run: its kind, its size in the kind's unit, whether somebody listens meanwhile.

    ``remaining_s`` is the work left, where the caller knows better than what the kind has cost so far.
    """

    kind: str
    size: float
    live: bool
    remaining_s: float | None = None


@dataclass(slots=True)
class Turn:
    """A running request; the body sets ``ran`` once it knows it. Without it the profile learns nothing."""

    ran: Ran | None = None


class Turns:
    """Turns on one device, ``stage`` names it in metrics; beyond ``queue_size`` waiting the next is Overloaded.

    ``thread_share`` is what one compute thread takes of the device.
    """

    def __init__(
        self,
        stage: str,
        policy: Policy,
        queue_size: int,
        clock: Callable[[], float] = time.monotonic,
        thread_share: float = 1.0,
    ) -> None:
        self.thread_share = thread_share
        self.queues: list[Callable[[], int]] = []  # how many requests wait in each batcher
        self._jobs = 0
        self._stage = stage
        self._policy = policy
        self._queue_size = queue_size
        self._clock = clock
        self._number = 0
        self._let_in: dict[int, Callable[[], None]] = {}
        self._scale_out = ScaleOut()
        self._lock = threading.RLock()

    @asynccontextmanager
    async def turn(self, ask: Ask) -> AsyncGenerator[Turn]:
        """Wait for this request's turn, and hold its room while the body runs. A caller that leaves is passed over."""
        if self._jobs >= self._queue_size:
            raise Overloaded(f"{self._stage}: {self._queue_size} requests are waiting", retry_after_s=1.0)
        request = await self._started(ask)
        turn = Turn()
        try:
            yield turn
            if turn.ran is not None:
                self.learn(request.kind, turn.ran)
        finally:
            self.ended(request)
            self.let_in()

    async def watch(self) -> None:
        """Refresh the profile, start what fits by it, and export utilisation, backlog and the wish for more; no end."""
        while True:
            self.sample()
            await asyncio.sleep(self._policy.profile.settings.refresh_s / 2)

    def sample(self) -> bool:
        """Do one round of ``watch``; return whether another device is wanted."""
        with self._lock:
            self.let_in()
            utilisation = min(1.0, self._policy.room.in_use.most)
            waiting = self._jobs + sum(count() for count in self.queues)
        wanted = self._scale_out.observe(utilisation)
        UTILISATION.labels(self._stage).set(utilisation)
        BACKLOG.labels(self._stage).set(waiting)
        SCALE_OUT.labels(self._stage).set(wanted)
        return wanted

    def rank(self, request: Request) -> float:
        """Return the time by which the request is ordered."""
        with self._lock:
            return self._policy.rank(request, self._clock())

    def wait(self, ask: Ask, came_s: float, let_in: Callable[[], None]) -> Request:
        """Let a request wait and return it; ``let_in`` is called once, by any thread, when it has its room.

        It must not block, and may be called before this returns.
        """
        with self._lock:
            self._number += 1
            request = Request(self._number, ask.kind, came_s, ask.size, ask.live, ask.remaining_s)
            self._let_in[request.number] = let_in
            self._policy.add(request, self._clock())
            self.let_in()
            return request

    def leave(self, request: Request) -> bool:
        """Let a request wait no longer; False where it has its room already, which then is to be given back."""
        with self._lock:
            if self._let_in.pop(request.number, None) is None:
                return False
            self._policy.leave(request)
            return True

    def ended(self, request: Request) -> None:
        """Take the room of a request back. ``let_in`` is to follow: first the caller may say what it has next."""
        with self._lock:
            self._policy.ended(request)

    def let_in(self) -> None:
        """Give what room there is to those whose turn it is."""
        with self._lock:
            while (request := self._policy.next(self._clock())) is not None:
                self._let_in.pop(request.number)()

    def learn(self, kind: str, ran: Ran) -> None:
        """Put what ran into the profile."""
        with self._lock:
            self._policy.profile.observe(kind, ran)

    def expect(self, kind: str, load: Load) -> None:
        """Say what is known of a kind before any of it has run."""
        with self._lock:
            self._policy.profile.expect(kind, load)

    async def _started(self, ask: Ask) -> Request:
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()

        def come() -> None:
            self._jobs -= 1
            _tell(loop, turn)

        with self._lock:
            self._jobs += 1
            request = self.wait(ask, self._clock(), come)
        try:
            await turn
        except asyncio.CancelledError:
            self._give_up(request)
            raise
        return request

    def _give_up(self, request: Request) -> None:
        with self._lock:
            if self.leave(request):
                self._jobs -= 1
            else:  # its turn came in the same moment
                self.ended(request)
            self.let_in()  # it may have held others up


def _tell(loop: asyncio.AbstractEventLoop, turn: "asyncio.Future[None]") -> None:
    def tell() -> None:
        if not turn.done():
            turn.set_result(None)

    loop.call_soon_threadsafe(tell)

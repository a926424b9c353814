"""Decides what runs when. Requests, results and the time come in; batches, and the next moment to look, go out.

No clock, no async, no threads: the Batcher drives it, and tests drive it with a simulated clock. Times are seconds of
one monotonic clock.
"""

import heapq
import math
from collections import deque
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic

from services.inference.cost import CostModel, alone
from services.inference.gate import Gate, OpenGate
from services.inference.lanes import LIVE, Batch, BatchSettings, Item, Job, Lane, Ticket, shape_of
from services.inference.sizes import Sizes
from services.inference.windows import Windows

SOONEST_RETRY_S = 0.05


@dataclass(frozen=True, slots=True)
class Ask:
    """What a caller says of its request; ``deadline`` is infinite when it has none.

    Only requests of one ``kind`` and one priority run together: who listens live never waits for a file's share.
    """

    size: float = 1.0
    deadline: float = math.inf
    job: Job = LIVE
    kind: Hashable = None


@dataclass(frozen=True, slots=True)
class Turn(Generic[Item]):
    """What to do now: batches to start, tickets that are too late; and when to look again if nothing happens."""

    batches: Sequence[Batch[Item]]
    expired: Sequence[Ticket[Item]]
    wake_at: float


class BatchCore(Generic[Item]):
    """Two lanes, short and long, before some workers; a batch is formed only when a worker is free for it.

    Inside a lane the earliest due ticket leads the next batch, and between the lanes too. One worker is kept from long
    batches until a long request has waited ``stretch`` times its own cost. The gate may hold a batch back longer, and
    may order requests by a time of its own.
    """

    def __init__(self, settings: BatchSettings, gate: Gate | None = None) -> None:
        self.settings = settings
        self.gate = gate or OpenGate()
        self._held_back = False
        self.cost = CostModel()
        self._sizes = Sizes()
        self._lanes = (Lane[Item](settings, long=False), Lane[Item](settings, long=True))
        self._windows = (Windows(), Windows())
        self._deadlines: list[tuple[float, int, Ticket[Item]]] = []
        self._retries: deque[tuple[Ticket[Item], ...]] = deque()
        self._running: set[Batch[Item]] = set()
        self._number = 0
        self._progress_at = 0.0

    @property
    def waiting(self) -> int:
        """Return how many requests wait for a worker."""
        return sum(map(len, self._lanes)) + sum(map(len, self._retries))

    @property
    def full(self) -> bool:
        """Return whether there is no room for another request."""
        return self.waiting >= self.settings.max_queue

    @property
    def empty_window_share(self) -> float:
        """Return the share of windows in which a lone short request met nobody."""
        return self._windows[False].empty_share

    def retry_after_s(self) -> float:
        """Return when a refused caller should come back: when what waits now will have run."""
        backlog_s = sum(lane.backlog_s(self.cost) for lane in self._lanes)
        return max(SOONEST_RETRY_S, backlog_s / self.settings.workers)

    def add(self, item: Item, ask: Ask, now: float) -> Ticket[Item]:
        """Queue a request; the caller has checked that there is room."""
        if not self._running and not self.waiting:
            self._progress_at = now
        self._number += 1
        long = ask.size > self.settings.long_ratio * self._sizes.lower_quartile
        self._sizes.add(ask.size)
        due, kind = self._due(ask, now), (ask.job.priority, ask.kind)
        ticket = Ticket(item, self._number, ask.size, now, ask.deadline, due, long, kind, ask.job)
        lane = self._lanes[long]
        opens = not lane and self._free > 0
        lane.add(ticket)
        self._windows[long].arrived(now, self._window_s(lane) if opens else None)
        if ask.deadline < math.inf:
            heapq.heappush(self._deadlines, (ask.deadline, ticket.number, ticket))
        return ticket

    def leave(self, ticket: Ticket[Item]) -> None:
        """Take note that a caller left; its request is not run, unless it runs already."""
        ticket.gone = True
        if ticket.queued:
            self._lanes[ticket.long].remove(ticket)

    def poll(self, now: float) -> Turn[Item]:
        """Return what to start now. To be called after every change and at ``wake_at``."""
        expired = list(self._expired(now))
        batches = []
        while (head := self._head(now, expired)) is not None and self.gate.admits(head, now):
            batch = self._next(now)
            self._running.add(batch)
            self.gate.started(batch)
            batches.append(batch)
        self._held_back = head is not None
        if head is None:
            self.gate.withdraw()
        return Turn(batches, expired, self._wake_at(now))

    def finished(self, batch: Batch[Item], seconds: float, now: float) -> None:
        """Take note that a batch is done and how long it ran; 0 when it was not run after all."""
        self._end(batch, now)
        self.cost.observe(batch.shape, seconds)

    def failed(self, batch: Batch[Item], now: float) -> Ticket[Item] | None:
        """Return the culprit of a failed batch of one; a larger one is halved, and both halves run next."""
        self._end(batch, now)
        tickets = batch.tickets
        if len(tickets) == 1:
            return tickets[0]
        middle = len(tickets) // 2
        self._retries.extend((tickets[:middle], tickets[middle:]))
        return None

    def healthy(self, now: float) -> bool:
        """Return whether work moves on: no batch is stuck, and nothing waits before workers that do nothing."""
        if any(now - batch.started > self._stuck_after_s(batch) for batch in self._running):
            return False
        idle = not self._running and self.waiting > 0 and not self._held_back
        return not idle or now - self._progress_at <= self.settings.stall_floor_s

    def queued(self) -> Iterator[Ticket[Item]]:
        """Take out all that waits, when the batcher closes."""
        for lane in self._lanes:
            while lane:
                ticket = lane.head
                lane.remove(ticket)
                yield ticket
        while self._retries:
            yield from self._retries.popleft()

    @property
    def _free(self) -> int:
        return self.settings.workers - len(self._running)

    def _due(self, ask: Ask, now: float) -> float:
        due = self.gate.due(ask.size, ask.job, now)
        if due is None:
            own_s = self.settings.stretch * self.cost.seconds(alone(ask.size))
            due = now + self.settings.patience_s(ask.job.priority) + own_s
        return min(ask.deadline, due)

    def _expired(self, now: float) -> Iterator[Ticket[Item]]:
        while self._deadlines and (self._deadlines[0][0] <= now or not self._deadlines[0][2].queued):
            ticket = heapq.heappop(self._deadlines)[2]
            if ticket.queued:
                self._lanes[ticket.long].remove(ticket)
                yield ticket

    def _head(self, now: float, expired: list[Ticket[Item]]) -> Ticket[Item] | None:
        """Return who leads the next batch; None while no worker is free or nothing is to start yet."""
        if self._free <= 0:
            return None
        self._drop_dead_retries(now, expired)
        if self._retries:
            return self._retries[0][0]
        lane = self._ready(now)
        return None if lane is None else lane.head

    def _drop_dead_retries(self, now: float, expired: list[Ticket[Item]]) -> None:
        while self._retries:
            there = [ticket for ticket in self._retries.popleft() if not ticket.gone]
            expired += [ticket for ticket in there if ticket.deadline <= now]
            if tickets := tuple(ticket for ticket in there if ticket.deadline > now):
                self._retries.appendleft(tickets)
                return

    def _ready(self, now: float) -> Lane[Item] | None:
        ready = [lane for lane in self._lanes if lane and self._startable_at(lane) <= now]
        return min(ready, key=lambda lane: lane.head.order, default=None)

    def _next(self, now: float) -> Batch[Item]:
        """Return the batch of the head that was found."""
        lane = self._ready(now)
        if self._retries or lane is None:
            tickets = self._retries.popleft()
            return Batch(tickets, shape_of(tickets), now, tickets[0].long)
        tickets = tuple(lane.take(now, self.cost))
        lone = len(tickets) == 1 and not lane and self._windows[lane.long].passing
        return Batch(tickets, shape_of(tickets), now, lane.long, passed=lone)

    def _startable_at(self, lane: Lane[Item]) -> float:
        reserved_until = self._reserved_until(lane) if lane.long else -math.inf
        if lane.full or self._windows[lane.long].passing:
            return reserved_until
        # A head that would come too late by waiting does not wait.
        latest = lane.head.deadline - self.cost.seconds(alone(lane.head.size))
        return max(reserved_until, min(lane.oldest.arrived + self._window_s(lane), latest))

    def _reserved_until(self, lane: Lane[Item]) -> float:
        longs = sum(batch.long for batch in self._running)
        if self.settings.workers == 1 or longs < self.settings.workers - 1:
            return -math.inf
        return lane.oldest.arrived + self.settings.stretch * self.cost.seconds(alone(lane.oldest.size))

    def _window_s(self, lane: Lane[Item]) -> float:
        # Waiting longer than company would save is a loss, whoever comes.
        if not self.cost.known:
            return self.settings.max_wait_s
        return min(self.settings.max_wait_s, self.cost.saving(alone(lane.head.size)))

    def _wake_at(self, now: float) -> float:
        starts = [self._startable_at(lane) for lane in self._lanes if lane and self._free > 0]
        if self._held_back:  # what could start already waits for the gate, which wakes
            starts = [start for start in starts if start > now]
        deadline = self._deadlines[0][0] if self._deadlines else math.inf
        return min([*starts, deadline])

    def _stuck_after_s(self, batch: Batch[Item]) -> float:
        return max(self.settings.stall_floor_s, self.settings.stall_factor * self.cost.seconds(batch.shape))

    def _end(self, batch: Batch[Item], now: float) -> None:
        self.gate.ended(batch)
        self._running.remove(batch)
        self._progress_at = now

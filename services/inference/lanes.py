"""Requests that wait: tickets, and lanes that keep them by due time and form batches of like sizes.

Called by the batch core. No clock and no async: times are seconds of any monotonic clock, passed in.
"""

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from services.common.ports import Priority
from services.inference.cost import EMPTY, CostModel, Shape

Item = TypeVar("Item")

# How far behind the head a batch looks for requests of its size, in batches.
LOOK_AHEAD = 4


@dataclass(frozen=True, slots=True)
class Job:
    """What a request is a part of: who waits for it, and for the scheduler what is left of it and how it came.

    ``left`` is in the unit of sizes, this request included; None where the request is all of it. ``io_wait_s``: seconds
    that it waited for its input to come.
    """

    priority: Priority = Priority.LIVE
    left: float | None = None
    io_wait_s: float = 0.0


LIVE = Job()


@dataclass(frozen=True, slots=True)
class BatchSettings:
    """How requests are batched. Ratios are of sizes, times in seconds."""

    max_batch: int = 32
    max_wait_s: float = 0.010
    workers: int = 2
    max_queue: int = 1024
    # Largest share of a batch's work that may be padding.
    max_padding: float = 0.25
    # A request this many times the lower quartile of sizes goes to the long lane.
    long_ratio: float = 4.0
    # When a request is due if its deadline is later: ageing, so that nobody is overtaken for longer.
    live_patience_s: float = 1.0
    file_patience_s: float = 5.0
    # A long request is due later by so many times what it costs, and waits as long before it takes the last worker.
    stretch: float = 6.0
    # A batch that runs so many times longer than expected, and longer than the floor, is stuck.
    stall_factor: float = 20.0
    stall_floor_s: float = 10.0

    def patience_s(self, priority: Priority) -> float:
        """Return how long after its arrival a request is due."""
        return self.live_patience_s if priority is Priority.LIVE else self.file_patience_s


@dataclass(slots=True, eq=False)
class Ticket(Generic[Item]):
    """A request inside the batcher. ``due`` orders it; those of a batch share a ``kind``; ``gone``: its caller left."""

    item: Item
    number: int
    size: float
    arrived: float
    deadline: float
    due: float
    long: bool
    kind: Hashable = None
    job: Job = LIVE
    queued: bool = True
    gone: bool = False

    @property
    def order(self) -> tuple[float, int]:
        """Return what tickets are sorted by: due time, then arrival."""
        return self.due, self.number


@dataclass(frozen=True, slots=True, eq=False)
class Batch(Generic[Item]):
    """Requests that run together from ``started`` on; ``passed`` when it is a lone one that did not have to wait."""

    tickets: tuple[Ticket[Item], ...]
    shape: Shape
    started: float
    long: bool
    passed: bool = False

    @property
    def abandoned(self) -> bool:
        """Return whether nobody waits for any of it."""
        return all(ticket.gone for ticket in self.tickets)


def shape_of(tickets: Iterable[Ticket[Item]]) -> Shape:
    """Return the shape of a batch of these tickets."""
    shape = EMPTY
    for ticket in tickets:
        shape = shape.plus(ticket.size)
    return shape


@dataclass(slots=True)
class Lane(Generic[Item]):
    """Tickets in order of their due times, and in order of arrival."""

    settings: BatchSettings
    long: bool
    _tickets: list[Ticket[Item]] = field(default_factory=list)
    _arrivals: deque[Ticket[Item]] = field(default_factory=deque)

    def __len__(self) -> int:
        return len(self._tickets)

    @property
    def head(self) -> Ticket[Item]:
        """Return the ticket that is due first."""
        return self._tickets[0]

    @property
    def oldest(self) -> Ticket[Item]:
        """Return the ticket that has waited longest."""
        return self._arrivals[0]

    @property
    def full(self) -> bool:
        """Return whether waiting longer cannot make the next batch larger."""
        return len(self._tickets) >= self.settings.max_batch

    def add(self, ticket: Ticket[Item]) -> None:
        """Queue a ticket."""
        insort(self._tickets, ticket, key=lambda queued: queued.order)
        self._arrivals.append(ticket)

    def remove(self, ticket: Ticket[Item]) -> None:
        """Take a queued ticket out."""
        del self._tickets[bisect_left(self._tickets, ticket.order, key=lambda queued: queued.order)]
        self._dequeue((ticket,))

    def take(self, now: float, cost: CostModel) -> list[Ticket[Item]]:
        """Take the next batch: the head, and those of its kind that fit its size and let it keep its deadline."""
        chosen: list[Ticket[Item]] = []
        passed_over: list[Ticket[Item]] = []
        shape = EMPTY
        for ticket in self._tickets[: LOOK_AHEAD * self.settings.max_batch]:
            joined = shape.plus(ticket.size)
            if chosen and (ticket.kind != chosen[0].kind or not self._fits(joined, chosen[0].deadline - now, cost)):
                passed_over.append(ticket)
                continue
            chosen.append(ticket)
            shape = joined
            if shape.count == self.settings.max_batch:
                break
        self._tickets[: len(chosen) + len(passed_over)] = passed_over
        self._dequeue(chosen)
        return chosen

    def _dequeue(self, tickets: Iterable[Ticket[Item]]) -> None:
        for ticket in tickets:
            ticket.queued = False
        while self._arrivals and not self._arrivals[0].queued:
            self._arrivals.popleft()

    def _fits(self, shape: Shape, left_s: float, cost: CostModel) -> bool:
        return shape.padding <= self.settings.max_padding and cost.seconds(shape) <= left_s

    def backlog_s(self, cost: CostModel) -> float:
        """Return the seconds that one worker would need for all that waits here, in full batches."""
        if not self._tickets:
            return 0.0
        mean = sum(ticket.size for ticket in self._tickets) / len(self)
        full, rest = divmod(len(self), self.settings.max_batch)
        batches = [self.settings.max_batch] * full + [rest] * bool(rest)
        return sum(cost.seconds(Shape(count, count * mean, mean)) for count in batches)

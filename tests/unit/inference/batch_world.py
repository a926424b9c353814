"""A simulated machine under the batch core: workers that take as long as they are told, and a clock that jumps."""

import heapq
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from services.inference.batch_core import Ask, BatchCore
from services.inference.cost import Shape
from services.inference.lanes import Batch, BatchSettings, Ticket


def padded_cost(shape: Shape) -> float:
    """Seconds of a padded batch: what the benchmark's model takes, 5 ms alone and 24 ms for 32."""
    return shape.longest * (0.0044 + 0.0006 * shape.count)


@dataclass
class World:
    """Runs the core; what happened stands in its lists. ``poisonous`` items fail every batch they are in."""

    settings: BatchSettings = field(default_factory=BatchSettings)
    cost: Callable[[Shape], float] = padded_cost
    poisonous: frozenset[object] = frozenset()
    now: float = 0.0

    def __post_init__(self) -> None:
        self.core: BatchCore[object] = BatchCore(self.settings)
        self.batches: list[Batch[object]] = []
        self.done: list[tuple[float, Ticket[object]]] = []
        self.failed: list[Ticket[object]] = []
        self.expired: list[tuple[float, Ticket[object]]] = []
        # Since when at least one worker has been free; infinite while none is.
        self.free_since = 0.0
        self.waited_idle: list[float] = []
        self.on_done: Callable[[Ticket[object]], None] = lambda ticket: None
        self._running = 0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()

    def at(self, when: float, what: Callable[[], None]) -> None:
        """Have something happen later."""
        heapq.heappush(self._events, (when, next(self._order), what))

    def ask(self, item: object, ask: Ask | None = None) -> Ticket[object]:
        """Send a request now."""
        return self.core.add(item, ask or Ask(), self.now)

    def run(self, until: float = math.inf) -> None:
        """Let time pass until nothing more happens."""
        while self._turn() <= until and self._events:
            self.now, _, happens = heapq.heappop(self._events)
            happens()

    def _turn(self) -> float:
        turn = self.core.poll(self.now)
        self.expired += [(self.now, ticket) for ticket in turn.expired]
        for batch in turn.batches:
            self.batches.append(batch)
            self._running += 1
            if not batch.long:
                self.waited_idle += [self.now - max(self.free_since, ticket.arrived) for ticket in batch.tickets]
            self.at(self.now + self.cost(batch.shape), partial(self._end, batch))
        if self._running == self.settings.workers:
            self.free_since = math.inf
        if turn.wake_at < math.inf:
            self.at(max(self.now, turn.wake_at), lambda: None)
        return self._events[0][0] if self._events else math.inf

    def _end(self, batch: Batch[object]) -> None:
        self._running -= 1
        self.free_since = min(self.free_since, self.now)
        if self.poisonous.intersection(ticket.item for ticket in batch.tickets):
            culprit = self.core.failed(batch, self.now)
            self.failed += [culprit] if culprit else []
            return
        self.core.finished(batch, self.now - batch.started, self.now)
        for ticket in batch.tickets:
            self.done.append((self.now, ticket))
            self.on_done(ticket)

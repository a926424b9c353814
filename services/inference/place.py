"""A batcher's place among those that share a device: the gate that it asks before each batch.

The place asks for one turn at a time, in the name of the request that leads the next batch, and may ask for as many as
the batcher has workers. Who waits for a turn holds none, so places cannot block each other; and what comes meanwhile
joins the batch, which is formed once the turn has come. So a turn never keeps batches small.
"""

from collections.abc import Callable, Sequence
from typing import Any

from services.common.ports import Priority
from services.inference.lanes import Batch, Job, Ticket
from services.inference.profile import Load, Ran
from services.inference.scheduler import Request
from services.inference.turns import Ask, Turns

# Bytes of memory that a batch of these requests moved, given its results.
MovedBytes = Callable[[Sequence[Any], Sequence[Any]], float]


def place_of(turns: Turns | None, name: str, moved_bytes: MovedBytes) -> "Place | None":
    """Return a place for the batcher ``name``; None where there are no turns to take."""
    return None if turns is None else Place(turns, name, moved_bytes)


class Place:
    """The gate of one batcher. Live requests and files are kinds of their own: they wait for their input unlike."""

    def __init__(self, turns: Turns, name: str, moved_bytes: MovedBytes) -> None:
        self._turns = turns
        self._name = name
        self._moved_bytes = moved_bytes
        self._wake: Callable[[], object] = lambda: None
        self._asked: Request | None = None
        self._head = 0  # the number of the ticket it was asked for
        self._let_in = False
        self._asking = False
        self._running: dict[Batch[Any], Request] = {}
        for priority in Priority:
            # One thread is known to be busy with a batch, so the first need not run alone.
            turns.expect(self._kind(priority), Load(turns.thread_share, 0.0, 0.0, 0.0, 0.0))

    def opened(self, wake: Callable[[], object], waiting: Callable[[], int]) -> None:
        """Take the way to have the batcher look again, and count what waits in it as backlog of the device."""
        self._wake = wake
        self._turns.queues.append(waiting)

    def due(self, size: float, job: Job, now: float) -> float | None:
        """Return the rank of a request."""
        live = job.priority is Priority.LIVE
        return self._turns.rank(Request(0, self._kind(job.priority), now, job.left or size, live))

    def admits(self, head: Ticket[Any], now: float) -> bool:
        """Return whether the turn has come; where not, it has been asked for."""
        if self._let_in:
            return True
        if self._asked is not None and self._head == head.number:
            self._turns.let_in()
            return self._let_in
        if self._asked is not None and not self._turns.leave(self._asked):
            return True  # it came while we asked
        self._ask(head)
        return self._let_in

    def started(self, batch: Batch[Any]) -> None:
        """Take note who has the turn."""
        if self._asked is None:
            raise RuntimeError(f"{self._name}: a batch started without a turn")
        self._running[batch] = self._asked
        self._asked, self._let_in = None, False

    def ended(self, batch: Batch[Any]) -> None:
        """Take the batch's room back."""
        self._turns.ended(self._running.pop(batch))

    def withdraw(self) -> None:
        """Ask for nothing any more, and let others in."""
        if self._asked is not None and not self._turns.leave(self._asked):
            self._turns.ended(self._asked)
        self._asked, self._let_in = None, False
        self._turns.let_in()

    def ran(self, batch: Batch[Any], seconds: float, requests: Sequence[Any], results: Sequence[Any]) -> None:
        """Put the batch into the profile. Its input had come before: that wait took no room and is not in its time."""
        moved_bytes = self._moved_bytes(requests, results)
        io_wait_s = max(ticket.job.io_wait_s for ticket in batch.tickets)
        ran = Ran(batch.shape.total, seconds, seconds * self._turns.thread_share, io_wait_s, moved_bytes, 0.0)
        self._turns.learn(self._kind(batch.tickets[0].job.priority), ran)

    def _ask(self, head: Ticket[Any]) -> None:
        priority = head.job.priority
        ask = Ask(self._kind(priority), head.job.left or head.size, priority is Priority.LIVE)
        self._head = head.number
        self._asking = True
        self._asked = self._turns.wait(ask, head.arrived, self._on_let_in)
        self._asking = False  # before the answer is read: who lets us in from now on wakes the batcher

    def _on_let_in(self) -> None:
        self._let_in = True
        if not self._asking:
            self._wake()

    def _kind(self, priority: Priority) -> str:
        return f"{self._name}.{priority}"

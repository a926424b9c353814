"""What stands between a batcher and the device it shares with others: it says when the next batch may start.

Called by the batch core under its batcher's lock. ``place.py`` is the gate to a shared device; the one here is open.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from services.inference.lanes import Batch, Job, Ticket


class Gate(Protocol):
    """Asked for the next batch, not for requests: while it is shut more requests come, and the batch fills."""

    def opened(self, wake: Callable[[], object], waiting: Callable[[], int]) -> None:
        """Take the ways to have the batcher look again and to ask how many requests wait in it.

        Any thread may go them, and they do not block.
        """
        ...

    def due(self, size: float, job: Job, now: float) -> float | None:
        """Return what a new request is ordered by; None where the batcher's own order holds."""
        ...

    def admits(self, head: Ticket[Any], now: float) -> bool:
        """Return whether a batch led by ``head`` may start; where not, the batcher is woken once it may."""
        ...

    def started(self, batch: Batch[Any]) -> None:
        """Take note that the batch that was admitted runs."""
        ...

    def ended(self, batch: Batch[Any]) -> None:
        """Take its room back; ``admits`` or ``withdraw`` follows at once, and only then others are let in."""
        ...

    def withdraw(self) -> None:
        """Take note that nothing is to be started now."""
        ...

    def ran(self, batch: Batch[Any], seconds: float, requests: Sequence[Any], results: Sequence[Any]) -> None:
        """Learn from a batch that ended well; without the batcher's lock."""
        ...


class OpenGate:
    """Lets everything in: for a batcher that has its device to itself."""

    def opened(self, wake: Callable[[], object], waiting: Callable[[], int]) -> None:
        """Do nothing: it is never shut."""

    def due(self, size: float, job: Job, now: float) -> float | None:
        """Leave the order to the batcher."""
        return None

    def admits(self, head: Ticket[Any], now: float) -> bool:
        """Say yes."""
        return True

    def started(self, batch: Batch[Any]) -> None:
        """Do nothing."""

    def ended(self, batch: Batch[Any]) -> None:
        """Do nothing."""

    def withdraw(self) -> None:
        """Do nothing."""

    def ran(self, batch: Batch[Any], seconds: float, requests: Sequence[Any], results: Sequence[Any]) -> None:
        """Do nothing."""

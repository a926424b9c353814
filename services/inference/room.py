"""The room on a device: what its running requests take of its capacities, and whether one more fits. Pure.

Kept by ``scheduler.py`` and by the benchmark's other policies.
"""

from dataclasses import dataclass, field

from services.inference.profile import Load


@dataclass(frozen=True, slots=True)
class Shares:
    """Shares of a device's compute, of its memory bandwidth and of its line."""

    compute: float
    bandwidth: float
    line: float

    def __add__(self, other: "Shares") -> "Shares":
        return Shares(self.compute + other.compute, self.bandwidth + other.bandwidth, self.line + other.line)

    def __sub__(self, other: "Shares") -> "Shares":
        return Shares(self.compute - other.compute, self.bandwidth - other.bandwidth, self.line - other.line)

    @property
    def most(self) -> float:
        """The share of the fullest capacity."""
        return max(self.compute, self.bandwidth, self.line)


ROUNDING = 1e-9  # shares are means of what was measured: two halves may come out a little above one
NONE = Shares(0.0, 0.0, 0.0)


def shares_of(load: Load) -> Shares:
    """Return what a kind takes of the device while it runs."""
    return Shares(load.compute, load.bandwidth, load.line)


@dataclass(slots=True)
class Room:
    """``fill`` of each capacity may be given out; an empty device takes anything, or the largest would never run."""

    fill: float
    in_use: Shares = NONE
    _running: dict[int, Shares] = field(default_factory=dict)

    def fits(self, shares: Shares) -> bool:
        """Return whether one more with these shares may run."""
        return not self._running or (self.in_use + shares).most <= self.fill + ROUNDING

    def take(self, number: int, shares: Shares) -> None:
        """Count a request as running."""
        self._running[number] = shares
        self.in_use = self.in_use + shares

    def give_back(self, number: int) -> None:
        """Count a request as ended. KeyError for one that does not run."""
        self.in_use = self.in_use - self._running.pop(number)
        if not self._running:
            self.in_use = NONE  # without what rounding has left

    def clear(self) -> None:
        """Count all as ended."""
        self._running.clear()
        self.in_use = NONE

    def __len__(self) -> int:
        return len(self._running)

"""The live load profile: what requests of each kind asked of the device when they really ran. Pure.

The turns of ``turns.py`` and the simulation of the benchmark put in what ran; ``scheduler.py`` reads shares in [0, 1]
and the learnt cost from it. A profile that is read is never older than ``refresh_s``; ``now_s`` is passed in.
"""

from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from math import ceil

KEPT = 64  # runs of each kind: enough for a P95, few enough to follow a change


@dataclass(frozen=True, slots=True)
class ProfileSettings:
    """How the profile is read off: ``refresh_s`` at most 0.8, ``io_full_s`` the I/O wait that counts as 1.

    The other two are what the device can do: bytes to and from memory, bytes over its line.
    """

    refresh_s: float = 0.8
    io_full_s: float = 2.0
    bytes_per_s: float = 10e9
    line_bytes_per_s: float = 12.5e6

    def __post_init__(self) -> None:
        if not 0 < self.refresh_s <= 0.8:
            raise ValueError("the profile must be refreshed at least every 0.8 s")


@dataclass(frozen=True, slots=True)
class Ran:
    """One run as measured: what it takes of time, compute, memory and line when it runs alone.

    ``alone_s`` leaves out what it waited for the device: were it in, runs that slow each other down would seem light,
    more would be let in, and they would seem lighter still. ``compute_s`` is in seconds of the whole device.
    """

    size: float
    alone_s: float
    compute_s: float
    io_wait_s: float
    moved_bytes: float
    line_bytes: float


@dataclass(frozen=True, slots=True)
class Load:
    """What one kind asks for while it runs alone, each share in [0, 1], and the seconds that one unit of size takes."""

    compute: float
    bandwidth: float
    line: float
    io_p95: float
    s_per_unit: float


# Nothing has run yet: it is taken to fill the device, so that it is tried beside nothing.
UNKNOWN = Load(compute=1.0, bandwidth=1.0, line=1.0, io_p95=0.0, s_per_unit=1.0)


@dataclass(slots=True)
class LoadProfile:
    """Loads by kind. ``loads`` recomputes the kinds that ran since, once ``refresh_s`` has passed."""

    settings: ProfileSettings = ProfileSettings()
    refreshed_s: float = float("-inf")
    version: int = 0
    _runs: dict[str, deque[Ran]] = field(default_factory=dict)
    _loads: dict[str, Load] = field(default_factory=dict)
    _stale: set[str] = field(default_factory=set)

    def observe(self, kind: str, ran: Ran) -> None:
        """Take in what ran. ValueError for a run without time or size."""
        if ran.alone_s <= 0 or ran.size <= 0:
            raise ValueError("a run has a duration and a size above 0")
        self._runs.setdefault(kind, deque(maxlen=KEPT)).append(ran)
        self._stale.add(kind)

    def expect(self, kind: str, load: Load) -> None:
        """Say what is known of a kind before any of it has run; what runs replaces it."""
        self._loads.setdefault(kind, load)

    def loads(self, now_s: float) -> Mapping[str, Load]:
        """Return the load of each kind that has run."""
        if now_s - self.refreshed_s >= self.settings.refresh_s:
            for kind in self._stale:
                self._loads[kind] = load_of(self._runs[kind], self.settings)
            self.version += bool(self._stale)
            self._stale.clear()
            self.refreshed_s = now_s
        return self._loads


def load_of(runs: Collection[Ran], settings: ProfileSettings) -> Load:
    """Return the load of a kind from its runs: shares of the time they took in all, and the P95 of their I/O waits."""
    alone_s = sum(ran.alone_s for ran in runs)
    waits_s = sorted(ran.io_wait_s for ran in runs)
    p95_s = waits_s[ceil(len(waits_s) * 0.95) - 1]
    return Load(
        compute=share(sum(ran.compute_s for ran in runs) / alone_s),
        bandwidth=share(sum(ran.moved_bytes for ran in runs) / alone_s / settings.bytes_per_s),
        line=share(sum(ran.line_bytes for ran in runs) / alone_s / settings.line_bytes_per_s),
        io_p95=share(p95_s / settings.io_full_s),
        s_per_unit=alone_s / sum(ran.size for ran in runs),
    )


def share(value: float) -> float:
    """Return the value within [0, 1]."""
    return min(1.0, max(0.0, value))

"""A device for the simulation: runs jobs side by side; takes ``Job``s of workload.py, driven by simulation.py.

It has three capacities of 1: compute, memory bandwidth and the line. A job alone takes its recorded shares of them for
its recorded time. Together they run as fast as alone while no capacity is asked for more than 1; beyond that all slow
down alike. Waiting for I/O takes none of it: that is what makes running side by side worth it.
"""

from dataclasses import dataclass, field
from heapq import heappop, heappush

from bench.workload import Job
from services.inference.profile import ProfileSettings, load_of
from services.inference.room import Room, Shares, shares_of


@dataclass(slots=True)
class Device:
    """Jobs that run, by the progress at which each ends. Progress is time, slowed where a capacity is over-asked."""

    settings: ProfileSettings
    fill: float = 1.0
    now_s: float = 0.0
    room: Room = field(init=False)
    _progress_s: float = 0.0
    _ends: list[tuple[float, int, Job]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.room = Room(self.fill)

    def __len__(self) -> int:
        return len(self.room)

    @property
    def idle(self) -> float:
        """The share of the fullest capacity that nobody uses."""
        return max(0.0, 1.0 - self.room.in_use.most)

    @property
    def next_end_s(self) -> float:
        """When the next job ends if nothing changes; infinite when none runs."""
        if not self._ends:
            return float("inf")
        return self.now_s + max(0.0, self._ends[0][0] - self._progress_s) / self._speed

    def fits(self, job: Job) -> bool:
        """Return whether a job may run beside those that run; ``simulate``'s policies decide by themselves."""
        return self.room.fits(self._shares(job))

    def start(self, job: Job, left_s: float) -> None:
        """Run what is left of a job."""
        heappush(self._ends, (self._progress_s + left_s, job.request.number, job))
        self.room.take(job.request.number, self._shares(job))

    def advance(self, until_s: float) -> None:
        """Let time pass; no job may end before ``until_s``."""
        self._progress_s += (until_s - self.now_s) * self._speed
        self.now_s = until_s

    def end(self) -> Job:
        """Return the job that ends next, at the time it ends."""
        self.now_s = self.next_end_s
        self._progress_s, number, job = heappop(self._ends)
        self.room.give_back(number)
        return job

    def stop_all(self) -> list[tuple[Job, float]]:
        """Take all jobs off the device and return each with the seconds of it that are left."""
        stopped = [(job, end - self._progress_s) for end, _, job in self._ends]
        self._ends.clear()
        self.room.clear()
        return stopped

    def _shares(self, job: Job) -> Shares:
        return shares_of(load_of([job.truth], self.settings))

    @property
    def _speed(self) -> float:
        return 1.0 / max(1.0, self.room.in_use.most)

"""Decides whether another call may begin: a live one only while the others' lag stays under its limit.

What live calls measured of themselves in; a seat, or Overloaded with the time to come back, out. Pure: ``now`` is
passed in, in seconds of one monotonic clock. Called by ``seats.py``.

A live call goes in a circle: speech gathers, then a pass hears it. What it lags is one round, and all rounds share the
workers: a closed queueing network. There one more call lengthens the mean round by at most its own pass, spread over
the workers (the arrival theorem), and in proportion to the calls at most (Denning and Buzen 1978, throughput never
falls); when the workers are busy a round takes as long as the passes of all calls together.
"""

import math
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, field

from services.common.errors import Overloaded

WINDOW_S = 10.0  # what was measured in the last ten seconds is the present
MOST_ROUNDS = 4096  # remembered of it
COSTS = 256  # rounds whose mean is the cost of the next one
LENGTHS = 32  # ended calls whose mean length says how long the next one will be
# Both as simulated: the slowest rounds in twenty against the mean round.
TAIL = 3.0  # so much faster they grow where the workers become busy
BUSY_TAIL = 1.8  # so much longer they are when the workers are busy
MARGIN = 0.85  # of the limit: a file that comes later delays live passes by the one of its own that runs
SOONEST_RETRY_S, LATEST_RETRY_S = 1.0, 300.0


@dataclass(frozen=True, slots=True)
class AdmissionRules:
    """What may be. ``cost_s`` is a round's work before any was measured.

    Between two passes a call waits for speech of ``interval_s``, or of ``busy_share`` times the last one's work.
    """

    max_lag_s: float
    workers: int
    max_live: int
    max_files: int
    interval_s: float = 0.5
    cost_s: float = 0.0
    busy_share: float = 0.0


@dataclass(frozen=True, slots=True)
class Round:
    """One round of a live call: from the speech that the round before had not heard to the words of it.

    ``cost_s`` is the worker time spent on it, a batch's shared out among those in it.
    """

    lag_s: float
    cost_s: float


@dataclass(slots=True, eq=False)
class Seat:
    """A call that was admitted."""

    live: bool
    began_s: float
    left_s: float = math.inf


@dataclass(frozen=True, slots=True)
class _Measured:
    """A round's lag, when it was measured, and whose it was."""

    at_s: float
    lag_s: float
    seat: Seat


@dataclass
class Admission:
    """Who is in, and what they measured."""

    rules: AdmissionRules
    _live: set[Seat] = field(default_factory=set)
    _files: set[Seat] = field(default_factory=set)
    _rounds: deque[_Measured] = field(default_factory=lambda: deque(maxlen=MOST_ROUNDS))
    _costs: deque[float] = field(default_factory=lambda: deque(maxlen=COSTS))
    _lengths: dict[bool, deque[float]] = field(
        default_factory=lambda: {True: deque(maxlen=LENGTHS), False: deque(maxlen=LENGTHS)}
    )

    @property
    def live(self) -> int:
        """Return how many live calls are in."""
        return len(self._live)

    @property
    def files(self) -> int:
        """Return how many files are in."""
        return len(self._files)

    def admit(self, now: float, *, live: bool, continues: bool = False) -> Seat:
        """Return a seat, or raise Overloaded. A session that ``continues`` was let in before: only the cap holds."""
        seats, most = (self._live, self.rules.max_live) if live else (self._files, self.rules.max_files)
        if len(seats) >= most:
            what = "live sessions" if live else "files"
            raise Overloaded(f"{len(seats)} {what} are being transcribed", retry_after_s=self._retry_s(live, 1, now))
        if live and not continues:
            self._check_lag(now)
        seat = Seat(live, now)
        seats.add(seat)
        return seat

    def measured(self, seat: Seat, one: Round, now: float) -> None:
        """Take note of a live call's round."""
        self._rounds.append(_Measured(now, one.lag_s, seat))
        self._costs.append(one.cost_s)

    def leave(self, seat: Seat, now: float) -> None:
        """Give a seat back."""
        (self._live if seat.live else self._files).remove(seat)
        seat.left_s = now
        self._lengths[seat.live].append(now - seat.began_s)

    def lag_s(self, now: float) -> float:
        """Return the lag that 95 of 100 rounds of the last seconds kept under; 0 when there was none."""
        return _p95([one.lag_s for one in self._recent(now)])

    def forecast_s(self, now: float) -> float:
        """Return the lag once another call is in and everybody speaks."""
        together = len(self._live) + 1
        present_s, work_s = self._present_s(now), self._cost_s / self.rules.workers
        forecast_s = max(present_s + self._step_s, BUSY_TAIL * work_s * together)
        if present_s > 2 * self._alone_s:  # busy: whoever was not in what was measured comes on top
            forecast_s = max(forecast_s, _p95([one.lag_s * together / calls for one, calls in self._shared(now)]))
        return forecast_s

    def _present_s(self, now: float) -> float:
        # Where calls have left since, busy workers shorten the others' rounds in proportion.
        live = len(self._live)
        return max(_p95([one.lag_s * min(1.0, live / calls) for one, calls in self._shared(now)]), self._alone_s)

    def _shared(self, now: float) -> list[tuple[_Measured, int]]:
        """Return the rounds of the window, and how many calls shared the workers at each: those that spoke in it."""
        recent = self._recent(now)
        speaking = {one.seat for one in recent}
        begun, left = sorted(seat.began_s for seat in speaking), sorted(seat.left_s for seat in speaking)
        return [(one, bisect_right(begun, one.at_s) - bisect_left(left, one.at_s)) for one in recent]

    def _recent(self, now: float) -> Collection[_Measured]:
        while self._rounds and self._rounds[0].at_s < now - WINDOW_S:
            self._rounds.popleft()
        return self._rounds

    @property
    def _alone_s(self) -> float:
        return max(self.rules.interval_s, self.rules.busy_share * self._cost_s) + self._cost_s

    def _check_lag(self, now: float) -> None:
        forecast_s, limit_s = self.forecast_s(now), MARGIN * self.rules.max_lag_s
        # Whoever is alone delays nobody; the first to come must be able to measure.
        if not self._live or forecast_s <= limit_s:
            return
        too_many = math.ceil((forecast_s - limit_s) / self._step_s) if self._step_s > 0 else 1
        retry_s = self._retry_s(True, too_many, now)
        if self._present_s(now) + self._step_s <= limit_s:  # only a rush: there may be room once it is measured
            retry_s = min(retry_s, WINDOW_S)
        text = f"{self.live} live sessions: with another one words would come {forecast_s:.1f} s late"
        raise Overloaded(text, retry_after_s=retry_s)

    @property
    def _cost_s(self) -> float:
        return sum(self._costs) / len(self._costs) if self._costs else self.rules.cost_s

    @property
    def _step_s(self) -> float:
        return TAIL * self._cost_s / self.rules.workers

    def _retry_s(self, live: bool, leaving: int, now: float) -> float:
        """Return when so many of those who are in will have left, by how long calls last."""
        seats, lengths = (self._live if live else self._files), self._lengths[live]
        # Calls that ended say how long one lasts; before any has, those that run have so far shown half of it.
        length_s = sum(lengths) / len(lengths) if lengths else 2 * _mean([now - seat.began_s for seat in seats])
        return min(LATEST_RETRY_S, max(SOONEST_RETRY_S, length_s * min(1.0, leaving / len(seats))))


def _p95(values: list[float]) -> float:
    return sorted(values)[math.ceil(len(values) * 0.95) - 1] if values else 0.0


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)

"""EMBS, the elastic multimodal batch scheduler: says which waiting request starts next, beside those that run. Pure.

A device has three capacities: compute, memory bandwidth and its line. Each kind of request takes a share of each while
it runs, learnt by ``profile.py``; requests run side by side while the shares of all fit. ``turns.py`` and the
benchmark call it; a batcher orders its own requests by ``rank``. ``now_s`` is passed in.

Ranks. A request's rank is a time: when it came, plus its slack. The slack is its remaining work divided by its kind's
priority (Smith's rule: short and heavy first), at most ``patience_s``, and ``live_lead_s`` more where nobody listens.
The lowest rank goes first; one that does not fit lets others pass, until it is ``hold_s`` beyond its rank.

Nobody starves. A rank is at most ``arrival + live_lead_s + patience_s``, whatever the profile says. What comes later
than that never ranks before it, and ``hold_s`` after it nothing that ranks behind it starts: a request waits at most
for those that came before that moment.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import Protocol

from services.inference.profile import UNKNOWN, Load, LoadProfile
from services.inference.room import Room, shares_of

LEAST_PRIORITY = 0.05  # a kind that only waits for I/O has priority 0, and slack is divided by it
RERANK = 0.1  # the relative change of a kind's slack that is worth ranking its requests again


@dataclass(frozen=True, slots=True)
class Request:
    """What waits. ``size`` is in the kind's own unit; ``remaining_s`` where the work left is known, not learnt."""

    number: int
    kind: str
    arrived_s: float
    size: float
    live: bool
    remaining_s: float | None = None


class Policy(Protocol):
    """Who runs next on a device: ``Embs``, or ``fifo.py`` to compare it with."""

    profile: LoadProfile
    room: Room

    def __len__(self) -> int:
        """Return how many wait."""
        ...

    def rank(self, request: Request, now_s: float) -> float:
        """Return the time by which requests are ordered, for a queue that orders its own."""
        ...

    def add(self, request: Request, now_s: float) -> None:
        """Let a request wait."""
        ...

    def leave(self, request: Request) -> None:
        """Take a waiting request out."""
        ...

    def next(self, now_s: float) -> Request | None:
        """Return the request that starts now, and count it as running; None where none fits."""
        ...

    def ended(self, request: Request) -> None:
        """Give the room of a running request back."""
        ...


@dataclass(frozen=True, slots=True)
class EmbsSettings:
    """``patience_s``: the most slack; ``stretch``: seconds of slack per second of work. Both rank within a class.

    ``live_lead_s`` is at least the patience, so no live request ranks behind a file that came with it or later.
    ``fill``: the share of each capacity to give out; above 1, requests slow each other a little and nothing lies idle.
    """

    patience_s: float = 30.0
    live_lead_s: float = 30.0
    hold_s: float = 5.0
    stretch: float = 1.0
    fill: float = 1.35

    def __post_init__(self) -> None:
        if self.live_lead_s < self.patience_s:
            raise ValueError("the lead of live requests must be at least the patience")
        if min(self.patience_s, self.hold_s, self.stretch) < 0 or self.fill <= 0:
            raise ValueError("times and stretch are at least 0, the fill is above 0")


def priority(load: Load) -> float:
    """Return EMBS's priority in [0, 1]: compute and bandwidth first, what waits for I/O last."""
    return 0.40 * load.compute + 0.35 * load.bandwidth + 0.25 * (1 - load.io_p95)


@dataclass(frozen=True, slots=True)
class _Slack:
    """Seconds of slack that requests of a kind get: per unit of size, and per second of work where that is known."""

    per_unit: float
    per_s: float


@dataclass(slots=True)
class _Kind:
    """The waiting requests of one kind, lowest rank first, and the slack they were ranked by."""

    slack: _Slack
    heap: list[tuple[float, int, Request]] = field(default_factory=list)


@dataclass(slots=True)
class Embs:
    """The scheduler of one device."""

    profile: LoadProfile
    settings: EmbsSettings = EmbsSettings()
    room: Room = field(init=False)
    _kinds: dict[str, _Kind] = field(default_factory=dict)
    _version: int = -1

    def __post_init__(self) -> None:
        self.room = Room(self.settings.fill)

    def __len__(self) -> int:
        return sum(len(waiting.heap) for waiting in self._kinds.values())

    def rank(self, request: Request, now_s: float) -> float:
        """Return the rank of a request by what the profile knows now."""
        return self._rank(request, self._slack(self.profile.loads(now_s).get(request.kind, UNKNOWN)))

    def add(self, request: Request, now_s: float) -> None:
        """Let a request wait."""
        self._rerank(self.profile.loads(now_s))
        waiting = self._kinds.get(request.kind)
        if waiting is None:
            load = self.profile.loads(now_s).get(request.kind, UNKNOWN)
            waiting = self._kinds[request.kind] = _Kind(self._slack(load))
        heappush(waiting.heap, (self._rank(request, waiting.slack), request.number, request))

    def leave(self, request: Request) -> None:
        """Take a waiting request out: its caller left. Costs a pass over its kind."""
        waiting = self._kinds[request.kind]
        waiting.heap = [entry for entry in waiting.heap if entry[1] != request.number]
        heapify(waiting.heap)

    def next(self, now_s: float) -> Request | None:
        """Return the request that starts now, and count it as running; None where none fits."""
        loads = self.profile.loads(now_s)
        self._rerank(loads)
        heads = sorted((waiting.heap[0], kind) for kind, waiting in self._kinds.items() if waiting.heap)
        for (rank, _, _), kind in heads:
            shares = shares_of(loads.get(kind, UNKNOWN))
            if self.room.fits(shares):
                _, _, request = heappop(self._kinds[kind].heap)
                self.room.take(request.number, shares)
                return request
            if now_s > rank + self.settings.hold_s:
                return None  # the room that comes free is for this one
        return None

    def ended(self, request: Request) -> None:
        """Give the room of a running request back."""
        self.room.give_back(request.number)

    def _rank(self, request: Request, slack: _Slack) -> float:
        known_s = request.remaining_s
        slack_s = request.size * slack.per_unit if known_s is None else known_s * slack.per_s
        # No call of min: a kind's thousands may have to be ranked again at once.
        slack_s = slack_s if slack_s < self.settings.patience_s else self.settings.patience_s
        return request.arrived_s + slack_s + (0.0 if request.live else self.settings.live_lead_s)

    def _slack(self, load: Load) -> _Slack:
        per_s = self.settings.stretch / max(LEAST_PRIORITY, priority(load))
        return _Slack(load.s_per_unit * per_s, per_s)

    def _rerank(self, loads: Mapping[str, Load]) -> None:
        if self._version == self.profile.version:
            return
        self._version = self.profile.version
        for kind, waiting in self._kinds.items():
            slack = self._slack(loads.get(kind, UNKNOWN))
            if _differs(slack.per_unit, waiting.slack.per_unit) or _differs(slack.per_s, waiting.slack.per_s):
                waiting.slack = slack
                waiting.heap = [(self._rank(request, slack), number, request) for _, number, request in waiting.heap]
                heapify(waiting.heap)


def _differs(new: float, old: float) -> bool:
    return abs(new - old) > RERANK * old

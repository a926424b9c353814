"""First come, first served: the order that EMBS is compared with. Pure.

``turns.py`` runs the services by it where the settings say so, and the benchmark its simulation.
"""

from bisect import bisect_left, insort
from dataclasses import dataclass, field

from services.inference.profile import UNKNOWN, LoadProfile
from services.inference.room import Room, shares_of
from services.inference.scheduler import Request


@dataclass(slots=True)
class Fifo:
    """Side by side while the shares fit, and the one at the head holds up all others. Classes are not looked at."""

    profile: LoadProfile
    room: Room
    _waiting: list[Request] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self._waiting)

    def rank(self, request: Request, now_s: float) -> float:
        """Return when the request came."""
        return request.arrived_s

    def add(self, request: Request, now_s: float) -> None:
        """Let a request wait."""
        insort(self._waiting, request, key=_came)

    def leave(self, request: Request) -> None:
        """Take a waiting request out."""
        del self._waiting[bisect_left(self._waiting, _came(request), key=_came)]

    def next(self, now_s: float) -> Request | None:
        """Return the request at the head where it fits, and count it as running."""
        if not self._waiting:
            return None
        shares = shares_of(self.profile.loads(now_s).get(self._waiting[0].kind, UNKNOWN))
        if not self.room.fits(shares):
            return None
        request = self._waiting.pop(0)
        self.room.take(request.number, shares)
        return request

    def ended(self, request: Request) -> None:
        """Give the room of a running request back."""
        self.room.give_back(request.number)


def _came(request: Request) -> tuple[float, int]:
    return request.arrived_s, request.number

"""What sizes are usual here: sizes in, their lower quartile out. Called by the batch core to tell long from short."""

import math
from bisect import bisect_left, insort
from collections import deque

REMEMBERED = 256
NEEDED = 8


class Sizes:
    """The last sizes seen. The lower quartile, not the median: up to three long ones in four stay long."""

    def __init__(self) -> None:
        self._recent: deque[float] = deque()
        self._sorted: list[float] = []

    @property
    def lower_quartile(self) -> float:
        """Return the size that a quarter of the last ones do not exceed; infinite before there are enough."""
        if len(self._sorted) < NEEDED:
            return math.inf
        return self._sorted[len(self._sorted) // 4]

    def add(self, size: float) -> None:
        """Take note of a size."""
        if len(self._recent) == REMEMBERED:
            del self._sorted[bisect_left(self._sorted, self._recent.popleft())]
        self._recent.append(size)
        insort(self._sorted, size)

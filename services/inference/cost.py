"""Learns what a batch costs from the batches that ran. Shapes and seconds in, expected seconds out.

Called by the batch core, which knows no other way to tell what a model costs.
"""

from dataclasses import dataclass

SWEEPS = 12


@dataclass(frozen=True, slots=True)
class Shape:
    """A batch as the device sees it: how many requests, their sizes together, and the largest of them.

    Sizes are in any unit the caller likes (frames, pixels, tokens), always the same one.
    """

    count: int
    total: float
    longest: float

    @property
    def padded(self) -> float:
        """Return the work when every request is padded to the longest."""
        return self.count * self.longest

    @property
    def padding(self) -> float:
        """Return the share of the padded work that no request asked for."""
        return 1.0 - self.total / self.padded if self.padded > 0 else 0.0

    def plus(self, size: float) -> "Shape":
        """Return the shape with one more request."""
        return Shape(self.count + 1, self.total + size, max(self.longest, size))


EMPTY = Shape(0, 0.0, 0.0)


def alone(size: float) -> Shape:
    """Return the shape of a request that runs by itself."""
    return EMPTY.plus(size)


class CostModel:
    """Least squares with forgetting over (1, longest, total, padded), no coefficient below zero.

    Non-negative coefficients keep the cost from falling when a request is added, however few shapes were seen. Errors
    count relative to the time taken, so that short batches weigh as much as long ones.
    """

    def __init__(self, forget: float = 0.99) -> None:
        self._forget = forget
        self._unit = 0.0
        self._gram = [[0.0] * 4 for _ in range(4)]
        self._target = [0.0] * 4
        self._weights = [0.0] * 4

    @property
    def known(self) -> bool:
        """Return whether anything was observed yet."""
        return self._unit > 0

    def observe(self, shape: Shape, seconds: float) -> None:
        """Learn that a batch of this shape took ``seconds``."""
        if seconds <= 0 or shape.count == 0:
            return
        if not self.known:
            self._unit = shape.longest or 1.0
        row = [feature / seconds for feature in self._features(shape)]
        for at, value in enumerate(row):
            self._target[at] = self._forget * self._target[at] + value
            self._gram[at] = [
                self._forget * old + value * other for old, other in zip(self._gram[at], row, strict=True)
            ]
        self._descend()

    def seconds(self, shape: Shape) -> float:
        """Return the expected time of a batch; 0 before the first observation."""
        if not self.known:
            return 0.0
        return sum(weight * value for weight, value in zip(self._weights, self._features(shape), strict=True))

    def saving(self, shape: Shape) -> float:
        """Return the seconds saved when one more request of the longest size joins instead of running alone."""
        joined = self.seconds(shape.plus(shape.longest))
        return max(0.0, self.seconds(shape) + self.seconds(alone(shape.longest)) - joined)

    def _features(self, shape: Shape) -> tuple[float, float, float, float]:
        unit = self._unit
        return 1.0, shape.longest / unit, shape.total / unit, shape.padded / unit

    def _descend(self) -> None:
        weights = self._weights
        for _ in range(SWEEPS):
            for at, row in enumerate(self._gram):
                if row[at] > 0:
                    missing = self._target[at] - sum(a * w for a, w in zip(row, weights, strict=True))
                    weights[at] = max(0.0, weights[at] + missing / row[at])

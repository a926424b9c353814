"""The model that every batching server of the benchmark runs: numbers of steps in, one number each out.

Imports numpy only, and nothing of this project: each server imports it in an environment of its own. The environment
variable ``OPENBLAS_NUM_THREADS=1`` is set by whoever starts the server.
"""

from collections.abc import Sequence

import numpy as np

MAX_BATCH = 32
MAX_WAIT_S = 0.010
WIDTH = 1024
LAYERS = 20


class PaddedMlp:
    """Twenty layers of 1024 x 1024 a step: about 5 ms for one request, 24 ms for 32, on one core.

    A request is its number of steps. The batch is padded: all its rows take as many steps as the longest request, as
    a padded encoder does. A negative number of steps makes it raise, as poisonous input does.
    """

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self._layers = [rng.standard_normal((WIDTH, WIDTH)).astype(np.float32) * 0.04 for _ in range(LAYERS)]
        self._rows = rng.standard_normal((MAX_BATCH, WIDTH)).astype(np.float32)

    def run(self, steps: Sequence[int]) -> list[float]:
        """Return one value for each request; at most ``MAX_BATCH`` of them. ValueError for a negative one."""
        if min(steps) < 0:
            raise ValueError("a request of this batch is poisonous")
        state = self._rows[: len(steps)]
        for _ in range(max(steps)):
            for layer in self._layers:
                state = np.maximum(state @ layer, 0.0)
        return [float(value) for value in state[:, 0]]

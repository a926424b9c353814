"""The last seconds of a 16 kHz stream, addressed by position. Pure; called by ``hearing.py`` and ``recognition.py``."""

import numpy as np
from numpy.typing import NDArray


class Tape:
    """Holds what was appended and not yet forgotten."""

    def __init__(self) -> None:
        self._samples = np.zeros(0, np.float32)
        self.begin = 0

    @property
    def end(self) -> int:
        """Position after the last sample."""
        return self.begin + self._samples.size

    def append(self, samples: NDArray[np.float32]) -> None:
        """Add samples at the end."""
        self._samples = np.concatenate([self._samples, samples])

    def read(self, start: int, end: int) -> NDArray[np.float32]:
        """Return the samples in [start, end) that are still here."""
        return self._samples[max(0, start - self.begin) : max(0, end - self.begin)]

    def forget(self, before: int) -> None:
        """Let go of everything before a position."""
        count = min(before, self.end) - self.begin
        if count > 0:
            self._samples = self._samples[count:].copy()  # a view would keep the whole array
            self.begin += count

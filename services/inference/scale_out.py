"""Says when one device is no longer enough: three utilisation samples in a row above 82 %. Called by ``turns.py``."""

from dataclasses import dataclass


@dataclass(slots=True)
class ScaleOut:
    """Counts samples; a sample at or below ``above`` starts the count again."""

    above: float = 0.82
    samples: int = 3
    _run: int = 0

    def observe(self, utilisation: float) -> bool:
        """Take a sample in [0, 1] and return whether another device is wanted."""
        self._run = self._run + 1 if utilisation > self.above else 0
        return self._run >= self.samples

"""The media clock of one live stream: counts samples, finds gaps. Pure; called by ``hearing.py``."""

from fractions import Fraction

from services.common.types import Warned

TOLERANCE_US = 20_000
OVERLAP = Warned("clock_overlap", "audio is stamped earlier than its sample count says; the count is kept")


class MediaClock:
    """Counts ``rate_hz`` samples from ``start_us``; ``step`` is the number of them per 16 kHz sample."""

    def __init__(self, start_us: int, rate_hz: int, step: Fraction) -> None:
        self._base_us = start_us
        self._base_position = 0
        self._rate_hz = rate_hz
        self._samples = 0
        self._position_us = step * 1_000_000 / rate_hz

    @property
    def now_us(self) -> int:
        """Media time of the next sample."""
        return self._base_us + self._samples * 1_000_000 // self._rate_hz

    def advance(self, samples: int) -> None:
        """Count samples that came in."""
        self._samples += samples

    def ahead_us(self, pts_us: int) -> int:
        """Return how far a chunk's stamp lies ahead of the count (negative: behind), 0 within the tolerance."""
        ahead = pts_us - self.now_us
        return ahead if abs(ahead) > TOLERANCE_US else 0

    def jump(self, us: int, position: int) -> None:
        """Go on counting from ``us``, which is where the 16 kHz stream stands at ``position``."""
        self._base_us, self._base_position, self._samples = us, position, 0

    def us(self, position: int) -> int:
        """Return the media time of a position in the 16 kHz stream, never later than now."""
        since = (position - self._base_position) * self._position_us
        return min(self.now_us, self._base_us + max(0, int(since)))

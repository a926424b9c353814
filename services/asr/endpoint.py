"""Decides from speech probabilities where speech starts and stops, with hysteresis. Pure; called by ``hearing.py``.

Positions are samples of the 16 kHz stream. Probabilities come from the detector, one per 512 samples.
"""

from dataclasses import dataclass

WINDOW = 512  # 32 ms


@dataclass(frozen=True, slots=True)
class EndpointRules:
    """Thresholds of the probability, and lengths in samples."""

    start: float = 0.5
    stop: float = 0.35
    min_speech: int = 3 * WINDOW
    min_silence: int = 8_000


@dataclass(frozen=True, slots=True)
class Started:
    """Speech begins at this position."""

    position: int


@dataclass(frozen=True, slots=True)
class Stopped:
    """Speech ended at this position: silence begins there."""

    position: int


class Endpointer:
    """State of one stream."""

    def __init__(self, rules: EndpointRules) -> None:
        self._rules = rules
        self.position = 0
        self.speaking = False
        self.rising_since: int | None = None  # sounds like speech, too short yet to be it
        self.quiet_since: int | None = None  # within speech: sounds like silence, too short yet to end it

    def push(self, probability: float) -> Started | Stopped | None:
        """Take the probability of the next 512 samples; return what it decides."""
        begin = self.position
        self.position += WINDOW
        return self._while_speaking(probability, begin) if self.speaking else self._while_silent(probability, begin)

    def cut(self) -> Started | None:
        """Take speech that is too short yet for speech: nothing more will follow it here."""
        return self._start() if self.rising_since is not None else None

    def stop(self) -> Stopped | None:
        """End running speech here."""
        if not self.speaking:
            return None
        return self._stop(self.position if self.quiet_since is None else self.quiet_since)

    def _while_silent(self, probability: float, begin: int) -> Started | None:
        if probability < self._rules.stop:
            self.rising_since = None
        elif probability >= self._rules.start and self.rising_since is None:
            self.rising_since = begin
        if self.rising_since is None or self.position - self.rising_since < self._rules.min_speech:
            return None
        return self._start()

    def _while_speaking(self, probability: float, begin: int) -> Stopped | None:
        if probability >= self._rules.start:
            self.quiet_since = None
        elif probability < self._rules.stop and self.quiet_since is None:
            self.quiet_since = begin
        if self.quiet_since is None or self.position - self.quiet_since < self._rules.min_silence:
            return None
        return self._stop(self.quiet_since)

    def _start(self) -> Started:
        assert self.rising_since is not None
        started = Started(self.rising_since)
        self.speaking, self.rising_since, self.quiet_since = True, None, None
        return started

    def _stop(self, position: int) -> Stopped:
        self.speaking, self.rising_since, self.quiet_since = False, None, None
        return Stopped(position)

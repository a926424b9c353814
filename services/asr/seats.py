"""The seats of the speech service: who may come in, and that every seat is given back, however its call ends.

Around the rule in ``admission.py``: the clock, the metrics, the context manager. Called by the engine.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from services.asr.admission import Admission, AdmissionRules, Round, Seat
from services.asr.settings import BUSY_SHARE, AsrSettings
from services.common.errors import Overloaded
from services.common.metrics import LIVE_LAG_SECONDS, TRANSCRIPTIONS, TRANSCRIPTIONS_REFUSED
from services.common.types import Encoding, RecognizeConfig

Measure = Callable[[Round], None]


def rules_of(settings: AsrSettings, cost_s: float = 0.0) -> AdmissionRules:
    """Return the rules that the settings ask for; ``cost_s`` is what a pass took when the models were warmed up."""
    return AdmissionRules(
        settings.max_lag_s,
        settings.workers,
        settings.max_sessions,
        settings.max_files,
        settings.pass_interval_ms / 1000,
        cost_s,
        BUSY_SHARE,
    )


@dataclass(frozen=True, slots=True)
class Seats:
    """All calls of the service."""

    admission: Admission
    clock: Callable[[], float] = time.monotonic

    @contextmanager
    def taken(self, config: RecognizeConfig) -> Iterator[Measure]:
        """Hold a seat while the body runs and yield who is to be told of its rounds; Overloaded when there is none."""
        kind = "file" if config.encoding is Encoding.FILE else "live"
        seat = self._admitted(config, kind)
        TRANSCRIPTIONS.labels(kind).inc()
        try:
            yield lambda one: self._measured(seat, one)
        finally:
            self.admission.leave(seat, self.clock())
            TRANSCRIPTIONS.labels(kind).dec()

    def _admitted(self, config: RecognizeConfig, kind: str) -> Seat:
        try:
            return self.admission.admit(self.clock(), live=kind == "live", continues=config.continues)
        except Overloaded:
            TRANSCRIPTIONS_REFUSED.labels(kind).inc()
            raise

    def _measured(self, seat: Seat, one: Round) -> None:
        now = self.clock()
        self.admission.measured(seat, one, now)
        LIVE_LAG_SECONDS.set(self.admission.lag_s(now))

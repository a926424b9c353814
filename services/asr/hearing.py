"""Brings a live stream's bytes to 16 kHz and finds speech in them. Called by ``live.py``, on a worker thread.

Bytes in; starts and stops of speech out, and a tape of the samples around them.
"""

import numpy as np
from numpy.typing import NDArray

from services.asr.clock import MediaClock
from services.asr.endpoint import WINDOW, Endpointer, EndpointRules, Started, Stopped
from services.asr.models.silero import SileroModel, SpeechDetector
from services.asr.pauses import Pauses
from services.asr.resample import Resampler
from services.asr.tape import Tape


class Hearing:
    """The ears of one session; samples at ``rate_hz`` come in, the first one at ``start_us``."""

    def __init__(self, model: SileroModel, rules: EndpointRules, rate_hz: int, start_us: int) -> None:
        self._resampler = Resampler(rate_hz)
        self._detector = SpeechDetector(model)
        self.clock = MediaClock(start_us, rate_hz, self._resampler.step)
        self.endpointer = Endpointer(rules)
        self.tape = Tape()
        self.pauses = Pauses(rules.stop)

    def push(self, samples: NDArray[np.float32]) -> None:
        """Take samples at the stream's rate."""
        self.clock.advance(samples.size)
        self.tape.append(self._resampler.push(samples))

    def advance(self, limit: int) -> Started | Stopped | None:
        """Listen on until speech starts or stops, ``limit`` is reached, or no audio is left."""
        while self.endpointer.position < limit and self.endpointer.position + WINDOW <= self.tape.end:
            begin = self.endpointer.position
            probability = self._detector.probability(self.tape.read(begin, begin + WINDOW))
            self.pauses.push(probability)
            change = self.endpointer.push(probability)
            if change is not None:
                return change
        return None

    def forget(self, before: int) -> None:
        """Let go of everything before a position."""
        self.tape.forget(before)
        self.pauses.forget(before)

    def end(self) -> None:
        """Take the stream as over here: nothing that comes later changes what was heard."""
        self.tape.append(self._resampler.finish())
        self.tape.append(np.zeros(-self.tape.end % WINDOW, np.float32))

    def jump(self, us: int) -> None:
        """Go on at ``us``, with ears that remember nothing; only after ``end``."""
        self.clock.jump(us, self.tape.end)
        self._detector.reset()

"""Runs work that asks for passes: the work itself on worker threads, the passes of all calls in batches.

Called by ``live_call.py`` and ``file_call.py``. Between its slices a call holds no thread, and a call that ends while
its pass waits takes the pass with it.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, Generic

from services.asr.models.whisper import Pass
from services.asr.repetition import Answer, Listening
from services.asr.words import HeardWord
from services.common.types import StageTiming
from services.inference.batching import Batcher
from services.inference.lanes import LIVE, Job
from services.inference.worker import Timed, Workers


@dataclass(frozen=True, slots=True)
class Heard(Generic[Answer]):
    """What some work returned, the time it took, and the part of that which is its own: its waits and its shares."""

    value: Answer
    timing: StageTiming
    own_us: int

    @property
    def cost_us(self) -> int:
        """Return the worker time spent on it."""
        return self.own_us - self.timing.queue_us


@dataclass(frozen=True, slots=True)
class Listener:
    """Threads for voice activity and the like, and the batcher before the model; ``job`` is what its calls are."""

    workers: Workers
    batcher: Batcher[Pass, list[HeardWord]]
    job: Job = LIVE

    async def run(self, work: Listening[Answer], job: Job | None = None) -> Heard[Answer]:
        """Return what ``work`` returns and the time of all its slices and passes; raises what they raise."""
        timing, own_us, words, job = StageTiming(), 0, None, job or self.job
        while True:
            slice_ = await self.workers.run(partial(_advanced, work, words))
            timing += slice_.timing
            own_us += _own_us(slice_)
            if isinstance(slice_.value, _Done):
                return Heard(slice_.value.answer, timing, own_us)
            wanted = slice_.value
            heard = await self.batcher.submit(wanted, size=float(wanted.frames), kind=wanted.kind, job=job)
            timing += heard.timing
            own_us += _own_us(heard)
            words = heard.value


@dataclass(frozen=True, slots=True)
class _Done(Generic[Answer]):
    """The end of some work."""

    answer: Answer


def _advanced(work: Listening[Answer], words: list[HeardWord] | None) -> Pass | _Done[Answer]:
    try:
        return next(work) if words is None else work.send(words)
    except StopIteration as end:
        return _Done(end.value)


def _own_us(timed: Timed[Any]) -> int:
    return timed.timing.queue_us + timed.timing.compute_us // timed.together

"""Reads phrases together with those of other sessions. Texts in, readings out; sessions call it.

MiniLM is bound by memory: of eight phrases read together each takes a fifth of the time it takes alone (one thread).
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Generic

from services.aligner.phrases import MAX_TOKENS
from services.aligner.scorer import Reading
from services.common.ports import Priority
from services.inference.batching import Batcher
from services.inference.lanes import BatchSettings, Job
from services.inference.worker import Timed

MARKS = 2  # tokens of begin and end
# Phrases hold at most 32 tokens, so none is so long that the others should not wait for it.
LONGEST_RATIO = float(MAX_TOKENS)
# Of one session at once, so that the words of a long file do not fill the queue; more together gain little.
PER_SESSION = 8
# What MiniLM reads and writes: its layers' weights for each batch, their inputs and outputs for each token.
WEIGHT_BYTES = 42.6e6
BYTES_PER_TOKEN = 323e3
TOKENS_PER_WORD = 1.3


class PhraseReader(Generic[Reading]):
    """One session's way to the batcher that all sessions share; ``count_tokens`` is the text encoder's."""

    def __init__(
        self, count_tokens: Callable[[str], int], batcher: Batcher[str, Reading], priority: Priority = Priority.LIVE
    ) -> None:
        self._count_tokens = count_tokens
        self._batcher = batcher
        self._job = Job(priority)
        self._room = asyncio.Semaphore(PER_SESSION)

    async def read(self, texts: Sequence[str]) -> Timed[list[Reading]]:
        """Return the readings, with what the one that took longest cost; Overloaded when too much waits."""
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._read(text)) for text in texts]
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from None
        read = [task.result() for task in tasks]
        longest = max((one.timing for one in read), key=lambda timing: timing.queue_us + timing.compute_us)
        return Timed([one.value for one in read], longest)

    async def _read(self, text: str) -> Timed[Reading]:
        async with self._room:
            return await self._batcher.submit(text, size=float(MARKS + self._count_tokens(text)), job=self._job)


def moved_bytes(texts: Sequence[str], readings: Sequence[object]) -> float:
    """Return the bytes of memory that reading these texts moves, by their words."""
    tokens = sum(MARKS + TOKENS_PER_WORD * len(text.split()) for text in texts)
    return WEIGHT_BYTES + BYTES_PER_TOKEN * tokens


def batch_settings(workers: int, queue_size: int) -> BatchSettings:
    """Return how phrases are batched; ``queue_size`` sessions may wait."""
    return BatchSettings(workers=workers, max_queue=PER_SESSION * max(1, queue_size), long_ratio=LONGEST_RATIO)

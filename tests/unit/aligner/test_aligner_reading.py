"""Reading phrases together with those of other sessions."""

import asyncio
import threading

import pytest

from services.aligner.models.fake import FakeScorer
from services.aligner.reading import PER_SESSION, PhraseReader, batch_settings
from services.common.errors import Overloaded
from services.inference.batching import Batcher


class NotingScorer(FakeScorer):
    """Notes which texts it is given together."""

    def __init__(self):
        super().__init__(64)
        self.batches = []
        self.entered, self.gate = threading.Event(), threading.Event()
        self.gate.set()

    def read(self, texts):
        self.batches.append(list(texts))
        self.entered.set()
        assert self.gate.wait(10)
        return super().read(texts)


def opened(scorer, queue_size=64):
    return Batcher("read", batch_settings(1, queue_size), scorer.read, lambda: None)


async def test_phrases_of_several_sessions_are_read_together():
    """Those that come at once share a batch, and each session gets its own readings in order."""
    scorer = NotingScorer()
    async with opened(scorer) as batcher:
        await PhraseReader(scorer.count_tokens, batcher).read(["first"])  # the batcher learns what one costs
        texts = ["a hammer", "a drum"]
        read = await asyncio.gather(*(PhraseReader(scorer.count_tokens, batcher).read(texts) for _ in range(3)))
    assert sorted(map(len, scorer.batches)) == [1, 6]
    assert [one.value for one in read] == [FakeScorer(64).read(texts)] * 3
    assert all(one.timing.compute_us > 0 for one in read)


async def test_a_long_talk_does_not_fill_the_queue():
    """However many phrases come at once, a session has few of them waiting, and all are read."""
    scorer = NotingScorer()
    async with opened(scorer, queue_size=1) as batcher:
        read = await PhraseReader(scorer.count_tokens, batcher).read(["a hammer"] * 100)
    assert len(read.value) == 100
    assert max(map(len, scorer.batches)) <= PER_SESSION


async def test_a_full_queue_is_the_callers_own_error():
    """Overloaded comes as it is, not in a group of errors."""
    scorer = NotingScorer()
    async with opened(scorer, queue_size=1) as batcher:
        answers = await asyncio.gather(
            *(PhraseReader(scorer.count_tokens, batcher).read(["a hammer"] * 8) for _ in range(3)),
            return_exceptions=True,
        )
    assert any(isinstance(answer, Overloaded) for answer in answers)
    assert not any(isinstance(answer, ExceptionGroup) for answer in answers)


async def test_a_caller_that_leaves_takes_its_phrases_along():
    """Cancelled before they run, none of them is read."""
    scorer = NotingScorer()
    scorer.gate.clear()
    async with opened(scorer) as batcher:
        reader = PhraseReader(scorer.count_tokens, batcher)
        held = asyncio.create_task(reader.read(["a drum"]))
        await asyncio.to_thread(scorer.entered.wait, 10)
        leaving = asyncio.create_task(reader.read(["a hammer"]))
        await asyncio.sleep(0.01)
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        scorer.gate.set()
        await held
    assert scorer.batches == [["a drum"]]

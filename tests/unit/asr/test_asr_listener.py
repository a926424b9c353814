"""Work that asks for passes, on workers and a batcher with real threads."""

import asyncio
import threading
from contextlib import asynccontextmanager

import numpy as np
import pytest

from services.asr.listener import Listener
from services.asr.models.whisper import Pass, Prompt, Speech
from services.common.ports import Priority
from services.inference.batching import Batcher
from services.inference.lanes import BatchSettings, Job
from services.inference.worker import Workers


class Model:
    """Hears as many words as a stretch has samples; notes its batches, and waits while the gate is shut."""

    def __init__(self):
        self.batches = []
        self.entered, self.gate = threading.Event(), threading.Event()
        self.gate.set()

    def hear(self, passes):
        self.batches.append([wanted.speech.samples.size for wanted in passes])
        self.entered.set()
        assert self.gate.wait(10)
        return [["word"] * wanted.speech.samples.size for wanted in passes]


class AnnouncingBatcher(Batcher):
    """Tells when a request comes."""

    def __init__(self, *args):
        super().__init__(*args)
        self.came = asyncio.Semaphore(0)

    async def submit(self, request, **how):
        self.came.release()
        return await super().submit(request, **how)


@asynccontextmanager
async def opened(model):
    async with (
        Workers("step", 1, 8) as workers,
        AnnouncingBatcher("pass", BatchSettings(workers=1, max_batch=4), model.hear, lambda: None) as batcher,
    ):
        yield Listener(workers, batcher)


def work(*sizes, frames=1_000):
    """Ask for a pass of each size, and return how many words were heard in all."""
    count = 0
    for size in sizes:
        count += len((yield Pass(Speech(np.zeros(size, np.float32)), Prompt(), frames)))
    return count


async def held(model, listener):
    """Keep the only worker busy with a pass of one sample."""
    model.gate.clear()
    task = asyncio.create_task(listener.run(work(1), Job()))
    await waiting(listener, 1)
    await asyncio.to_thread(model.entered.wait, 10)
    return task


async def waiting(listener, count):
    """Return once so many more passes have come."""
    for _ in range(count):
        await asyncio.wait_for(listener.batcher.came.acquire(), 5)


async def test_work_is_sent_the_words_of_its_passes():
    """One pass after the other, and the time of all adds up; work without passes needs no model."""
    model = Model()
    async with opened(model) as listener:
        done = await listener.run(work(2, 3), Job())
        assert (done.value, (await listener.run(work(), Job())).value) == (5, 0)
    assert model.batches == [[2], [3]]
    assert done.timing.compute_us >= 0 <= done.timing.queue_us


async def test_passes_of_several_calls_run_together_and_live_ones_first():
    """Calls that wait share a batch with their kind; a file waits for the live calls, and for no longer."""
    model = Model()
    async with opened(model) as listener:
        first = await held(model, listener)
        calls = [asyncio.create_task(listener.run(work(9), Job(Priority.FILE)))]
        await waiting(listener, 1)
        calls += [asyncio.create_task(listener.run(work(size), Job())) for size in (2, 3)]
        calls += [asyncio.create_task(listener.run(work(5, frames=3_000), Job()))]
        await waiting(listener, 3)
        model.gate.set()
        done = await asyncio.gather(first, *calls)
    assert [one.value for one in done] == [1, 9, 2, 3, 5]
    # Half of a shared pass is a call's own, and all of one that it had to itself.
    assert done[2].own_us < done[2].timing.queue_us + done[2].timing.compute_us
    assert done[4].own_us == done[4].timing.queue_us + done[4].timing.compute_us
    assert sorted(model.batches[1]) == [2, 3]
    assert model.batches[2:] == [[5], [9]]


async def test_a_call_that_waits_holds_no_worker():
    """With its pass in the model, the steps of others run on the only step thread."""
    model = Model()
    async with opened(model) as listener:
        first = await held(model, listener)
        assert (await listener.run(work(), Job())).value == 0
        model.gate.set()
        await first


async def test_a_call_that_ends_takes_its_pass_with_it():
    """A pass that nobody waits for is never heard."""
    model = Model()
    async with opened(model) as listener:
        first = await held(model, listener)
        leaving = asyncio.create_task(listener.run(work(7), Job()))
        await waiting(listener, 1)
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        model.gate.set()
        await first
    assert model.batches == [[1]]


async def test_what_the_model_raises_reaches_the_call():
    """A pass that fails fails its call, not the others."""

    class Failing(Model):
        def hear(self, passes):
            raise RuntimeError("broken")

    async with opened(Failing()) as listener:
        with pytest.raises(RuntimeError, match="broken"):
            await listener.run(work(1), Job())

"""The batcher with real threads: futures, errors, cancellation, closing, metrics."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from prometheus_client import REGISTRY

from services.common.deadlines import Deadline
from services.common.errors import DeadlineExceeded, Overloaded, Unavailable
from services.inference.batching import Batcher
from services.inference.lanes import BatchSettings
from services.inference.worker import Timed

ONE_WORKER = BatchSettings(workers=1)


class Model:
    """Doubles numbers; remembers its batches, holds them while the gate is shut, and fails as told."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Event()
        self.poison: dict[int, BaseException] = {}

    def __call__(self, requests: list[int]) -> list[int | Exception]:
        self.batches.append(requests)
        self.entered.set()
        assert self.gate.wait(10)
        for request in requests:
            if request in self.poison:
                raise self.poison[request]
        return [ValueError("odd") if request % 2 else 2 * request for request in requests]


def opened(model: Callable[[list[int]], Any], settings: BatchSettings = ONE_WORKER, name: str = "test") -> Batcher:
    return Batcher(name, settings, model, lambda: None)


async def held(model: Model, batcher: Batcher) -> "asyncio.Task[Timed[int]]":
    """Shut the gate with one request behind it; the worker is busy from then on."""
    model.gate.clear()
    model.entered.clear()
    task = asyncio.create_task(batcher.submit(0))
    await asyncio.to_thread(model.entered.wait, 10)
    return task


async def test_answers_come_to_their_callers_with_their_cost():
    """Requests sent together run together, each caller gets its own value and the time of the batch."""
    model = Model()
    async with opened(model) as batcher:
        first = await held(model, batcher)
        others = [asyncio.create_task(batcher.submit(number)) for number in (2, 4, 6)]
        await asyncio.sleep(0)
        model.gate.set()
        answers = await asyncio.gather(first, *others)
    assert [answer.value for answer in answers] == [0, 4, 8, 12]
    assert model.batches == [[0], [2, 4, 6]]
    assert all(answer.timing.compute_us >= 0 <= answer.timing.queue_us for answer in answers)


async def test_an_exception_among_the_results_is_its_callers_alone():
    """A result that is an exception is raised where it belongs; nothing is run again."""
    model = Model()
    async with opened(model) as batcher:
        answers = await asyncio.gather(*(batcher.submit(number) for number in (2, 3, 4)), return_exceptions=True)
    assert [type(answer) for answer in answers] == [Timed, ValueError, Timed]
    assert sum(map(len, model.batches)) == 3


@pytest.mark.parametrize("raised", [RuntimeError("poison"), StopIteration(), SystemExit(1)])
async def test_poison_among_32_fails_alone(raised: BaseException):
    """The request that makes a batch raise, whatever it raises, fails; the 31 others are answered."""
    model = Model()
    model.poison = {20: raised}
    async with opened(model) as batcher:
        first = await held(model, batcher)
        others = [asyncio.create_task(batcher.submit(number)) for number in range(2, 66, 2)]
        await asyncio.sleep(0)
        model.gate.set()
        answers = await asyncio.gather(first, *others, return_exceptions=True)
    assert [
        number for number, answer in zip(range(0, 66, 2), answers, strict=True) if isinstance(answer, Exception)
    ] == [20]


async def test_a_wrong_number_of_results_fails_instead_of_mixing_answers_up():
    """A model that loses a result answers nobody with another's."""
    async with opened(lambda requests: [1] * (len(requests) + 1)) as batcher:
        with pytest.raises(ValueError, match="2 results"):
            await batcher.submit(1)


async def test_callers_that_left_are_not_computed():
    """Cancelled while the worker was busy, forty requests are in no batch."""
    model = Model()
    async with opened(model) as batcher:
        first = await held(model, batcher)
        others = [asyncio.create_task(batcher.submit(number)) for number in range(2, 82, 2)]
        await asyncio.sleep(0)
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        model.gate.set()
        await first
        assert (await batcher.submit(100)).value == 200
    assert model.batches == [[0], [100]]


async def test_a_full_queue_refuses_at_once_and_says_when_to_come_back():
    """The request after the last place is Overloaded; those inside are answered."""
    model = Model()
    async with opened(model, BatchSettings(workers=1, max_queue=2)) as batcher:
        first = await held(model, batcher)
        others = [asyncio.create_task(batcher.submit(number)) for number in (2, 4)]
        await asyncio.sleep(0)
        with pytest.raises(Overloaded) as caught:
            await batcher.submit(6)
        assert caught.value.retry_after_s
        model.gate.set()
        assert [answer.value for answer in await asyncio.gather(first, *others)] == [0, 4, 8]


async def test_a_deadline_that_passes_in_the_queue_is_answered_there_and_not_run():
    """While the worker is still busy, the late request gets DeadlineExceeded."""
    model = Model()
    async with opened(model) as batcher:
        first = await held(model, batcher)
        with pytest.raises(DeadlineExceeded):
            await batcher.submit(2, deadline=Deadline.after(0.01))
        assert not first.done()
        model.gate.set()
        await first
    assert model.batches == [[0]]


@pytest.mark.parametrize("fails", [False, True])
async def test_closing_answers_everybody(fails: bool):
    """What runs is waited for, what waits is Unavailable, so are the halves of a batch that fails at the end."""
    model = Model()
    batcher = opened(model)
    first = await held(model, batcher)
    others = [asyncio.create_task(batcher.submit(number)) for number in (2, 4)]
    await asyncio.sleep(0)
    if fails:
        model.poison = {2: RuntimeError("poison")}
        model.entered.clear()
        model.gate.set()
        await first
        model.gate.clear()
    closing = asyncio.create_task(batcher.__aexit__())
    await asyncio.sleep(0)
    model.gate.set()
    await closing
    answers = await asyncio.gather(first, *others, return_exceptions=True)
    assert all(isinstance(answer, Timed | Unavailable | RuntimeError) for answer in answers)
    with pytest.raises(Unavailable):
        await batcher.submit(6)


async def test_metrics_say_what_was_done():
    """A lone request that did not wait, its batch, and one that was poison are counted under the batcher's name."""
    model = Model()
    model.poison = {8: RuntimeError("poison")}
    async with opened(model, name="counted") as batcher:
        await batcher.submit(2)
        with pytest.raises(RuntimeError):
            await batcher.submit(8)
    labels = {"batcher": "counted"}
    assert REGISTRY.get_sample_value("attune_batch_passthrough_total", labels) == 1
    assert REGISTRY.get_sample_value("attune_batch_poison_total", labels) == 1
    assert REGISTRY.get_sample_value("attune_batch_size_count", {**labels, "lane": "short"}) == 1
    assert batcher.healthy()

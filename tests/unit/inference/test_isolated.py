"""A model in a process of its own: results, errors, crashes, and the batcher above it."""

import asyncio
import os
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from services.inference.batching import Batcher
from services.inference.isolated import IsolatedModel, ModelDied
from services.inference.lanes import BatchSettings

DEADLY, REFUSED, WHO = -1, -2, 0


def load_doubling() -> Callable[[list[int]], Sequence[int]]:
    """Return a model that doubles numbers, dies of one number and raises for another."""

    def model(requests: list[int]) -> Sequence[int]:
        if DEADLY in requests:
            os.kill(os.getpid(), signal.SIGKILL)
        if REFUSED in requests:
            raise ValueError("a number that is refused")
        return [os.getpid() if number == WHO else 2 * number for number in requests]

    return model


def load_nothing() -> Callable[[list[int]], Sequence[int]]:
    """Fail to load."""
    raise FileNotFoundError("no weights")


def test_the_model_runs_elsewhere():
    """Results come back in order, from one other process for all batches of a thread."""
    with IsolatedModel[int, int](load_doubling) as model:
        assert model([1, 2, 3]) == [2, 4, 6]
        first, second = model([WHO]), model([WHO])
    assert first == second != [os.getpid()]


def test_each_thread_has_a_process():
    """Two threads that call at once do not share a process."""
    with IsolatedModel[int, int](load_doubling) as model:
        pools = [ThreadPoolExecutor(1) for _ in range(2)]
        answers = [pool.submit(model, [WHO]).result() for pool in pools]
        assert answers[0] != answers[1]
        for pool in pools:
            pool.shutdown()


def test_what_the_model_raises_is_raised_here():
    """An exception of the model arrives as it is, and the process goes on."""
    with IsolatedModel[int, int](load_doubling) as model:
        before = model([WHO])
        with pytest.raises(ValueError, match="refused"):
            model([1, REFUSED])
        assert model([WHO]) == before


def test_a_crash_costs_one_batch():
    """When the process dies the batch fails with ModelDied, and the next one has a new process."""
    with IsolatedModel[int, int](load_doubling) as model:
        before = model([WHO])
        with pytest.raises(ModelDied, match="-9"):
            model([1, DEADLY])
        assert model([WHO]) != before


def test_a_model_that_cannot_be_loaded_says_why():
    """What loading raises is raised by the call that needs the model."""
    with IsolatedModel[int, int](load_nothing) as model, pytest.raises(FileNotFoundError, match="no weights"):
        model([1])


def test_closing_ends_the_processes():
    """No process is left when the context ends."""
    with IsolatedModel[int, int](load_doubling) as model:
        [pid] = model([WHO])
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_a_request_that_kills_its_process_fails_alone():
    """The batcher finds the deadly request by halves; all others of its batch are answered."""
    with IsolatedModel[int, int](load_doubling) as model:
        async with Batcher("isolated", BatchSettings(workers=1), model, lambda: None) as batcher:
            await batcher.submit(1)
            numbers = [1, 2, DEADLY, 3]
            answers = await asyncio.gather(*(batcher.submit(number) for number in numbers), return_exceptions=True)
    assert isinstance(answers[2], ModelDied)
    assert [answer.value for answer in answers if not isinstance(answer, BaseException)] == [2, 4, 6]

"""The scheduler as async callers meet it."""

import asyncio

import pytest
from prometheus_client import REGISTRY

from services.common.errors import Overloaded
from services.inference.profile import LoadProfile, ProfileSettings, Ran
from services.inference.scheduler import Embs, EmbsSettings
from services.inference.turns import Ask, Turns


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def turns(clock: Clock) -> Turns:
    """Return the turns of a device of which ``half`` takes half."""
    profile = LoadProfile(ProfileSettings())
    profile.observe("half", Ran(1.0, 1.0, 0.5, 0.0, 0.0, 0.0))
    return Turns("test", Embs(profile, EmbsSettings(fill=1.0)), queue_size=4, clock=clock)


class Caller:
    """Takes a turn and keeps it until it is let go."""

    def __init__(self, turns: Turns, ask: Ask) -> None:
        self.running = asyncio.Event()
        self.done = asyncio.Event()
        self.task = asyncio.create_task(self._call(turns, ask))

    async def _call(self, turns: Turns, ask: Ask) -> None:
        async with turns.turn(ask):
            self.running.set()
            await self.done.wait()

    async def finish(self) -> None:
        self.done.set()
        await self.task

    async def leave(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_as_many_run_as_fit_and_the_best_rank_is_next(turns: Turns):
    """Two halves run side by side; of those that wait, the live one goes before the file that came first."""
    first, second = (Caller(turns, Ask("half", 1, live=True)) for _ in range(2))
    await settle()
    file, live = Caller(turns, Ask("half", 1, live=False)), Caller(turns, Ask("half", 1, live=True))
    await settle()
    assert [caller.running.is_set() for caller in (first, second, file, live)] == [True, True, False, False]
    await first.finish()
    await settle()
    assert (file.running.is_set(), live.running.is_set()) == (False, True)
    await second.finish()
    await file.finish()
    await live.finish()


async def test_a_caller_that_leaves_frees_its_place(turns: Turns):
    """One that waits is passed over, one that runs gives its room back, one cancelled on its turn as well."""
    callers = [Caller(turns, Ask("half", 1, live=True)) for _ in range(5)]
    await settle()
    await callers[2].leave()
    callers[0].task.cancel()
    callers[3].task.cancel()  # before it sees that its turn has come
    await settle()
    assert callers[4].running.is_set()
    for caller in (callers[1], callers[4]):
        await caller.finish()
    late = Caller(turns, Ask("half", 1, live=True))
    await settle()
    assert late.running.is_set()
    await late.finish()


async def test_a_body_that_fails_gives_its_room_back(turns: Turns):
    """The error is the caller's; the next one runs."""
    with pytest.raises(ZeroDivisionError):
        async with turns.turn(Ask("new", 1, live=True)):
            raise ZeroDivisionError
    async with turns.turn(Ask("new", 1, live=True)):
        pass


async def test_what_ran_is_learnt(turns: Turns, clock: Clock):
    """A kind runs alone until it has said what it costs, then beside others."""
    async with turns.turn(Ask("new", 2, live=True)) as turn:
        clock.now_s += 1
        turn.ran = Ran(2.0, 1.0, 0.1, 0.9, 0.0, 0.0)
    clock.now_s += 1
    both = [Caller(turns, Ask("new", 1, live=True)) for _ in range(2)]
    await settle()
    assert all(caller.running.is_set() for caller in both)
    for caller in both:
        await caller.finish()


async def test_a_full_queue_refuses_at_once(turns: Turns):
    """Beyond ``queue_size`` waiting the next caller is told to come back later."""
    callers = [Caller(turns, Ask("half", 1, live=True)) for _ in range(6)]
    await settle()
    with pytest.raises(Overloaded) as caught:
        async with turns.turn(Ask("half", 1, live=True)):
            pass
    assert caught.value.retry_after_s
    for caller in callers:
        await caller.leave()


async def test_three_full_samples_ask_for_another_device(turns: Turns):
    """The signal, the utilisation and the backlog are exported, and the signal goes when the load goes."""
    callers = [Caller(turns, Ask("half", 1, live=True)) for _ in range(3)]
    await settle()
    assert [turns.sample() for _ in range(3)] == [False, False, True]
    values = {
        name: REGISTRY.get_sample_value(name, {"stage": "test"})
        for name in ("attune_utilisation", "attune_backlog", "attune_scale_out")
    }
    assert values == {"attune_utilisation": 1.0, "attune_backlog": 1.0, "attune_scale_out": 1.0}
    for caller in callers:
        await caller.finish()
    assert turns.sample() is False
    assert REGISTRY.get_sample_value("attune_scale_out", {"stage": "test"}) == 0.0


async def test_the_watch_samples_by_itself():
    """The profile is refreshed and the figures exported while nobody calls."""
    profile = LoadProfile(ProfileSettings(refresh_s=0.002))
    watch = asyncio.create_task(Turns("watched", Embs(profile), queue_size=1).watch())
    while profile.version < 2:
        profile.observe("k", Ran(1.0, 1.0, 0.5, 0.0, 0.0, 0.0))
        await asyncio.sleep(0.001)
    watch.cancel()
    await asyncio.gather(watch, return_exceptions=True)
    assert REGISTRY.get_sample_value("attune_backlog", {"stage": "watched"}) == 0.0

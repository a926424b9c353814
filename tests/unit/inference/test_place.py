"""Batchers that share a device: who is let in, that batches fill while they wait, and that nobody is left outside."""

import asyncio
import random
import threading
from collections import Counter
from typing import Any

import pytest
from prometheus_client import REGISTRY

from services.common.ports import Priority
from services.inference.batch_core import Ask, BatchCore
from services.inference.batching import Batcher
from services.inference.fifo import Fifo
from services.inference.lanes import Batch, BatchSettings, Job
from services.inference.place import Place, place_of
from services.inference.profile import LoadProfile, ProfileSettings
from services.inference.room import Room
from services.inference.scheduler import Embs, EmbsSettings, Policy
from services.inference.turns import Ask as TurnAsk
from services.inference.turns import Turns

LIVE, FILE = Job(Priority.LIVE), Job(Priority.FILE)
ONE = BatchSettings(workers=1)


def embs() -> Embs:
    return Embs(LoadProfile(ProfileSettings(bytes_per_s=100.0)))


def fifo() -> Fifo:
    return Fifo(LoadProfile(), Room(1.0))


def turns_of(policy: Policy) -> Turns:
    """Return the turns of a device that one thread fills."""
    return Turns("shared", policy, queue_size=100)


class Model:
    """Answers with the request, notes its batches, and holds them while the door is shut."""

    def __init__(self) -> None:
        self.batches: list[list[Any]] = []
        self.door = threading.Event()
        self.door.set()
        self.entered = threading.Event()

    def __call__(self, requests: list[Any]) -> list[Any]:
        self.batches.append(requests)
        self.entered.set()
        assert self.door.wait(10)
        if "poison" in requests:
            raise ValueError("poison")
        return requests


def batcher(turns: Turns, model: Model, name: str, settings: BatchSettings = ONE) -> Batcher[Any, Any]:
    return Batcher(name, settings, model, lambda: None, place_of(turns, name, lambda requests, results: 1.0))


async def busy(model: Model, one: Batcher[Any, Any]) -> "asyncio.Task[Any]":
    """Fill the device with a batch that is held."""
    model.door.clear()
    model.entered.clear()
    task = asyncio.create_task(one.submit("first"))
    await asyncio.to_thread(model.entered.wait, 10)
    return task


async def settled() -> None:
    """Let all other tasks run as far as they can."""
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.mark.parametrize(("policy", "order"), [(embs, ["live", "file"]), (fifo, ["file", "live"])])
async def test_live_of_one_batcher_goes_before_files_of_another(policy: Any, order: list[str]):
    """While a third fills the device a file comes, then a live request; EMBS turns them round, FIFO does not."""
    turns, held, shared = turns_of(policy()), Model(), Model()
    async with (
        batcher(turns, held, "a") as a,
        batcher(turns, shared, "b") as b,
        batcher(turns, shared, "c") as c,
    ):
        first = await busy(held, a)
        file = asyncio.create_task(b.submit("file", job=FILE))
        await settled()
        live = asyncio.create_task(c.submit("live", job=LIVE))
        await settled()
        held.door.set()
        await asyncio.gather(first, file, live)
    assert shared.batches == [[one] for one in order]


async def test_a_batch_fills_while_its_turn_does_not_come():
    """Requests that come one after the other while the device is full run together afterwards."""
    turns, held, model = turns_of(embs()), Model(), Model()
    async with batcher(turns, held, "a") as a, batcher(turns, model, "b") as b:
        first = await busy(held, a)
        tasks = []
        for number in range(5):
            tasks.append(asyncio.create_task(b.submit(number)))
            await settled()
        held.door.set()
        await asyncio.gather(first, *tasks)
    assert model.batches == [[0, 1, 2, 3, 4]]


async def test_a_batcher_that_closes_or_whose_callers_leave_gives_its_place_up():
    """Both while it waits for a turn; the one behind it is let in, and nothing stays taken."""
    turns, held, model = turns_of(embs()), Model(), Model()
    async with batcher(turns, held, "a") as a, batcher(turns, model, "d") as d:
        closing, leaving = batcher(turns, model, "b"), batcher(turns, model, "c")
        first = await busy(held, a)
        waiting = [asyncio.create_task(one.submit("gone")) for one in (closing, leaving)]
        last = asyncio.create_task(d.submit("last", job=FILE))
        await settled()
        waiting[1].cancel()
        await closing.__aexit__()
        held.door.set()
        await asyncio.gather(first, last)
        await asyncio.gather(*waiting, return_exceptions=True)
        await leaving.__aexit__()
    assert model.batches == [["last"]]


async def test_a_batch_that_fails_gives_its_room_back():
    """The halves of a poisoned batch take turns of their own, and the next batcher runs."""
    turns, model = turns_of(embs()), Model()
    async with batcher(turns, model, "a") as a, batcher(turns, model, "b") as b:
        first = await busy(model, b)
        tasks = [asyncio.create_task(a.submit(one)) for one in (1, "poison", 3)]
        await settled()
        model.door.set()
        answers = await asyncio.gather(first, *tasks, return_exceptions=True)
        assert (await b.submit("after")).value == "after"
    assert [type(answer).__name__ for answer in answers] == ["Timed", "Timed", "ValueError", "Timed"]


async def test_many_batchers_and_jobs_with_callers_that_leave_never_lock_each_other_out():
    """Whatever is cancelled whenever, all others are answered, never more runs than fits, and the device ends empty."""
    draw = random.Random(3)
    policy = embs()
    turns = Turns("crowd", policy, queue_size=1000, thread_share=0.5)
    running, most, lock = Counter[str](), [0], threading.Lock()

    def run(requests: list[int]) -> list[int]:
        with lock:
            running["now"] += 1
            most[0] = max(most[0], running["now"])
        with lock:
            running["now"] -= 1
        return requests

    async def job(number: int) -> int:
        async with turns.turn(TurnAsk("job", 1.0, live=bool(number % 2))):
            await asyncio.sleep(0)
        return number

    settings = BatchSettings(workers=2, max_batch=4)
    crowd = [
        Batcher(f"crowd{n}", settings, run, lambda: None, Place(turns, f"crowd{n}", lambda *_: 1.0)) for n in range(3)
    ]
    tasks: list[asyncio.Task[Any]] = []
    for number in range(600):
        which = draw.randrange(4)
        submit = job(number) if which == 3 else crowd[which].submit(number, job=draw.choice((LIVE, FILE)))
        tasks.append(asyncio.create_task(submit))
        if draw.random() < 0.3:
            await asyncio.sleep(0)
        if draw.random() < 0.3:
            draw.choice(tasks).cancel()
    answers = await asyncio.gather(*tasks, return_exceptions=True)
    for one in crowd:
        await one.__aexit__()
    assert all(not isinstance(answer, Exception) for answer in answers)
    assert most[0] <= 2
    assert (len(policy.room), len(policy)) == (0, 0)


async def test_what_ran_is_in_the_profile_and_what_waits_in_the_backlog():
    """Live and files apart: share of the processor, of the bandwidth, wait for input; all queues count as backlog."""
    policy = embs()
    turns, model = turns_of(policy), Model()
    async with batcher(turns, model, "seen") as one, batcher(turns, model, "unseen") as other:
        await one.submit("x", size=2.0, job=Job(Priority.FILE, io_wait_s=1.0))
        first = await busy(model, one)
        waiting = [asyncio.create_task(other.submit(number)) for number in range(3)]
        await settled()
        turns.sample()
        assert REGISTRY.get_sample_value("attune_backlog", {"stage": "shared"}) == 3
        model.door.set()
        await asyncio.gather(first, *waiting)
    load = policy.profile.loads(float("inf"))["seen.file"]
    assert (load.compute, load.io_p95) == (1.0, 0.5)
    assert load.bandwidth > 0
    assert load.s_per_unit > 0


class World:
    """Two batchers on one device with a clock that is moved: each batch takes a second, live work never ends."""

    def __init__(self) -> None:
        self.now = 0.0
        self.policy = Embs(LoadProfile(), EmbsSettings(patience_s=10, live_lead_s=10))
        turns = Turns("world", self.policy, queue_size=1, clock=lambda: self.now)
        self.cores = [BatchCore[str](BatchSettings(workers=1, max_batch=1), self._place(turns, n)) for n in "ab"]
        self.running: tuple[BatchCore[str], Batch[str]] | None = None

    def _place(self, turns: Turns, name: str) -> Place:
        place = Place(turns, name, lambda *_: 0.0)
        place.opened(lambda: None, lambda: 0)
        return place

    def step(self) -> str | None:
        """End what runs, start what may, and return what has been started; the worker that is done asks first."""
        cores = list(self.cores)
        if self.running is not None:
            core, batch = self.running
            core.finished(batch, 1.0, self.now)
            self.running = None
            cores.insert(0, core)
        for core in cores:
            for batch in core.poll(self.now).batches:
                self.running = core, batch
        return self.running[1].tickets[0].item if self.running else None


def test_nobody_starves():
    """More live work than the device can do arrives for ever; a file of another batcher is run all the same."""
    world = World()
    world.cores[1].add("live", Ask(), 0.0)
    world.step()
    world.cores[0].add("file", Ask(job=FILE), 0.0)
    ran = []
    while "file" not in ran:
        for _ in range(2):
            world.cores[1].add("live", Ask(), world.now)
        ran.append(world.step())
        world.now += 1.0
        assert world.now < 60, "the file starves"
    assert ran.index("file") >= 5, "the file was not behind live requests at all"

"""The batcher's decisions on a simulated clock."""

import gc
import itertools
import math
import random
import weakref
from dataclasses import dataclass, replace
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.common.ports import Priority
from services.inference.batch_core import Ask, BatchCore
from services.inference.cost import Shape
from services.inference.lanes import BatchSettings, Job, Ticket
from tests.unit.inference.batch_world import World, padded_cost

EPSILON = 1e-9


@dataclass(frozen=True)
class Arrival:
    """One request of a scenario: when it comes, what it is, when its caller leaves, whether it is poison."""

    at: float
    size: float
    deadline_in: float
    priority: Priority
    leaves_after: float
    poison: bool


ARRIVALS = st.lists(
    st.builds(
        Arrival,
        at=st.sampled_from([0.0, 0.001, 0.004, 0.02, 0.1, 0.3]),
        size=st.sampled_from([1.0, 1.0, 1.0, 1.3, 10.0, 40.0]),
        deadline_in=st.sampled_from([math.inf, math.inf, 0.02, 0.3, 5.0]),
        priority=st.sampled_from(Priority),
        leaves_after=st.sampled_from([math.inf, math.inf, math.inf, 0.0, 0.004, 0.05]),
        poison=st.sampled_from([False] * 4 + [True]),
    ),
    max_size=120,
)
MACHINES = st.builds(
    BatchSettings, workers=st.integers(1, 3), max_batch=st.sampled_from([1, 4, 32]), stretch=st.sampled_from([0.0, 6.0])
)


def played(arrivals: list[Arrival], machine: BatchSettings) -> World:
    """Return the world after these arrivals; items are their numbers."""
    poisonous = frozenset(number for number, arrival in enumerate(arrivals) if arrival.poison)
    world = World(machine, poisonous=poisonous)

    def come(number: int, arrival: Arrival) -> None:
        ask = Ask(arrival.size, world.now + arrival.deadline_in, Job(arrival.priority))
        ticket = world.ask(number, ask)
        if arrival.leaves_after < math.inf:
            world.at(world.now + arrival.leaves_after, partial(world.core.leave, ticket))

    for number, arrival in enumerate(arrivals):
        world.at(arrival.at, partial(come, number, arrival))
    world.run()
    return world


@settings(max_examples=150, deadline=None)
@given(ARRIVALS, MACHINES)
def test_nothing_is_lost_and_nothing_ends_twice(arrivals: list[Arrival], machine: BatchSettings):
    """Every request ends once: done, failed or expired, unless its caller left before; and nothing stays inside."""
    world = played(arrivals, machine)
    ended = [ticket.item for _, ticket in world.done] + [ticket.item for ticket in world.failed]
    ended += [ticket.item for _, ticket in world.expired]
    assert len(ended) == len(set(ended))
    left = {number for number, arrival in enumerate(arrivals) if arrival.leaves_after < math.inf}
    assert set(range(len(arrivals))) - set(ended) <= left
    assert world.core.waiting == 0


@settings(max_examples=150, deadline=None)
@given(ARRIVALS, MACHINES)
def test_only_what_failed_is_run_again(arrivals: list[Arrival], machine: BatchSettings):
    """A request is in one batch that succeeds at most; in a second one only after its batch failed."""
    world = played(arrivals, machine)
    for number in range(len(arrivals)):
        batches = [batch for batch in world.batches if number in {ticket.item for ticket in batch.tickets}]
        failed = [batch for batch in batches if world.poisonous & {ticket.item for ticket in batch.tickets}]
        assert len(batches) - len(failed) <= 1


@settings(max_examples=150, deadline=None)
@given(ARRIVALS, MACHINES)
def test_poison_fails_alone(arrivals: list[Arrival], machine: BatchSettings):
    """Those that fail are the poisonous ones, no others."""
    world = played(arrivals, machine)
    assert {ticket.item for ticket in world.failed} <= world.poisonous
    assert not world.poisonous & {ticket.item for _, ticket in world.done}


@settings(max_examples=150, deadline=None)
@given(ARRIVALS, MACHINES)
def test_batches_keep_their_bounds(arrivals: list[Arrival], machine: BatchSettings):
    """No batch is larger or pads more than allowed, and short requests never share one with long ones."""
    for batch in played(arrivals, machine).batches:
        assert 1 <= len(batch.tickets) <= machine.max_batch
        assert batch.shape.padding <= machine.max_padding
        assert len({ticket.long for ticket in batch.tickets}) == 1


@settings(max_examples=150, deadline=None)
@given(ARRIVALS, MACHINES)
def test_a_free_worker_is_waited_for_at_most_the_window(arrivals: list[Arrival], machine: BatchSettings):
    """Where company is usual, a short request waits beside a free worker, but no longer than ``max_wait_s``."""
    usual = [
        Arrival(second + late, 1.0, math.inf, Priority.LIVE, math.inf, False)
        for second in range(20)
        for late in (0, 0.002)
    ]
    like = [replace(one, at=one.at + 20.0, size=1.0, deadline_in=math.inf, poison=False) for one in arrivals]
    waited = played([*usual, *like], machine).waited_idle
    assert max(waited) <= machine.max_wait_s + EPSILON
    assert machine.max_batch == 1 or max(waited) >= 0.002 - EPSILON


@settings(max_examples=150, deadline=None)
@given(ARRIVALS, MACHINES)
def test_late_and_gone_requests_are_not_run(arrivals: list[Arrival], machine: BatchSettings):
    """No batch starts with a request whose deadline has passed or whose caller has left."""
    world = played(arrivals, machine)
    for batch in world.batches:
        for ticket in batch.tickets:
            arrival = arrivals[int(str(ticket.item))]
            assert batch.started < ticket.deadline
            assert batch.started <= ticket.arrived + arrival.leaves_after + EPSILON
    assert all(ticket.deadline <= when for when, ticket in world.expired)


@given(st.lists(st.floats(0.1, 0.9), min_size=2, max_size=100))
def test_the_earliest_deadline_runs_first(deadlines: list[float]):
    """Of requests that wait together, no later batch holds one with an earlier deadline."""
    world = World(BatchSettings(workers=1, max_batch=4), cost=lambda shape: 0.0001)
    for number, deadline in enumerate(deadlines):
        world.ask(number, Ask(deadline=deadline))
    world.run()
    ran = [[ticket.deadline for ticket in batch.tickets] for batch in world.batches]
    assert all(max(earlier) <= min(later) for earlier, later in itertools.pairwise(ran))


def crowd(world: World, callers: int, until: float, long_share: float = 0.0) -> None:
    """Keep the machine saturated: each caller asks again as soon as it has its answer."""
    rng = random.Random(0)

    def again(_: Ticket[object] | None = None) -> None:
        if world.now < until:
            world.ask("crowd", Ask(10.0 if rng.random() < long_share else 1.0))

    world.on_done = again
    for caller in range(callers):
        world.at(caller * 1e-4, again)


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_nobody_starves_under_saturation(workers: int):
    """A file and a long request start within their patience and what the stretch allows, whatever else comes."""
    machine = BatchSettings(workers=workers)
    world = World(machine)
    crowd(world, 96 * workers, until=12.0)
    file_asked = partial(world.ask, "file", Ask(job=Job(Priority.FILE)))
    long_asked = partial(world.ask, "long", Ask(size=10.0))
    world.at(3.0, file_asked)
    world.at(3.0, long_asked)
    world.run()
    started = {ticket.item: batch.started for batch in world.batches for ticket in batch.tickets}
    crowd_waits_s = 3 * padded_cost(Shape(32, 32.0, 1.0)) + 0.1
    assert started["file"] - 3.0 <= machine.file_patience_s - machine.live_patience_s + crowd_waits_s
    assert started["long"] - 3.0 <= machine.stretch * padded_cost(Shape(1, 10.0, 10.0)) * 1.2 + crowd_waits_s


def test_answered_requests_are_let_go():
    """However long the queue never runs empty, no more requests are held than are inside."""

    class Request:
        """Something that can be watched."""

    watched: list[weakref.ref[Request]] = []
    world = World(BatchSettings(workers=1))

    def again(_: Ticket[object] | None = None) -> None:
        if world.now < 2.0:
            request = Request()
            watched.append(weakref.ref(request))
            world.core.add(request, Ask(deadline=world.now + 30.0), world.now)

    world.on_done = again
    for _ in range(100):
        again()
    world.run(until=1.9)
    assert world.core.waiting > 0
    world.batches.clear()
    world.done.clear()
    gc.collect()
    assert len(watched) > 1000
    assert sum(request() is not None for request in watched) <= 100


@pytest.mark.parametrize("workers", [1, 2])
def test_a_long_tail_costs_no_capacity(workers: int):
    """At saturation 15 % of ten times longer requests leave 0.9 of the useful work per second."""
    work = []
    for long_share in (0.0, 0.15):
        world = World(BatchSettings(workers=workers))
        crowd(world, 64 * workers, until=10.0, long_share=long_share)
        world.run(until=10.0)
        work.append(sum(ticket.size for when, ticket in world.done if when > 1.0))
    assert work[1] / work[0] >= 0.9


def test_long_requests_do_not_hold_short_ones():
    """With two workers, a short request never waits for a long batch to end at 100 requests a second."""
    rng, world = random.Random(0), World(BatchSettings(workers=2))
    now = 0.0
    for _ in range(2000):
        now += rng.expovariate(100)
        world.at(now, partial(world.ask, "one", Ask(10.0 if rng.random() < 0.15 else 1.0)))
    world.run()
    waits = sorted(when - ticket.arrived for when, ticket in world.done if ticket.size == 1)
    assert waits[int(len(waits) * 0.95)] <= 3 * padded_cost(Shape(1, 1.0, 1.0))


def test_lone_requests_pass_straight_through_and_company_stops_that():
    """Far apart, requests start at once and say so; in pairs 2 ms apart, the first one waits for the second."""
    world = World(BatchSettings(workers=1))
    for second in range(60):
        world.at(float(second), partial(world.ask, "apart"))
    for second in range(60, 120):
        world.at(float(second), partial(world.ask, "pair"))
        world.at(second + 0.002, partial(world.ask, "pair"))
    world.run()
    assert all(batch.passed and batch.started == batch.tickets[0].arrived for batch in world.batches[1:60])
    assert [len(batch.tickets) for batch in world.batches[-20:]] == [2] * 20
    assert not any(batch.passed for batch in world.batches[-20:])


def test_poison_among_32_costs_a_few_batches():
    """One poisonous request of 32 is found in five halvings: eleven batches, 31 answers."""
    world = World(BatchSettings(workers=1), poisonous=frozenset({13}))
    for number in range(32):
        world.ask(number)
    world.run()
    assert len(world.done) == 31
    assert len(world.batches) == 1 + 2 * math.log2(32)


def test_a_batch_whose_callers_all_left_is_not_run():
    """Requests that were left while they waited take no worker."""
    world = World(BatchSettings(workers=1))
    world.ask("first")
    world.core.poll(0.0)
    for ticket in [world.ask(number) for number in range(40)]:
        world.core.leave(ticket)
    assert world.core.waiting == 0


def test_a_stuck_batch_is_unhealthy_and_its_end_heals():
    """A batch that runs far longer than expected ties readiness to progress; idleness is healthy however long."""
    core = BatchCore[object](BatchSettings(workers=1, stall_floor_s=2.0))
    assert core.healthy(1000.0)
    core.add("one", Ask(), 1000.0)
    assert not core.healthy(1003.0)  # nobody polled
    batch = core.poll(1003.0).batches[0]
    assert core.healthy(1004.0)
    assert not core.healthy(1006.0)
    core.finished(batch, 3.0, 1006.0)
    assert core.healthy(1006.0)


def test_a_refused_caller_is_told_when_the_backlog_will_have_run():
    """With 64 of 64 places taken and 24 ms a batch of 32, that is the time of two batches."""
    core = BatchCore[object](BatchSettings(workers=1, max_queue=64))
    for _ in range(50):
        core.cost.observe(Shape(32, 32.0, 1.0), 0.1)
    for number in range(64):
        assert not core.full
        core.add(number, Ask(), 0.0)
    assert core.full
    assert core.retry_after_s() == pytest.approx(0.2, rel=0.05)


@given(st.lists(st.tuples(st.sampled_from(["a", "b"]), st.sampled_from(Priority)), max_size=40), MACHINES)
@settings(max_examples=50)
def test_a_batch_is_of_one_kind_and_one_priority(asked: list[tuple[str, Priority]], machine: BatchSettings):
    """Whatever comes at once, nobody is run with another kind or class, and all are run."""
    world = World(machine)
    for item in enumerate(asked):
        world.ask(item, Ask(kind=item[1][0], job=Job(item[1][1])))
    world.run()
    assert all(len({ticket.item[1] for ticket in batch.tickets}) == 1 for batch in world.batches)
    assert len(world.done) == len(asked)

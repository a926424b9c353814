"""EMBS: its formula, its ranks, side-by-side running, and that nobody starves."""

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.inference.profile import Load, LoadProfile, ProfileSettings, Ran
from services.inference.scheduler import Embs, EmbsSettings, Request, priority

EVERY_UNIT = ProfileSettings(bytes_per_s=1.0, line_bytes_per_s=1.0)
SETTINGS = EmbsSettings(patience_s=10, live_lead_s=10, hold_s=2, stretch=1, fill=1.0)


def knowing(**kinds: Ran) -> LoadProfile:
    """Return a profile that has seen one run of each kind."""
    profile = LoadProfile(EVERY_UNIT)
    for kind, ran in kinds.items():
        profile.observe(kind, ran)
    return profile


def run_of(compute: float, bandwidth: float = 0.0, io_wait_s: float = 0.0) -> Ran:
    """Return a run of one second and one unit with these shares."""
    return Ran(1.0, 1.0, compute, io_wait_s, bandwidth, 0.0)


def request(number: int, kind: str = "k", arrived_s: float = 0.0, size: float = 1.0, live: bool = True) -> Request:
    return Request(number, kind, arrived_s, size, live)


def in_order(scheduler: Embs, waiting: list[Request], now_s: float) -> list[Request]:
    """Return the requests by rank, the earlier one first where ranks are equal."""
    return sorted(waiting, key=lambda one: (scheduler.rank(one, now_s), one.number))


def started(scheduler: Embs, now_s: float) -> list[int]:
    """Start all that may run now and return their numbers."""
    numbers = []
    while (one := scheduler.next(now_s)) is not None:
        numbers.append(one.number)
    return numbers


@pytest.mark.parametrize(
    ("load", "expected"),
    [
        (Load(1, 1, 0, 0, 1), 1.0),
        (Load(0, 0, 0, 1, 1), 0.0),
        (Load(1, 0, 0, 1, 1), 0.40),
        (Load(0, 1, 0, 1, 1), 0.35),
        (Load(0, 0, 1, 0, 1), 0.25),
        (Load(0.5, 0.2, 0, 0.6, 1), 0.37),
    ],
)
def test_the_priority_is_the_formula(load: Load, expected: float):
    """0.40 of compute, 0.35 of bandwidth, 0.25 of what is not I/O."""
    assert priority(load) == pytest.approx(expected)


def test_live_goes_before_files_that_came_no_earlier():
    """Even the longest live request before the shortest file of the same moment."""
    scheduler = Embs(knowing(k=run_of(0.5)), SETTINGS)
    waiting = [request(1, size=0.01, live=False), request(2, size=1000)]
    assert [one.number for one in in_order(scheduler, waiting, 0)] == [2, 1]


def test_short_before_long_and_heavy_before_waiting():
    """Within a class the remaining work decides, divided by the kind's priority; known work counts before learnt."""
    scheduler = Embs(knowing(heavy=run_of(1.0, 1.0), waits=run_of(0.1, io_wait_s=9)), SETTINGS)
    waiting = [request(1, "heavy", size=3), request(2, "heavy", size=1), request(3, "waits", size=1)]
    assert [one.number for one in in_order(scheduler, waiting, 0)] == [2, 1, 3]
    known = replace(waiting[2], remaining_s=0.001)
    assert [one.number for one in in_order(scheduler, [*waiting[:2], known], 0)] == [3, 2, 1]


def test_age_outweighs_everything():
    """A file that has waited for lead and patience goes before any live request that comes now."""
    scheduler = Embs(knowing(k=run_of(0.5)), SETTINGS)
    waiting = [request(2, arrived_s=20.1, size=0.001), request(1, size=1000, live=False)]
    assert [one.number for one in in_order(scheduler, waiting, 20.1)] == [1, 2]


def test_kinds_that_ask_for_different_capacities_run_side_by_side():
    """What does not fit is passed by what does: a second compute-heavy request waits, a bandwidth-heavy one starts."""
    scheduler = Embs(knowing(compute=run_of(0.8, 0.1), memory=run_of(0.1, 0.8)), SETTINGS)
    for number, kind in enumerate(["compute", "compute", "memory"]):
        scheduler.add(request(number, kind), 0)
    assert started(scheduler, 0) == [0, 2]
    scheduler.ended(request(0, "compute"))
    assert started(scheduler, 1) == [1]


def test_an_overdue_request_is_passed_no_more():
    """A wide request lets others pass until it is ``hold_s`` beyond its rank; then the room is kept for it."""
    scheduler = Embs(knowing(wide=run_of(1.0), thin=run_of(0.5)), SETTINGS)
    scheduler.add(request(0, "thin"), 0)
    assert started(scheduler, 0) == [0]
    scheduler.add(request(1, "wide"), 0)
    scheduler.add(request(2, "thin", size=50), 0)
    assert started(scheduler, 1) == [2]
    scheduler.add(request(3, "thin", size=50), 1)
    scheduler.ended(request(2, "thin"))
    assert started(scheduler, 6) == []
    scheduler.ended(request(0, "thin"))
    assert started(scheduler, 6) == [1]


def test_an_unknown_kind_runs_alone_and_anything_runs_on_an_empty_device():
    """What was never seen could ask for all of it; a kind larger than ``fill`` is still served."""
    scheduler = Embs(LoadProfile(EVERY_UNIT), replace(SETTINGS, fill=0.5))
    for number in range(2):
        scheduler.add(request(number, "new"), 0)
    assert started(scheduler, 0) == [0]
    scheduler.ended(request(0, "new"))
    assert started(scheduler, 0) == [1]


def test_a_request_whose_caller_left_is_never_started():
    """Leaving takes exactly that request out."""
    scheduler = Embs(knowing(k=run_of(0.1)), SETTINGS)
    waiting = [request(number) for number in range(5)]
    for one in waiting:
        scheduler.add(one, 0)
    scheduler.leave(waiting[2])
    assert len(scheduler) == 4
    assert started(scheduler, 0) == [0, 1, 3, 4]


def test_ranks_follow_the_profile():
    """When a kind turns out ten times dearer, those of it that wait already go back behind the others."""
    profile = knowing(a=run_of(1.0), b=run_of(1.0))
    scheduler = Embs(profile, SETTINGS)
    for number, kind in enumerate(["a", "b", "a", "b"]):
        scheduler.add(request(number, kind), 0)
    profile.observe("a", replace(run_of(10.0), alone_s=10.0))
    assert started(scheduler, 1) == [1]
    scheduler.ended(request(1, "b"))
    assert started(scheduler, 1) == [3]


def test_the_lead_must_cover_the_patience():
    """Otherwise a short file could rank before a long live request."""
    with pytest.raises(ValueError, match="lead"):
        EmbsSettings(patience_s=20, live_lead_s=10)


KINDS = {"wide": run_of(0.9, 0.6), "thin": run_of(0.2, 0.1), "memory": run_of(0.3, 0.7), "waits": run_of(0.1, 0.0, 5.0)}


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 10**6), pressure=st.floats(0.5, 4.0))
def test_nobody_starves(seed: int, pressure: float):
    """Whatever comes, what arrived after ``arrival + lead + patience + hold`` never starts before a request."""
    draw = random.Random(seed)
    scheduler = Embs(knowing(**KINDS), SETTINGS)
    bound_s = SETTINGS.live_lead_s + SETTINGS.patience_s + SETTINGS.hold_s
    waiting: dict[int, Request] = {}
    ends: list[tuple[float, Request]] = []
    now_s = 0.0
    for number in range(400):
        now_s += draw.expovariate(pressure)
        new = Request(number, draw.choice(list(KINDS)), now_s, draw.paretovariate(1.2), draw.random() < 0.8)
        scheduler.add(new, now_s)
        waiting[number] = new
        for end in [end for end in ends if end[0] <= now_s]:
            scheduler.ended(end[1])
            ends.remove(end)
        while (one := scheduler.next(now_s)) is not None:
            del waiting[one.number]
            ends.append((now_s + one.size, one))
            assert all(one.arrived_s <= other.arrived_s + bound_s for other in waiting.values())


@given(st.lists(st.tuples(st.sampled_from(sorted(KINDS)), st.floats(0, 50), st.floats(0.01, 100), st.booleans())))
def test_ordering_loses_nobody_and_agrees_with_starting(rows: list[tuple[str, float, float, bool]]):
    """``order`` is a permutation, and an empty device starts the one at its front."""
    waiting = [Request(number, *row) for number, row in enumerate(rows)]
    scheduler = Embs(knowing(**KINDS), SETTINGS)
    ordered = in_order(scheduler, waiting, 50)
    assert sorted(one.number for one in ordered) == list(range(len(rows)))
    for one in waiting:
        scheduler.add(one, 50)
    assert scheduler.next(50) == (ordered[0] if ordered else None)

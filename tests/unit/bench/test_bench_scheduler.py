"""The simulated device, the policies on it, and the workload that ships."""

import pytest

from bench import scheduler
from bench.device import Device
from bench.simulation import Outcome, shortest_remaining_first, simulate
from bench.workload import Job, Workload, read_workload
from services.inference.fifo import Fifo
from services.inference.profile import LoadProfile, ProfileSettings, Ran
from services.inference.room import Room
from services.inference.scheduler import Embs, EmbsSettings, Request

DEVICE = ProfileSettings(bytes_per_s=1.0, line_bytes_per_s=1.0)
STRICT = EmbsSettings(fill=1.0)


def job(number: int, wall_s: float, compute: float, arrived_s: float = 0.0, live: bool = True) -> Job:
    """Return a job of a kind of its own size, which takes ``compute`` of the device for ``wall_s``."""
    request = Request(number, f"{compute}", arrived_s, wall_s, live)
    return Job(request, Ran(wall_s, wall_s, compute * wall_s, 0.0, 0.0, 0.0))


def known(*jobs: Job) -> LoadProfile:
    """Return a profile that has already seen these jobs."""
    profile = LoadProfile(DEVICE)
    for one in jobs:
        profile.observe(one.request.kind, one.truth)
    return profile


def under_fifo(*jobs: Job) -> Outcome:
    profile = known(*jobs)
    return simulate(Workload(jobs, DEVICE), Fifo(profile, Room(1.0)), profile)


def under_embs(*jobs: Job) -> Outcome:
    profile = known(*jobs)
    return simulate(Workload(jobs, DEVICE), Embs(profile, STRICT), profile)


def test_jobs_that_fit_run_as_fast_as_alone():
    """Side by side within every capacity, each ends after its own time."""
    device = Device(DEVICE)
    for one in (job(0, 2.0, 0.5), job(1, 3.0, 0.4)):
        device.start(one, one.truth.alone_s)
    assert device.idle == pytest.approx(0.1)
    assert (device.end().request.number, device.now_s) == (0, pytest.approx(2.0))
    assert (device.end().request.number, device.now_s) == (1, pytest.approx(3.0))
    assert device.idle == 1.0


def test_a_capacity_that_is_over_asked_slows_all_alike():
    """Twice what there is takes twice the time, and no work is lost or won."""
    device = Device(DEVICE)
    for one in (job(0, 1.0, 1.0), job(1, 2.0, 1.0)):
        device.start(one, one.truth.alone_s)
    device.end()
    assert device.now_s == pytest.approx(2.0)
    device.end()
    assert device.now_s == pytest.approx(3.0)


JOBS = job(0, 4.0, 0.6), job(1, 4.0, 0.6), job(2, 1.0, 0.3)


def test_fifo_blocks_at_the_head():
    """The third job would fit beside the first, but the second came before it and does not."""
    outcome = under_fifo(*JOBS)
    assert outcome.waits_s == pytest.approx({0: 0.0, 1: 4.0, 2: 4.0})
    assert outcome.completions_s == pytest.approx({0: 4.0, 1: 8.0, 2: 5.0})
    assert outcome.fragmentation == pytest.approx(0.4)


def test_embs_lets_pass_what_fits():
    """The third job runs beside the first, so less lies idle while the second waits."""
    outcome = under_embs(*JOBS)
    assert outcome.completions_s == pytest.approx({0: 4.0, 1: 8.0, 2: 1.0})
    assert outcome.fragmentation == pytest.approx((0.1 * 1 + 0.4 * 3) / 4)


def test_the_bound_interrupts_a_long_job_for_a_short_one():
    """It stops the long one when the short one comes, and goes on with it where it was."""
    jobs = job(0, 10.0, 1.0), job(1, 1.0, 1.0, arrived_s=2.0)
    outcome = shortest_remaining_first(Workload(jobs, DEVICE), 1.0)
    assert outcome.completions_s == pytest.approx({0: 11.0, 1: 1.0})


def test_what_ends_is_learnt():
    """Unknown kinds run alone at first, then beside each other."""
    profile = LoadProfile(DEVICE)
    jobs = tuple(job(number, 1.0, 0.4) for number in range(4))
    outcome = simulate(Workload(jobs, DEVICE), Embs(profile, STRICT), profile)
    assert sorted(outcome.completions_s.values()) == pytest.approx([1.0, 2.0, 2.0, 3.0])


def test_jobs_that_slow_each_other_do_not_seem_light():
    """What is learnt beside others is what a job takes alone; otherwise each crowd would let in a larger one."""
    profile = known(job(0, 1.0, 0.6))
    jobs = tuple(job(number, 1.0, 0.6) for number in range(20))
    outcome = simulate(Workload(jobs, DEVICE), Embs(profile, EmbsSettings(fill=1.25)), profile)
    assert profile.loads(1000.0)["0.6"].compute == pytest.approx(0.6)
    assert max(outcome.completions_s.values()) == pytest.approx(20 * 0.6)


def test_the_workload_is_always_the_same():
    """Thousands of requests of every kind, by arrival, live ones and files; reading it twice gives the same."""
    workload = read_workload()
    assert workload == read_workload()
    assert len(workload.jobs) > 2000
    arrivals_s = [one.request.arrived_s for one in workload.jobs]
    assert arrivals_s == sorted(arrivals_s)
    kinds = {(one.request.kind, one.request.live) for one in workload.jobs}
    assert kinds == {("asr.utterance", True), ("asr.file", False), ("vision.image", True), ("aligner.phrase", True)}
    assert 0.5 < scheduler.load(workload) < 1.0


def test_embs_reaches_its_bars_on_the_workload():
    """Every job ends once under each policy, nothing beats its own time, and the ratios are met."""
    workload = read_workload()
    fifo, embs = scheduler.under_fifo(workload, 1.0), scheduler.under_embs(workload, EmbsSettings())
    for outcome in (fifo, embs):
        assert outcome.completions_s.keys() == {one.request.number for one in workload.jobs}
        assert all(outcome.completions_s[one.request.number] >= one.truth.alone_s * 0.999999 for one in workload.jobs)
    assert embs.mean_completion_s <= 0.5 * fifo.mean_completion_s
    assert embs.fragmentation <= 0.31 * fifo.fragmentation
    assert max(embs.waits_s.values()) <= 1.5 * max(fifo.waits_s.values())
    assert shortest_remaining_first(workload, EmbsSettings().fill).mean_completion_s < embs.mean_completion_s


def test_decisions_are_timed_while_thousands_wait():
    """Each decision of the crowd is counted, those that start nobody as well."""
    assert len(scheduler.crowd_decisions_s(read_workload())) == scheduler.CROWD_DECISIONS


def test_a_figure_without_a_base_has_no_ratio():
    """A ratio to nothing is not measured, and a bar on it is not met."""
    assert scheduler.ratio(1.0, 0.0) is None
    assert scheduler.ratio(1.0, 3.0) == 0.333

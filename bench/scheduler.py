"""``attune bench scheduler``: one fixed workload under FIFO, under EMBS and under the bound, on the simulated device.

Comes from the command line, needs no server; returns figures for report.py. FIFO and EMBS learn from the same kind of
profile. FIFO gives no more than the device has; EMBS gives ``fill`` of it, and the bound too. ``elastic_fifo`` is FIFO
with the same ``fill``: it shows what that brings by itself.
"""

import time
from itertools import cycle, islice

from bench.measure import percentile
from bench.report import Bar
from bench.simulation import Outcome, shortest_remaining_first, simulate
from bench.workload import Workload, read_workload
from services.inference.fifo import Fifo
from services.inference.profile import LoadProfile
from services.inference.room import Room
from services.inference.scheduler import Embs, EmbsSettings, Request

CROWD = 5_000
CROWD_DECISIONS = 3_000
CROWD_STEP_S = 0.01

BARS = (
    Bar("completion_ratio", "<=", 0.5),
    Bar("fragmentation_ratio", "<=", 0.31),
    Bar("longest_wait_ratio", "<=", 1.5),
    Bar("decision_p95_ms", "<=", 1.0),
    Bar("crowd_decision_p95_ms", "<=", 1.0),
)


def run() -> dict[str, float | None]:
    """Return the figures; takes some seconds of one core."""
    workload, settings = read_workload(), EmbsSettings()
    fifo, elastic, embs = under_fifo(workload, 1.0), under_fifo(workload, settings.fill), under_embs(workload, settings)
    bound = shortest_remaining_first(workload, settings.fill)
    crowd_s = crowd_decisions_s(workload)
    return {
        "requests": len(workload.jobs),
        "load": round(load(workload), 2),
        **_of("fifo", fifo),
        **_of("elastic_fifo", elastic),
        **_of("embs", embs),
        **_of("bound", bound),
        "completion_ratio": ratio(embs.mean_completion_s, fifo.mean_completion_s),
        "bound_completion_ratio": ratio(bound.mean_completion_s, fifo.mean_completion_s),
        "elastic_completion_ratio": ratio(embs.mean_completion_s, elastic.mean_completion_s),
        "fragmentation_ratio": ratio(embs.fragmentation, fifo.fragmentation),
        "longest_wait_ratio": ratio(max(embs.waits_s.values()), max(fifo.waits_s.values())),
        "decision_p95_ms": _p95_ms(embs.decisions_s),
        "crowd_decision_p95_ms": _p95_ms(crowd_s),
        "crowd_decision_max_ms": round(max(crowd_s) * 1000, 3),
    }


def under_fifo(workload: Workload, fill: float) -> Outcome:
    """Return the outcome of a workload under FIFO."""
    profile = LoadProfile(workload.device)
    return simulate(workload, Fifo(profile, Room(fill)), profile)


def under_embs(workload: Workload, settings: EmbsSettings) -> Outcome:
    """Return the outcome of a workload under EMBS."""
    profile = LoadProfile(workload.device)
    return simulate(workload, Embs(profile, settings), profile)


def load(workload: Workload) -> float:
    """Return the mean share of the compute capacity that the workload asks for while it arrives."""
    seconds = workload.jobs[-1].request.arrived_s - workload.jobs[0].request.arrived_s
    return sum(job.truth.compute_s for job in workload.jobs) / seconds


def crowd_decisions_s(workload: Workload) -> list[float]:
    """Return how long each decision took while thousands waited; for each that starts, one ends and one comes."""
    profile = LoadProfile(workload.device)
    scheduler, jobs = Embs(profile), cycle(workload.jobs)
    for number, job in enumerate(islice(jobs, CROWD)):
        scheduler.add(_again(job.request, number, 0.0), 0.0)
        profile.observe(job.request.kind, job.truth)
    running: list[Request] = []
    decisions_s = []
    for number, job in enumerate(islice(jobs, CROWD_DECISIONS), CROWD):
        now_s = (number - CROWD) * CROWD_STEP_S
        before_s = time.perf_counter()
        started = scheduler.next(now_s)
        decisions_s.append(time.perf_counter() - before_s)
        if started is not None:
            running.append(started)
            scheduler.add(_again(job.request, number, now_s), now_s)
        else:
            scheduler.ended(running.pop(0))
            profile.observe(job.request.kind, job.truth)
    return decisions_s


def _again(request: Request, number: int, arrived_s: float) -> Request:
    return Request(number, request.kind, arrived_s, request.size, request.live)


def ratio(value: float, base: float) -> float | None:
    """Return ``value / base`` with three decimals; None where there is no base."""
    return round(value / base, 3) if base else None


def _of(name: str, outcome: Outcome) -> dict[str, float | None]:
    figures: dict[str, float | None] = {
        f"{name}_mean_completion_s": round(outcome.mean_completion_s, 2),
        f"{name}_fragmentation": round(outcome.fragmentation, 3),
    }
    # The bound stops and resumes, so its waits mean something else.
    return figures | ({f"{name}_longest_wait_s": round(max(outcome.waits_s.values()), 1)} if outcome.waits_s else {})


def _p95_ms(seconds: list[float]) -> float | None:
    found = percentile(seconds, 95)
    return None if found is None else round(found * 1000, 4)

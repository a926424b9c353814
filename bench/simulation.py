"""Runs a workload on the simulated device under one policy; called by scheduler.py and by tests.

A policy is asked who starts next whenever something came or ended. It sees requests, never the truth about them; it
learns the shares and costs from what ended, through the live profile, as a service does.
"""

import time
from collections import deque
from dataclasses import dataclass, field

from bench.device import Device
from bench.workload import Job, Workload
from services.inference.profile import LoadProfile
from services.inference.scheduler import Policy, Request


@dataclass(slots=True)
class Outcome:
    """What a run showed: seconds from arrival to start and to end, by request number, and how idle the device was."""

    waits_s: dict[int, float] = field(default_factory=dict)
    completions_s: dict[int, float] = field(default_factory=dict)
    idle_s: float = 0.0
    waiting_s: float = 0.0
    decisions_s: list[float] = field(default_factory=list)
    most_waiting: int = 0

    @property
    def fragmentation(self) -> float:
        """The idle share of the device over the time in which work waited."""
        return self.idle_s / self.waiting_s if self.waiting_s else 0.0

    @property
    def mean_completion_s(self) -> float:
        """The mean time from arrival to end."""
        return sum(self.completions_s.values()) / len(self.completions_s)

    def passed(self, device: Device, until_s: float, waiting: int) -> None:
        """Count a stretch of time in which nothing changes."""
        if waiting:
            self.waiting_s += until_s - device.now_s
            self.idle_s += (until_s - device.now_s) * device.idle
            self.most_waiting = max(self.most_waiting, waiting)


def simulate(workload: Workload, policy: Policy, profile: LoadProfile) -> Outcome:
    """Return the outcome of a workload under a policy that starts jobs and never stops them."""
    device, outcome, arrivals = Device(workload.device), Outcome(), deque(workload.jobs)
    jobs = {job.request.number: job for job in workload.jobs}
    while arrivals or len(device) or len(policy):
        arrival_s = arrivals[0].request.arrived_s if arrivals else float("inf")
        at_s = min(arrival_s, device.next_end_s)
        outcome.passed(device, at_s, len(policy))
        if arrival_s <= device.next_end_s:
            device.advance(at_s)
            policy.add(arrivals.popleft().request, at_s)
        else:
            _end(device, policy, profile, outcome)
        while (request := _decided(policy, device.now_s, outcome)) is not None:
            outcome.waits_s[request.number] = device.now_s - request.arrived_s
            job = jobs[request.number]
            device.start(job, job.truth.alone_s)
    return outcome


def _end(device: Device, policy: Policy, profile: LoadProfile, outcome: Outcome) -> None:
    job = device.end()
    request = job.request
    policy.ended(request)
    profile.observe(request.kind, job.truth)
    outcome.completions_s[request.number] = device.now_s - request.arrived_s


def _decided(policy: Policy, now_s: float, outcome: Outcome) -> Request | None:
    before_s = time.perf_counter()
    request = policy.next(now_s)
    outcome.decisions_s.append(time.perf_counter() - before_s)
    return request


def shortest_remaining_first(workload: Workload, fill: float) -> Outcome:
    """Return the outcome of the bound: it knows the truth, and stops and resumes jobs at no cost whenever it likes."""
    device, outcome, arrivals = Device(workload.device, fill), Outcome(), deque(workload.jobs)
    waiting: list[tuple[Job, float]] = []
    while arrivals or len(device) or waiting:
        arrival_s = arrivals[0].request.arrived_s if arrivals else float("inf")
        at_s = min(arrival_s, device.next_end_s)
        outcome.passed(device, at_s, len(waiting))
        if arrival_s <= device.next_end_s:
            device.advance(at_s)
            job = arrivals.popleft()
            waiting.append((job, job.truth.alone_s))
        else:
            job = device.end()
            outcome.completions_s[job.request.number] = device.now_s - job.request.arrived_s
        waiting = _shortest_started(device, [*device.stop_all(), *waiting])
    return outcome


def _shortest_started(device: Device, jobs: list[tuple[Job, float]]) -> list[tuple[Job, float]]:
    waiting = []
    for job, left_s in sorted(jobs, key=lambda one: one[1]):
        if device.fits(job):
            device.start(job, left_s)
        else:
            waiting.append((job, left_s))
    return waiting

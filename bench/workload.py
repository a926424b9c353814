"""The workload of ``attune bench scheduler``: recorded requests in, thousands of scaled ones out, always the same.

Read from bench/workloads by scheduler.py. The file says how it was recorded and how it is scaled: talks begin at
random, each sends the utterances, images and phrases of the recorded one; files come at random and in bursts, and are
as many times longer as ``file_factors`` says. A seed fixes it all.
"""

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from services.inference.profile import ProfileSettings, Ran
from services.inference.scheduler import Request

FOLDER = Path(__file__).parent / "workloads"


@dataclass(frozen=True, slots=True)
class Job:
    """A request and the truth about it, which no scheduler sees before it has run: what it does when it runs alone."""

    request: Request
    truth: Ran


@dataclass(frozen=True, slots=True)
class Scaling:
    """How the recording becomes the workload: rates by the second, times in seconds."""

    seed: int
    duration_s: float
    talks_per_s: float
    files_per_s: float
    burst_every_s: float
    burst_files: int
    file_factors: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Workload:
    """Jobs by arrival, and what the device they are for can do."""

    jobs: tuple[Job, ...]
    device: ProfileSettings


def read_workload(name: str = "tour") -> Workload:
    """Return the workload of that name; blocks while reading."""
    recording = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return scaled(
        recording, Scaling(**{**recording["scaling"], "file_factors": tuple(recording["scaling"]["file_factors"])})
    )


def scaled(recording: Mapping[str, Any], scaling: Scaling) -> Workload:
    """Return the workload that a recording gives when it is scaled so."""
    requests, cores = recording["requests"], recording["machine"]["cores"]
    draw = random.Random(scaling.seed)  # noqa: S311  # to repeat it is the point
    arrivals = [*_talks(requests, scaling, draw), *_files(requests, scaling, draw)]
    arrivals.sort(key=lambda arrival: arrival[0])
    jobs = tuple(_job(number, *arrival, cores) for number, arrival in enumerate(arrivals))
    return Workload(jobs, device_of(recording))


def device_of(recording: Mapping[str, Any]) -> ProfileSettings:
    """Return what the recording machine can do: on each core, the most memory traffic that was seen on one."""
    machine = recording["machine"]
    rates = [request["moved_bytes"] / request["wall_s"] for request in recording["requests"]]
    return ProfileSettings(bytes_per_s=machine["cores"] * max(machine["copy_bytes_per_s"], *rates))


def _talks(
    requests: list[dict[str, Any]], scaling: Scaling, draw: random.Random
) -> Iterator[tuple[float, dict[str, Any], float]]:
    at_s = draw.expovariate(scaling.talks_per_s)
    while at_s < scaling.duration_s:
        for request in requests:
            if request["live"]:
                yield at_s + request["at_s"], request, 1.0
        at_s += draw.expovariate(scaling.talks_per_s)


def _files(
    requests: list[dict[str, Any]], scaling: Scaling, draw: random.Random
) -> Iterator[tuple[float, dict[str, Any], float]]:
    files = [request for request in requests if not request["live"]]
    times_s = []
    at_s = draw.expovariate(scaling.files_per_s)
    while at_s < scaling.duration_s:
        times_s.append(at_s)
        at_s += draw.expovariate(scaling.files_per_s)
    bursts = int(scaling.duration_s / scaling.burst_every_s)
    times_s += [number * scaling.burst_every_s for number in range(1, bursts) for _ in range(scaling.burst_files)]
    for arrived_s in times_s:
        yield arrived_s, draw.choice(files), draw.choice(scaling.file_factors)


def _job(number: int, arrived_s: float, recorded: Mapping[str, Any], factor: float, cores: int) -> Job:
    request = Request(number, recorded["kind"], arrived_s, recorded["size"] * factor, recorded["live"])
    wall_s, cpu_s = recorded["wall_s"] * factor, recorded["cpu_s"] * factor
    truth = Ran(
        size=request.size,
        alone_s=wall_s,
        compute_s=cpu_s / cores,
        io_wait_s=max(0.0, wall_s - cpu_s),
        moved_bytes=recorded["moved_bytes"] * factor,
        line_bytes=recorded["in_bytes"] * factor,
    )
    return Job(request, truth)

"""``attune bench batching``: our batcher, and with ``--rivals`` three others, before one model under one load.

Comes from the command line; returns figures for report.py. Every server runs alone, one after the other, and all of
them again in each repeat; figures are medians over the repeats.
"""

import asyncio
import os
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median

from bench.load import Load, Phase, Seen, open_load
from bench.measure import percentile
from bench.report import Bar, Figures
from bench.rivals.model import MAX_BATCH
from bench.serving import OURS, RIVALS, CannotMeasure, open_target
from services.inference.batching import Batcher
from services.inference.lanes import BatchSettings

RATE_PER_S = 60.0
OUTSTANDING = 4 * MAX_BATCH  # saturation: of short and of long requests a full batch runs or waits
LOADED = 0.7
CANCEL_SHARE = 0.3
WARM_S = 2.0
OVERHEAD_CALLS = 500

OWN_BARS = (
    Bar("mix_over_uniform_work", ">=", 0.9),
    Bar("throughput_over_bare_model", ">=", 0.9),
    Bar("poisson_over_even_p99", "<=", 1.6),
    Bar("poison_others_failed", "=", 0),
    Bar("batches_for_cancelled_callers", "<=", 1),
    Bar("throughput_after_cancellations", ">=", 0.98),
    Bar("overhead_ms", "<=", 0.3),
)
RIVAL_BARS = (
    Bar("mix_short_p95_over_best_uniform_p95", "<=", 1.5),
    Bar("mix_p95_over_best", "<=", 0.4),
    Bar("throughput_over_best", ">=", 1.0),
    Bar("uniform_p95_over_best", "<=", 1.0),
)


@dataclass(frozen=True, slots=True)
class BatchingRun:
    """What to run and for how long: ``seconds`` a phase, ``cancel_s`` of cancellations."""

    rivals: bool = False
    repeats: int = 3
    seconds: float = 8.0
    cancel_s: float = 300.0

    @property
    def bars(self) -> tuple[Bar, ...]:
        """Return the bars of what is measured."""
        return OWN_BARS + (RIVAL_BARS if self.rivals else ())


@dataclass(slots=True)
class Samples:
    """Values of each figure, one a repeat."""

    values: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def add(self, name: str, value: float | None) -> None:
        """Keep a value; None is a phase without answers, which ends the measurement."""
        if value is None:
            raise CannotMeasure(f"{name}: nothing was answered")
        self.values[name].append(value)

    def medians(self) -> dict[str, float | None]:
        """Return the median of each figure."""
        return {name: round(median(values), 4) for name, values in self.values.items()}


async def run(settings: BatchingRun) -> dict[str, float | None]:
    """Return the figures of our batcher, and those against its rivals when they are asked for."""
    samples = Samples()
    kinds = (OURS, *RIVALS) if settings.rivals else (OURS,)
    async with open_load() as load:
        for repeat in range(settings.repeats):
            for kind in kinds:
                await _measure(load, kind, replace(settings, rivals=False), repeat, samples)
        await _measure_cancellations(load, settings, samples)
    samples.add("overhead_ms", await overhead_ms())
    return figures(samples.medians(), kinds)


async def _measure(load: Load, kind: str, settings: BatchingRun, repeat: int, samples: Samples) -> None:
    sys.stderr.write(f"repeat {repeat + 1} of {settings.repeats}: {kind} …\n")
    if kind == OURS:
        samples.add("bare_model_per_s", await bare_model_per_s(settings.seconds))
    async with open_target(kind) as port:
        phase = Phase(kind, port, settings.seconds, seed=repeat)
        await load.run("ready", phase)
        await load.run("closed_loop", replace(phase, seconds=WARM_S, outstanding=OUTSTANDING, mix=True))
        uniform = await load.run("closed_loop", replace(phase, outstanding=OUTSTANDING))
        mix = await load.run("closed_loop", replace(phase, outstanding=OUTSTANDING, mix=True))
        samples.add(f"{kind}_per_s", uniform.work_per_s)
        samples.add(f"{kind}_mix_work_per_s", mix.work_per_s)
        at_60 = replace(phase, rate=RATE_PER_S)
        samples.add(f"{kind}_uniform_p95_ms", percentile((await load.run("open_loop", at_60)).ms, 95))
        mixed = await load.run("open_loop", replace(at_60, mix=True))
        samples.add(f"{kind}_mix_p95_ms", percentile(mixed.ms, 95))
        samples.add(f"{kind}_mix_short_p95_ms", percentile(short_ms(mixed), 95))
        if kind == OURS:
            await _measure_ours(load, phase, uniform.work_per_s, samples)


async def _measure_ours(load: Load, phase: Phase, capacity: float, samples: Samples) -> None:
    """Measure what only our server is asked: arrivals of two kinds, a poisonous request, callers that leave."""
    loaded = replace(phase, rate=LOADED * capacity)
    for name, even in (("even_p99_ms", True), ("poisson_p99_ms", False)):
        samples.add(name, percentile((await load.run("open_loop", replace(loaded, even=even))).ms, 99))
    full = replace(phase, outstanding=MAX_BATCH)
    samples.add("poison_others_failed", (await load.run("poison", full)).failed)
    samples.add("batches_for_cancelled_callers", (await load.run("leave", full)).batches)


async def _measure_cancellations(load: Load, settings: BatchingRun, samples: Samples) -> None:
    sys.stderr.write(f"{settings.cancel_s:g} s of cancellations …\n")
    async with open_target(OURS) as port:
        phase = Phase(OURS, port, settings.seconds, outstanding=OUTSTANDING)
        await load.run("ready", phase)
        await load.run("closed_loop", replace(phase, seconds=WARM_S))
        for name, cancel_s in (("before", settings.cancel_s), ("after", 0.0)):
            for repeat in range(settings.repeats):
                seen = await load.run("closed_loop", replace(phase, seed=repeat))
                samples.add(f"{name}_cancellations_per_s", seen.work_per_s)
            if cancel_s:
                await load.run("closed_loop", replace(phase, seconds=cancel_s, cancel_share=CANCEL_SHARE))


def short_ms(seen: Seen) -> Sequence[float]:
    """Return the latencies of the requests of one step."""
    return [ms for steps, ms in zip(seen.steps, seen.ms, strict=True) if steps == 1]


def figures(medians: Mapping[str, float | None], kinds: Sequence[str]) -> dict[str, float | None]:
    """Return the medians with the ratios that have bars."""
    found = {
        **medians,
        "mix_over_uniform_work": ratio(medians, f"{OURS}_mix_work_per_s", f"{OURS}_per_s"),
        "throughput_over_bare_model": ratio(medians, f"{OURS}_per_s", "bare_model_per_s"),
        "poisson_over_even_p99": ratio(medians, "poisson_p99_ms", "even_p99_ms"),
        "throughput_after_cancellations": ratio(medians, "after_cancellations_per_s", "before_cancellations_per_s"),
    }
    rivals = [kind for kind in kinds if kind != OURS]
    return {**found, **over_best(medians, rivals)} if rivals else found


def over_best(medians: Figures, rivals: Sequence[str]) -> dict[str, float | None]:
    """Return our figures over the best rival's, which is another one for each."""

    def best(figure: str, of: Sequence[str] = rivals) -> list[str]:
        return sorted((f"{rival}_{figure}" for rival in of), key=lambda name: medians[name] or 0.0)

    uniform, mix, throughput = best("uniform_p95_ms")[0], best("mix_p95_ms")[0], best("per_s")[-1]
    return {
        "mix_short_p95_over_best_uniform_p95": ratio(medians, f"{OURS}_mix_short_p95_ms", uniform),
        "mix_p95_over_best": ratio(medians, f"{OURS}_mix_p95_ms", mix),
        "throughput_over_best": ratio(medians, f"{OURS}_per_s", throughput),
        "uniform_p95_over_best": ratio(medians, f"{OURS}_uniform_p95_ms", uniform),
    }


def ratio(medians: Figures, figure: str, base: str) -> float | None:
    """Return one figure over another; None when either is missing or the base is nothing."""
    above, below = medians.get(figure), medians.get(base)
    return round(above / below, 3) if above is not None and below else None


async def bare_model_per_s(seconds: float) -> float:
    """Return the requests a second of the bare model in full batches, in a process of its own."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench.bare_model", str(seconds)),
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        stdout=asyncio.subprocess.PIPE,
    )
    answer, _ = await process.communicate()
    return float(answer)


async def overhead_ms() -> float:
    """Return the median time of a request through a batcher whose model takes no time."""
    settings = BatchSettings(max_batch=MAX_BATCH, workers=1)
    taken_s = []
    async with Batcher[int, int]("overhead", settings, lambda numbers: numbers, lambda: None) as batcher:
        for number in range(OVERHEAD_CALLS):
            started_s = time.perf_counter()
            await batcher.submit(number)
            taken_s.append(time.perf_counter() - started_s)
    return median(taken_s) * 1e3

"""The load on a batching server, in a process of its own: one phase a line in, what it saw a line out, both JSON.

Started by batching.py, which opens it with ``open_load``. Latency counts from the moment a request was due, so a server
that holds the load back does not hide it.
"""

import asyncio
import dataclasses
import json
import random
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from bench.callers import Caller, open_caller
from bench.serving import CannotMeasure

LONG_STEPS = 10
LONG_SHARE = 0.15
DRAIN_S = 20.0
READY_S = 120.0


@dataclass(frozen=True, slots=True)
class Phase:
    """What to send where: ``outstanding`` callers that ask again at once, or ``rate`` requests a second."""

    kind: str
    port: int
    seconds: float
    outstanding: int = 0
    rate: float = 0.0
    even: bool = False
    mix: bool = False
    cancel_share: float = 0.0
    seed: int = 0


@dataclass(slots=True)
class Seen:
    """What a phase saw: steps and milliseconds of each answer, how many failed, and the work done in its time."""

    steps: list[int] = field(default_factory=list)
    ms: list[float] = field(default_factory=list)
    failed: int = 0
    work_per_s: float = 0.0
    batches: int = 0


def pick(rng: random.Random, mix: bool) -> int:
    """Return the steps of the next request."""
    return LONG_STEPS if mix and rng.random() < LONG_SHARE else 1


async def closed_loop(caller: Caller, phase: Phase) -> Seen:
    """Keep ``outstanding`` requests on the way; some callers leave at a random moment if ``cancel_share`` says so."""
    rng, seen = random.Random(phase.seed), Seen()  # noqa: S311  # repeatable, not secret
    started_s = time.perf_counter()
    end_s = started_s + phase.seconds
    work = 0

    async def ask_again_and_again() -> None:
        nonlocal work
        while (asked_s := time.perf_counter()) < end_s:
            steps, leaves = pick(rng, phase.mix), rng.random() < phase.cancel_share
            with suppress(TimeoutError):
                async with asyncio.timeout(rng.uniform(0, 0.05) if leaves else None):
                    await caller.call(steps)
                answered_s = time.perf_counter()
                if answered_s <= end_s:
                    work += steps
                    seen.steps.append(steps)
                    seen.ms.append((answered_s - asked_s) * 1e3)

    async with asyncio.TaskGroup() as group:
        for _ in range(phase.outstanding):
            group.create_task(ask_again_and_again())
    seen.work_per_s = work / phase.seconds
    return seen


async def open_loop(caller: Caller, phase: Phase) -> Seen:
    """Send ``rate`` requests a second, at random moments or evenly, whatever comes back."""
    rng, seen = random.Random(phase.seed), Seen()  # noqa: S311  # repeatable, not secret
    started_s = time.perf_counter()

    async def ask(due_s: float, steps: int) -> None:
        try:
            async with asyncio.timeout(DRAIN_S):
                await caller.call(steps)
        except Exception:
            seen.failed += 1
        seen.steps.append(steps)
        seen.ms.append((time.perf_counter() - due_s) * 1e3)

    async with asyncio.TaskGroup() as group:
        due_s = started_s
        while due_s < started_s + phase.seconds:
            await asyncio.sleep(max(0.0, due_s - time.perf_counter()))
            group.create_task(ask(due_s, pick(rng, phase.mix)))
            due_s += 1 / phase.rate if phase.even else rng.expovariate(phase.rate)
    seen.work_per_s = sum(seen.steps) / (time.perf_counter() - started_s)
    return seen


async def leave(caller: Caller, phase: Phase) -> Seen:
    """Send ``outstanding`` requests behind one long one, cancel them all; count the batches that ran after that."""
    async with asyncio.TaskGroup() as group:
        group.create_task(caller.call(LONG_STEPS))
        await asyncio.sleep(0.01)
        waiting = [asyncio.ensure_future(caller.call(1)) for _ in range(phase.outstanding)]
        await asyncio.sleep(0.02)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        before = await caller.batches()
    await asyncio.sleep(0.5)
    return Seen(batches=await caller.batches() - before)


async def poison(caller: Caller, phase: Phase) -> Seen:
    """Send one poisonous request among ``outstanding``; count the others that fail."""
    calls = [caller.call(-1 if number == phase.outstanding // 2 else 1) for number in range(phase.outstanding)]
    answers = await asyncio.gather(*calls, return_exceptions=True)
    failed = sum(isinstance(answer, BaseException) for answer in answers)
    if not failed:
        raise RuntimeError("the poisonous request was answered")
    return Seen(failed=failed - 1)


async def ready(caller: Caller, _phase: Phase) -> Seen:
    """Wait until the server answers."""
    async with asyncio.timeout(READY_S):
        while True:
            try:
                await caller.call(1)
                return Seen()
            except Exception:
                await asyncio.sleep(0.2)


LOADS = {load.__name__: load for load in (closed_loop, open_loop, leave, poison, ready)}


class Load:
    """The process from outside."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def run(self, name: str, phase: Phase) -> Seen:
        """Run a load of this name and return what it saw; CannotMeasure when it fails."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([name, dataclasses.asdict(phase)]).encode() + b"\n")
        line = await self._process.stdout.readline()
        if not line:
            raise CannotMeasure(f"the load {name} failed; its own message stands above")
        return Seen(**json.loads(line))


@asynccontextmanager
async def open_load() -> AsyncGenerator[Load, None]:
    """Run the process beside the body."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.load", stdin=pipe, stdout=pipe, limit=2**26
    )
    try:
        yield Load(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _main() -> None:
    while line := await asyncio.to_thread(sys.stdin.readline):
        name, fields = json.loads(line)
        phase = Phase(**fields)
        async with open_caller(phase.kind, phase.port) as caller:
            seen = await LOADS[name](caller, phase)
        sys.stdout.write(json.dumps(dataclasses.asdict(seen)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    import uvloop

    uvloop.run(_main())

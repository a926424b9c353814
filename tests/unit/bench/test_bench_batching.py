"""The batching benchmark: what it makes of what it saw, its load, its clients."""

import asyncio
import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import pytest

from bench.batching import OWN_BARS, RIVAL_BARS, BatchingRun, Samples, figures, over_best, short_ms
from bench.callers import HttpCaller
from bench.load import LONG_STEPS, Phase, Seen, closed_loop, leave, open_loop, pick, poison
from bench.rivals.model import PaddedMlp
from bench.serving import OURS, CannotMeasure


@dataclass
class FakeServer:
    """Answers in a millisecond; fails on poison, or always."""

    fails_together: bool = False
    asked: list[int] = field(default_factory=list)
    left: int = 0

    async def call(self, steps: int) -> None:
        self.asked.append(steps)
        try:
            await asyncio.sleep(0.001)
        except asyncio.CancelledError:
            self.left += 1
            raise
        if steps < 0 or self.fails_together:
            raise ConnectionError

    async def batches(self) -> int:
        return 7


def test_the_figures_hold_every_bar() -> None:
    """Whatever has a bar is measured; the rivals' bars count only with rivals."""
    medians: dict[str, float | None] = {
        f"{kind}_{name}": 2.0
        for kind in (OURS, "litserve", "ray")
        for name in ("per_s", "mix_work_per_s", "uniform_p95_ms", "mix_p95_ms", "mix_short_p95_ms")
    }
    own = ("bare_model_per_s", "poisson_p99_ms", "even_p99_ms", "before_cancellations_per_s", "overhead_ms")
    more = ("after_cancellations_per_s", "poison_others_failed", "batches_for_cancelled_callers")
    medians |= dict.fromkeys(own + more, 2.0)
    assert {bar.figure for bar in OWN_BARS + RIVAL_BARS} <= set(figures(medians, (OURS, "litserve", "ray")))
    assert not {bar.figure for bar in RIVAL_BARS} & set(figures(medians, (OURS,)))
    assert BatchingRun(rivals=False).bars == OWN_BARS


def test_the_best_rival_is_another_one_for_each_figure() -> None:
    """The lowest latency and the highest throughput count, whoever has them."""
    medians: dict[str, float | None] = {
        "attune_per_s": 900.0, "attune_uniform_p95_ms": 10.0, "attune_mix_p95_ms": 60.0,
        "attune_mix_short_p95_ms": 40.0,
        "a_per_s": 600.0, "a_uniform_p95_ms": 40.0, "a_mix_p95_ms": 400.0,
        "b_per_s": 900.0, "b_uniform_p95_ms": 80.0, "b_mix_p95_ms": 300.0,
    }  # fmt: skip
    assert over_best(medians, ["a", "b"]) == {
        "mix_short_p95_over_best_uniform_p95": 1.0,
        "mix_p95_over_best": 0.2,
        "throughput_over_best": 1.0,
        "uniform_p95_over_best": 0.25,
    }


def test_a_phase_without_answers_ends_the_measurement() -> None:
    """No value is never a good value."""
    with pytest.raises(CannotMeasure, match="mix_p95_ms"):
        Samples().add("mix_p95_ms", None)


def test_samples_are_told_by_their_median() -> None:
    """One odd repeat does not move a figure."""
    samples = Samples()
    for value in (1.0, 100.0, 2.0):
        samples.add("x", value)
    assert samples.medians() == {"x": 2.0}


def test_the_mix_is_15_percent_long_and_repeatable() -> None:
    """The same seed asks the same; without the mix all are short."""
    picked = [pick(random.Random(seed), True) for seed in range(4000)]
    assert 0.13 < picked.count(LONG_STEPS) / len(picked) < 0.17
    assert {pick(random.Random(seed), False) for seed in range(50)} == {1}
    assert short_ms(Seen(steps=[1, LONG_STEPS, 1], ms=[5.0, 50.0, 6.0])) == [5.0, 6.0]


async def test_the_closed_loop_counts_the_work_that_was_answered() -> None:
    """Answered steps by seconds; callers that leave are not counted, and do leave."""
    server = FakeServer()
    seen = await closed_loop(server, Phase(OURS, 0, 0.2, outstanding=4))
    assert seen.work_per_s == pytest.approx(sum(seen.steps) / 0.2)
    assert seen.steps
    left = FakeServer()
    hasty = await closed_loop(left, Phase(OURS, 0, 0.2, outstanding=4, cancel_share=1.0))
    assert len(left.asked) - len(hasty.steps) >= left.left > 0


async def test_the_open_loop_sends_its_rate_and_counts_failures_as_answers() -> None:
    """Even arrivals are as many as the rate says; a server that fails gets no better latency by it."""
    server = FakeServer(fails_together=True)
    seen = await open_loop(server, Phase(OURS, 0, 0.2, rate=100, even=True))
    assert len(server.asked) in (20, 21)
    assert seen.failed == len(seen.ms) == len(server.asked)


async def test_poison_counts_the_others_that_fail() -> None:
    """Alone, none of the others failed; where a batch fails as a whole, all did."""
    phase = Phase(OURS, 0, 1.0, outstanding=32)
    assert (await poison(FakeServer(), phase)).failed == 0
    assert (await poison(FakeServer(fails_together=True), phase)).failed == 31


async def test_leaving_counts_the_batches_after_it() -> None:
    """All waiting callers are gone before the count begins."""
    assert (await leave(FakeServer(), Phase(OURS, 0, 1.0, outstanding=32))).batches == 0


@asynccontextmanager
async def http_server(answer: bytes) -> AsyncGenerator[tuple[int, list[bytes]], None]:
    """Serve one fixed answer on a loopback port; yields the port and the bodies that came."""
    bodies: list[bytes] = []
    closed = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = next(line for line in head.split(b"\r\n") if line.startswith(b"content-length"))
                bodies.append(await reader.readexactly(int(length.split()[1])))
                writer.write(answer)
        writer.close()
        await writer.wait_closed()
        closed.set()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1], bodies
        await closed.wait()


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    ],
)
async def test_the_http_caller_keeps_its_connection(answer: bytes) -> None:
    """Two calls, one connection, whichever way the answer's length is told."""
    async with http_server(answer) as (port, bodies):
        caller = HttpCaller(port, "ray")
        await caller.call(1)
        await caller.call(10)
        assert len(caller._idle) == 1
        caller.close()
    assert bodies == [b'{"n": 1}', b'{"n": 10}']


async def test_an_http_answer_other_than_200_is_a_failure() -> None:
    """A rival that refuses is not fast."""
    async with http_server(b"HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n") as (port, _):
        caller = HttpCaller(port, "triton")
        with pytest.raises(ConnectionError):
            await caller.call(1)


def test_the_model_pads_to_the_longest_and_gives_each_its_own() -> None:
    """A request's answer does not depend on who else is in the batch, if all take as many steps; poison raises."""
    model = PaddedMlp()
    assert model.run([1, 1]) == pytest.approx(model.run([1]) + model.run([1, 1])[1:], rel=1e-4)
    assert model.run([1, 2])[0] == pytest.approx(model.run([2])[0], rel=1e-4)
    with pytest.raises(ValueError, match="poison"):
        model.run([1, -1])

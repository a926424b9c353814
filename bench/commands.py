"""The commands of ``attune bench``: each loads what it measures, report.py shows the figures. Called by the cli."""

import importlib
from collections.abc import AsyncGenerator, Awaitable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from bench.report import Bar, Figures, show
from services.started import server_at, started_stack
from services.terminal import JsonOutput, Url, fail, finite, run

if TYPE_CHECKING:
    from bench.measure import Target

app = typer.Typer(no_args_is_help=True, help="Measure a running server, or one started for the measurement.")


async def _shown(measuring: Awaitable[Figures], bars: Sequence[Bar], as_json: bool) -> int:
    """Measure, print the figures and return the exit code; a measurement that cannot be made is one line."""
    from attune_client import AttuneError
    from bench.serving import CannotMeasure

    try:
        figures = await measuring
    except (CannotMeasure, AttuneError) as error:
        fail(error)
    return show(figures, bars, in_json=as_json)


async def _at_server(name: str, url: str | None, as_json: bool) -> int:
    from bench.measure import Target

    module = importlib.import_module(f"bench.{name}")
    async with server_at(url) as (address, pid):
        return await _shown(module.run(Target(address, pid)), module.BARS, as_json)


@app.command("demo")
def bench_demo(url: Url = None, as_json: JsonOutput = False) -> None:
    """Stream the example talk and count phrases matched with the right picture and region."""
    run(_at_server("demo", url, as_json))


@app.command("live")
def bench_live(url: Url = None, as_json: JsonOutput = False) -> None:
    """Stream 44 s of real speech: word lag, alignment delay, loop stalls, memory."""
    run(_at_server("live", url, as_json))


@app.command("rest")
def bench_rest(url: Url = None, as_json: JsonOutput = False) -> None:
    """Send 20 requests of 10 s of speech and 3 images: time of each stage and of the whole."""
    run(_at_server("rest", url, as_json))


@app.command("scheduler")
def bench_scheduler(
    live: Annotated[bool, typer.Option("--live", help="Drive the real services instead; no bars.")] = False,
    repeats: Annotated[int, typer.Option(min=1, help="With --live: runs under each policy.")] = 1,
    seconds: Annotated[float, typer.Option(min=6, help="With --live: how long requests are sent in a run.")] = 60.0,
    as_json: JsonOutput = False,
) -> None:
    """Compare first come first served with the scheduler: simulated on the shipped workload, or live."""
    if live:
        from bench import live_order

        run(_shown(live_order.run(live_order.LiveRun(repeats, seconds)), (), as_json))
    from bench import scheduler

    raise typer.Exit(show(scheduler.run(), scheduler.BARS, in_json=as_json))


@app.command("batching")
def bench_batching(
    rivals: Annotated[bool, typer.Option("--rivals", help="Also measure LitServe, Ray Serve and Triton.")] = False,
    repeats: Annotated[int, typer.Option(min=1, help="How often each server is measured.")] = 3,
    seconds: Annotated[
        float, typer.Option(min=1, max=3600, callback=finite, help="How long each phase of load lasts.")
    ] = 8.0,
    cancel_s: Annotated[
        float,
        typer.Option(min=1, max=3600, callback=finite, help="How long callers leave before throughput is compared."),
    ] = 300,
    as_json: JsonOutput = False,
) -> None:
    """Load the batcher and its rivals: throughput, long tails, poison, callers that leave."""
    from bench import batching

    settings = batching.BatchingRun(rivals, repeats, seconds, cancel_s)
    run(_shown(batching.run(settings), settings.bars, as_json))


@app.command("service")
def bench_service(
    parts: Annotated[
        list[str] | None, typer.Option("--part", help="hop, ageing, load or deaths; all of them without.")
    ] = None,
    rivals: Annotated[bool, typer.Option("--rivals", help="Also measure Ray Serve's gRPC echo.")] = False,
    repeats: Annotated[int, typer.Option(min=1, help="How often the ways of a request are visited in turn.")] = 3,
    deaths: Annotated[int, typer.Option(min=1, help="How many clients die.")] = 500,
    as_json: JsonOutput = False,
) -> None:
    """Measure the service around the models: the gateway's way, an hour's session, full load, clients that die."""
    from bench import service

    unknown = set(parts or ()) - set(service.BARS)
    if unknown:
        fail(f"{', '.join(sorted(unknown))}: not a part; choose of {', '.join(service.BARS)}", 2)
    settings = service.ServiceRun(
        [part for part in service.BARS if not parts or part in parts], rivals, repeats, deaths
    )
    run(_shown(service.run(settings, _started), settings.bars, as_json))


@asynccontextmanager
async def _started(variables: Mapping[str, str]) -> AsyncGenerator["Target", None]:
    from bench.measure import Target

    async with started_stack(**variables) as (said, pid):
        yield Target(said["url"], pid, said["metrics"])

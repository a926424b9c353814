"""The `attune` command. Each command loads only what it runs."""

import asyncio
import json
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError
from pydantic_settings import SettingsError

from bench.commands import app as bench_app
from services.started import server_at
from services.terminal import Check, JsonOutput, Url, fail, finite, run, show

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__, pretty_exceptions_enable=False)
app.add_typer(bench_app, name="bench")

SERVICES = ("asr", "vision", "aligner")


@app.command()
def up(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; 0 takes any free one.")] = None,
    check: Check = False,
    as_json: JsonOutput = False,
) -> None:
    """Start the gateway, the three services and a Redis, and keep them running until Ctrl-C or SIGTERM."""
    from services.common.listening import CannotListen
    from services.gateway.settings import GatewaySettings
    from services.stack import CannotStart, FolderBusy, StackSettings

    gateway = GatewaySettings.read(host=host, port=port)
    settings = StackSettings()
    # Read here too: what a service would refuse is said at once and in one line.
    every = {"up": settings, "gateway": gateway} | {name: _settings_of(name) for name in SERVICES}
    if check:
        show(every)
        return
    try:
        code = asyncio.run(_up(settings, gateway, as_json))
    except (CannotListen, FolderBusy) as error:
        fail(error, 2)
    except CannotStart as error:
        fail(error)
    raise typer.Exit(code)


async def _up(settings: Any, gateway: Any, as_json: bool) -> int:
    from services.stack import Stopped, open_stack

    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    numbers: list[int] = []

    def on_signal(number: int) -> None:
        numbers.append(number)
        stopped.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_signal, number)
    started_s = loop.time()
    typer.echo("starting …", err=True)
    try:
        async with open_stack(settings, gateway, lambda line: typer.echo(line, err=True), stopped) as stack:
            _say_ready(stack, round(loop.time() - started_s, 1), settings.home, as_json)
            await stopped.wait()
    except Stopped:  # a Ctrl-C then broke off what it was asked to do; afterwards it is the usual end
        return 130 if numbers[0] == signal.SIGINT else 0
    return 0


def _say_ready(stack: Any, ready_s: float, home: Path, as_json: bool) -> None:
    addresses = {name: child.address for name, child in stack.children.items()}
    if as_json:
        metrics = {name: child.metrics for name, child in stack.children.items() if child.metrics}
        ready = {"url": stack.url, "ready_s": ready_s, "processes": addresses, "metrics": metrics}
        typer.echo(json.dumps(ready))
    else:
        _print_addresses(stack.url, addresses, ready_s, home)


def _print_addresses(url: str, addresses: dict[str, str], ready_s: float, home: Path) -> None:
    for name, address in addresses.items():
        typer.echo(f"  {name:<8} {address}")
    typer.echo(f"ready in {ready_s} s at {url} (API: {url}/docs, logs: {home / 'logs'}, Ctrl-C stops)")


@app.command()
def serve(
    services: Annotated[list[str], typer.Argument(help="Any of asr, vision, aligner; several share the process.")],
    listen: Annotated[str, typer.Option(help="host:port or unix:path.")] = "127.0.0.1:50051",
    drain_s: Annotated[
        float, typer.Option(min=0, max=600, callback=finite, help="How long running calls may go on at the end.")
    ] = 5.0,
    metrics_port: Annotated[
        int | None, typer.Option(min=1, max=65_535, help="Port for /metrics; none without.")
    ] = None,
    check: Check = False,
) -> None:
    """Serve model services over gRPC until SIGTERM."""
    from services.inference.settings import SchedulerSettings

    opened = _services(services)
    scheduler = SchedulerSettings()
    if check:
        show({"scheduler": scheduler} | {name: settings for name, (settings, _) in opened.items()})
        return
    import uvloop

    from services.common.telemetry import telemetry

    settings = next(iter(opened.values()))[0]
    with telemetry("+".join(opened), settings):
        try:
            with _metrics_at(listen, metrics_port):
                uvloop.run(_serve(opened, scheduler, listen, drain_s))
        except OSError as error:
            fail(error, 2)


def _services(names: list[str]) -> dict[str, tuple[Any, Any]]:
    unknown = set(names) - set(SERVICES)
    if unknown:
        fail(f"{', '.join(sorted(unknown))}: not a service; choose of asr, vision, aligner", 2)
    return {name: _service(name) for name in dict.fromkeys(names)}


@contextmanager
def _metrics_at(listen: str, port: int | None) -> Generator[None]:
    """Serve this process's Prometheus metrics beside gRPC, on the same host. OSError when the port is taken."""
    if port is None:
        yield
        return
    from prometheus_client import start_http_server

    host = "127.0.0.1" if listen.startswith("unix:") else listen.rpartition(":")[0].strip("[]")
    server, thread = start_http_server(port, host)
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _settings_of(name: str) -> Any:
    """Return a service's settings; nothing else of it is loaded."""
    if name == "asr":
        from services.asr.settings import AsrSettings

        return AsrSettings()
    if name == "vision":
        from services.vision.settings import VisionSettings

        return VisionSettings()
    from services.aligner.settings import AlignerSettings

    return AlignerSettings()


def _service(name: str) -> tuple[Any, Any]:
    """Return a service's settings and the async context manager that opens it, ready to be hosted."""
    if name == "asr":
        from services.asr import app as asr
        from services.asr import servicer as asr_servicer

        return _settings_of(name), (asr.open_transcriber, asr_servicer.hosted)
    if name == "vision":
        from services.vision import app as vision
        from services.vision import servicer as vision_servicer

        return _settings_of(name), (vision.open_image_encoder, vision_servicer.hosted)
    from services.aligner import app as aligner
    from services.aligner import servicer as aligner_servicer

    return _settings_of(name), (aligner.open_aligner, aligner_servicer.hosted)


async def _serve(opened: dict[str, tuple[Any, Any]], scheduler: Any, listen: str, drain_s: float) -> None:
    from contextlib import AsyncExitStack

    from services.common.grpc_server import open_server
    from services.common.tether import say_ready
    from services.inference.processor import open_turns

    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with AsyncExitStack() as stack:
        turns = await stack.enter_async_context(open_turns(scheduler))
        hosted = [
            host(await stack.enter_async_context(open_port(settings, turns)))
            for settings, (open_port, host) in opened.values()
        ]
        address = await stack.enter_async_context(open_server(listen, hosted, drain_s))
        typer.echo(f"serving {', '.join(opened)} at {address}", err=True)
        say_ready(address)
        await stopped.wait()


@app.command()
def gateway(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; 0 takes any free one.")] = None,
    check: Check = False,
) -> None:
    """Serve the gateway alone; its upstreams and Redis are settings."""
    from services.gateway.settings import GatewaySettings

    settings = GatewaySettings.read(host=host, port=port)
    if check:
        show({"gateway": settings})
        return
    import uvloop

    from services.common.listening import CannotListen
    from services.common.telemetry import telemetry
    from services.common.tether import say_ready
    from services.gateway.serve import serve_gateway

    def on_listening(bound: int) -> None:
        typer.echo(f"listening on http://{settings.host}:{bound}", err=True)
        say_ready(f"{settings.host}:{bound}")

    try:
        with telemetry("gateway", settings):
            uvloop.run(serve_gateway(settings, on_listening))
    except CannotListen as error:
        fail(error, 2)


@app.command()
def stream(
    audio: Annotated[Path | None, typer.Argument(help="A sound file; without it the microphone is used.")] = None,
    images: Annotated[Path | None, typer.Option(help="A folder of pictures, with a timeline.json or not.")] = None,
    out: Annotated[Path, typer.Option(help="Where pictures, captions and the session are written.")] = Path(
        "attune-out"
    ),
    seconds: Annotated[
        float, typer.Option(min=1, max=604_800, callback=finite, help="How long to listen to the microphone.")
    ] = 3600.0,
    url: Url = None,
) -> None:
    """Stream a recording, or the microphone, and pictures in real time; show captions and what they are about."""
    run(_stream(audio, images, out, seconds, url))


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Where the result is written.")] = Path("demo-out"), url: Url = None
) -> None:
    """Stream the example talk: a tour of six photographs."""
    tour = Path(__file__).parents[1] / "examples" / "tour"
    run(_stream(tour / "talk.wav", tour, out, 0, url))


async def _stream(audio: Path | None, images: Path | None, out: Path, seconds: float, url: str | None) -> int:
    from attune_client import AttuneError
    from attune_client.stream import stream_files, stream_microphone

    try:
        async with server_at(url) as (address, _):
            if audio is None:
                summary = await stream_microphone(address, seconds, images, out)
            else:
                summary = await stream_files(address, audio, images, out)
    except AttuneError as error:
        fail(error)
    typer.echo(
        f"{summary.words} words, {summary.matched} of {summary.phrases} phrases about one of {summary.images} images; "
        f"95 % of words stood within {summary.word_lag_p95_ms} ms. Written to {out}/: "
        + ", ".join(str(path.relative_to(out)) for path in summary.files)
    )
    return 1 if summary.faults else 0


def main() -> None:
    """Run the command; settings that are wrong end it with a line each and exit 2."""
    try:
        app()
    except SettingsError as error:  # a list that is no JSON, say
        typer.echo(f"attune: {error}", err=True)
        sys.exit(2)
    except ValidationError as error:
        for found in error.errors(include_url=False):
            typer.echo(f"attune: {'.'.join(map(str, found['loc'])) or 'settings'}: {found['msg']}", err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()

"""What every command of ``attune`` does alike: options, one line on stderr for an error, the exit code, signals.

Used by ``cli.py`` and by the commands in ``bench``.
"""

import asyncio
import json
import math
import signal
from collections.abc import Coroutine
from typing import Annotated, Any, NoReturn

import typer

Check = Annotated[bool, typer.Option("--check", help="Print the settings and stop.")]
Url = Annotated[str | None, typer.Option(help="A running server; without it one is started and stopped.")]
JsonOutput = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def fail(message: object, code: int = 1) -> NoReturn:
    """Print one line on stderr and exit."""
    typer.echo(f"attune: {message}", err=True)
    raise typer.Exit(code)


def show(settings: dict[str, Any]) -> None:
    """Print the settings of each process as one JSON object, secrets hidden."""
    typer.echo(json.dumps({name: one.model_dump(mode="json") for name, one in settings.items()}, indent=2))


def finite(value: float) -> float:
    """Refuse what is no number: not-a-number passes every comparison with a bound."""
    if not math.isfinite(value):
        raise typer.BadParameter(f"{value} is no length of time")
    return value


def run(work: Coroutine[Any, Any, int]) -> NoReturn:
    """Run a coroutine and exit with the code it returns; SIGTERM cancels it as Ctrl-C does, so that it can end well."""
    try:
        raise typer.Exit(asyncio.run(_until_told(work)))
    except KeyboardInterrupt:
        raise typer.Exit(130) from None


async def _until_told(work: Coroutine[Any, Any, int]) -> int:
    task, told = asyncio.ensure_future(work), asyncio.Event()

    def on_signal() -> None:
        told.set()
        task.cancel()

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, on_signal)
    try:
        return await task
    except asyncio.CancelledError:
        if not told.is_set():
            raise
        return 128 + signal.SIGTERM

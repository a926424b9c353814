"""Starts the batching servers of the benchmark, each in a process and, if it is a rival, an environment of its own.

A kind of server in, its port out. Called by batching.py.
"""

import asyncio
import os
import shutil
import signal
import socket
import sys
import sysconfig
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import IO

OURS = "attune"
RIVALS = ("litserve", "ray", "triton")
ROOT = Path(__file__).parents[1]
ENVIRONMENTS = Path(".attune/rivals")
LOGS = Path(".attune/logs")
STOP_S = 20.0
NOTHING: Mapping[str, str] = MappingProxyType({})


class CannotMeasure(Exception):
    """A server or its environment could not be made, or answered nothing."""


def free_ports(count: int) -> int:
    """Return the first of ``count`` neighbouring loopback ports that nothing listens on now."""
    for first in range(20_000, 30_000, count):
        with suppress(OSError):
            for port in range(first, first + count):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", port))
            return first
    raise CannotMeasure("no free ports")


async def environment_of(rival: str) -> Path:
    """Return the Python of a rival's environment, which is made when there is none yet or its versions have changed.

    CannotMeasure when they cannot be installed.
    """
    wanted = ROOT / "bench" / "rivals" / f"{rival}.txt"
    home = (ENVIRONMENTS / rival).absolute()
    installed, python = home / "installed.txt", home / "bin" / "python"
    if not installed.exists() or installed.read_text() != wanted.read_text():
        sys.stderr.write(f"installing {rival} in {home} …\n")
        await _do(sys.executable, "-m", "venv", "--clear", str(home))
        await _do(str(python), "-m", "pip", "install", "--quiet", "--requirement", str(wanted))
        await asyncio.to_thread(shutil.copy, wanted, installed)
    return python


async def _do(*argv: str) -> None:
    process = await asyncio.create_subprocess_exec(*argv)
    if await process.wait():
        raise CannotMeasure(f"{' '.join(argv)} ended with {process.returncode}")


def _variables(kind: str, environment: Path | None) -> dict[str, str]:
    libraries = f"{sysconfig.get_config_var('LIBDIR')}:{os.environ.get('LD_LIBRARY_PATH', '')}"
    added = {
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep),
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    if environment is not None:
        added["PYTHONPATH"] = str(ROOT)
        added["PATH"] = f"{environment.parent}:{os.environ.get('PATH', '')}"
    if kind == "triton":  # its stub process finds the interpreter's library there and nowhere else
        added["LD_LIBRARY_PATH"] = libraries.rstrip(":")
    return {**os.environ, **added}


@asynccontextmanager
async def open_target(kind: str) -> AsyncGenerator[int, None]:
    """Start a batching server and yield its port, perhaps before it listens."""
    module = "bench.batch_server" if kind == OURS else f"bench.rivals.{kind}_server"
    async with open_process(kind, module) as port:
        yield port


@asynccontextmanager
async def open_process(
    kind: str, module: str, *arguments: str, variables: Mapping[str, str] = NOTHING
) -> AsyncGenerator[int, None]:
    """Run a module with a port of its own and yield that; its whole process group ends with the body.

    A rival runs in its own environment. The next two ports are the module's as well.
    """
    environment = await environment_of(kind) if kind in RIVALS else None
    port = free_ports(3)
    with _log_of(kind) as log:
        process = await asyncio.create_subprocess_exec(
            str(environment or sys.executable),
            *("-m", module, *arguments, str(port)),
            env={**_variables(kind, environment), **variables},
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        yield port
    finally:
        await _stop(process)


def _log_of(kind: str) -> IO[bytes]:
    LOGS.mkdir(parents=True, exist_ok=True)
    return (LOGS / f"bench-{kind}.log").open("wb")


async def _stop(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        process.terminate()
    with suppress(TimeoutError):
        async with asyncio.timeout(STOP_S):
            await process.wait()
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()

"""Decoding in processes that may die."""

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from services.common.errors import InvalidInput, Overloaded
from services.inference.processes import Processes
from tests.running import eventually


def double(number: int) -> int:
    """Return twice the number."""
    return 2 * number


def die() -> None:
    """End the process as a broken codec does."""
    os._exit(1)


def refuse() -> None:
    """Raise an error of ours."""
    raise InvalidInput("bad file", param="audio")


async def test_work_is_done_elsewhere():
    """A result comes back from another process, an error of ours as itself."""
    async with Processes("p", count=1, queue_size=1, timeout_s=30) as processes:
        assert await processes.run(double, 21) == 42
        assert await processes.run(os.getpid) != os.getpid()
        with pytest.raises(InvalidInput) as caught:
            await processes.run(refuse)
        assert (caught.value.message, caught.value.param) == ("bad file", "audio")


async def test_a_file_that_kills_its_decoder_is_invalid_and_the_next_one_works():
    """The process that died is replaced."""
    async with Processes("p", count=1, queue_size=1, timeout_s=30) as processes:
        with pytest.raises(InvalidInput):
            await processes.run(die)
        assert await processes.run(double, 4) == 8


async def test_a_file_that_takes_too_long_is_invalid_and_the_next_one_works():
    """The process that hangs is ended."""
    async with Processes("p", count=1, queue_size=1, timeout_s=30) as processes:
        await processes.warm_up(double, 1)
        processes._timeout_s = 0.2
        with pytest.raises(InvalidInput, match="longer"):
            await processes.run(time.sleep, 60)
        processes._timeout_s = 30
        assert await processes.run(double, 5) == 10


async def test_no_room_is_overloaded():
    """With no place to wait, a file is refused at once."""
    async with Processes("p", count=1, queue_size=-1, timeout_s=30) as processes:
        with pytest.raises(Overloaded):
            await processes.run(double, 1)


SERVICE = """
import asyncio, os
from services.inference.processes import Processes

async def main():
    async with Processes("p", count=1, queue_size=0, timeout_s=30) as processes:
        print(await processes.run(os.getpid), flush=True)
        await asyncio.sleep(60)

if __name__ == "__main__":
    asyncio.run(main())
"""


def test_no_process_outlives_its_service(tmp_path: Path):
    """Kill -9 of the service ends its decoders too."""
    script = tmp_path / "service.py"
    script.write_text(SERVICE)
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as service:
        assert service.stdout is not None
        decoder = int(service.stdout.readline())
        assert psutil.pid_exists(decoder)
        service.kill()
    asyncio.run(eventually(lambda: not psutil.pid_exists(decoder)))

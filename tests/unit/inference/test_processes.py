"""Decoding in processes that may die."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from services.common.errors import InvalidInput, Overloaded, Unavailable
from services.inference.processes import Processes
from tests.running import eventually


def double(number: int) -> int:
    """Return twice the number."""
    return 2 * number


def die(tries: Path, deadly: int) -> str:
    """End the process, as a broken codec or the kernel does, the first ``deadly`` times."""
    with tries.open("a") as file:
        file.write("x")
    if len(tries.read_text()) <= deadly:
        os._exit(1)
    return "done"


def hold_still() -> None:
    """Stop the process, as a debugger does."""
    os.kill(os.getpid(), signal.SIGSTOP)


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


async def test_a_file_that_kills_two_decoders_is_invalid_and_the_next_one_works(tmp_path: Path):
    """The processes that died are replaced, and the file is not tried a third time."""
    async with Processes("p", count=1, queue_size=1, timeout_s=30) as processes:
        with pytest.raises(InvalidInput, match="fail"):
            await processes.run(die, tmp_path / "tries", 9)
        assert (tmp_path / "tries").read_text() == "xx"
        assert await processes.run(double, 4) == 8


async def test_a_decoder_that_something_else_killed_is_not_blamed_on_the_file(tmp_path: Path):
    """A file whose process died once is decoded by the next."""
    async with Processes("p", count=1, queue_size=1, timeout_s=30) as processes:
        assert await processes.run(die, tmp_path / "tries", 1) == "done"


async def test_the_end_lets_no_file_start_again(tmp_path: Path):
    """A file that is being decoded at the end is told so; no process is started for it."""
    async with Processes("p", count=1, queue_size=1, timeout_s=30) as processes:
        await processes.warm_up(double, 1)
        waiting = asyncio.create_task(processes.run(time.sleep, 60))
        await asyncio.sleep(0)
    with pytest.raises(Unavailable):
        await waiting
    commands = [" ".join(child.cmdline()) for child in psutil.Process().children()]
    assert [command for command in commands if "spawn_main" in command] == []


async def test_a_file_that_takes_too_long_is_invalid_and_the_next_one_works():
    """The process that hangs is ended."""
    async with Processes("p", count=1, queue_size=1, timeout_s=30) as processes:
        await processes.warm_up(double, 1)
        processes._timeout_s = 0.2
        with pytest.raises(InvalidInput, match="longer"):
            await processes.run(time.sleep, 60)
        processes._timeout_s = 30
        assert await processes.run(double, 5) == 10


async def test_a_decoder_that_is_stopped_is_replaced():
    """A process that hears no signal but SIGKILL is ended all the same, and its file is not tried again."""
    async with Processes("p", count=1, queue_size=1, timeout_s=30) as processes:
        await processes.warm_up(double, 1)
        processes._timeout_s = 0.2
        with pytest.raises(InvalidInput, match="longer"):
            await processes.run(hold_still)
        processes._timeout_s = 30
        assert await processes.run(double, 6) == 12


class Holders:
    """Counts who has entered and not left."""

    def __init__(self):
        self.now, self.entered = 0, 0

    def __enter__(self):
        self.now += 1
        self.entered += 1

    def __exit__(self, *_: object):
        self.now -= 1


def wait_for(gate: Path) -> None:
    """Return once there is a file."""
    while not gate.exists():
        time.sleep(0.01)


async def test_what_a_job_uses_is_held_until_no_process_is_at_it(tmp_path: Path):
    """A caller that leaves does not end the job, so what the job writes into is not given to others before its end."""
    holders, queued = Holders(), Holders()
    async with Processes("p", count=1, queue_size=1, timeout_s=30) as processes:
        running = asyncio.create_task(processes.run(wait_for, tmp_path / "gate", using=holders))
        waiting = asyncio.create_task(processes.run(double, 1, using=queued))
        await eventually(lambda: holders.now == 1)
        for caller in (running, waiting):
            caller.cancel()
        await asyncio.gather(running, waiting, return_exceptions=True)
        assert (holders.now, queued.entered) == (1, 0)
        (tmp_path / "gate").touch()
        await eventually(lambda: holders.now == 0)
        with pytest.raises(InvalidInput):
            await processes.run(die, tmp_path / "tries", 9, using=holders)
        assert (holders.now, holders.entered) == (0, 3)


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


@pytest.mark.parametrize("stopped", [False, True])
def test_no_process_outlives_its_service(tmp_path: Path, stopped: bool):
    """Kill -9 of the service ends its decoders too, even one that is stopped."""
    script = tmp_path / "service.py"
    script.write_text(SERVICE)
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as service:
        assert service.stdout is not None
        decoder = int(service.stdout.readline())
        assert psutil.pid_exists(decoder)
        if stopped:
            os.kill(decoder, signal.SIGSTOP)
        service.kill()
    asyncio.run(eventually(lambda: not psutil.pid_exists(decoder)))

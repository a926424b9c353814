"""Memory shared with processes that may die."""

import asyncio
import mmap
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import psutil
import pytest

from services.common.errors import InvalidInput
from services.inference.arena import Arena, arena_here
from services.inference.processes import Processes
from tests.running import eventually


def fill(slot: int, value: int) -> int:
    """Write a value all over a slot of this process's arena; return the process."""
    arena = arena_here()
    arena.array(slot, (arena.slot_bytes,))[:] = value
    return os.getpid()


def fill_half_and_die(slot: int) -> None:
    """Write half of a slot and end as SIGKILL does."""
    arena_here().array(slot, (10,))[:] = 9
    os._exit(1)


async def test_what_a_process_writes_is_read_here():
    """Each process opens the arena when it starts, the one that replaces a dead one as well."""
    with Arena(3, 100) as arena:
        async with Processes("p", count=2, queue_size=4, timeout_s=30, arena=arena) as processes:
            await asyncio.gather(*(processes.run(fill, slot, slot + 1) for slot in range(3)))
            assert [int(arena.array(slot, (arena.slot_bytes,)).min()) for slot in range(3)] == [1, 2, 3]
            with pytest.raises(InvalidInput):
                await processes.run(fill_half_and_die, 1)
            assert arena.array(1, (11,)).tolist() == [9] * 10 + [2]
            for _ in range(4):
                await processes.run(fill, 1, 7)
            assert set(arena.array(1, (arena.slot_bytes,)).tolist()) == {7}


def test_slots_do_not_overlap():
    """A slot is as many whole pages as it needs, and an array that does not fit is refused."""
    with Arena(2, mmap.PAGESIZE + 1) as arena:
        assert arena.slot_bytes == 2 * mmap.PAGESIZE
        arena.array(0, (2, mmap.PAGESIZE))[:] = 1
        assert arena.array(1, (arena.slot_bytes,)).max() == 0
        assert np.count_nonzero(arena.all_bytes) == arena.slot_bytes
        with pytest.raises(TypeError):
            arena.array(0, (arena.slot_bytes + 1,))


def test_it_is_handed_to_new_processes_only():
    """Pickled elsewhere it would be a number that means nothing."""
    with Arena(1, 1) as arena, pytest.raises(RuntimeError, match="inheritance"):
        pickle.dumps(arena)


def test_arrays_outlive_the_arena():
    """Closing takes no memory away from whoever still reads it."""
    with Arena(1, 4) as arena:
        pixels = arena.array(0, (4,))
        pixels[:] = 5
    del arena
    assert pixels.tolist() == [5] * 4


SERVICE = """
import asyncio
from services.inference.arena import Arena
from services.inference.processes import Processes
from tests.unit.inference.test_arena import fill

async def main():
    with Arena(4, 1_000_000) as arena:
        async with Processes("p", count=1, queue_size=0, timeout_s=30, arena=arena) as processes:
            print(await processes.run(fill, 0, 1), flush=True)
            await asyncio.to_thread(input)

if __name__ == "__main__":
    asyncio.run(main())
"""


def shared_files(process: int) -> set[str]:
    """Return the names of what a process has mapped, as far as they are of shared memory."""
    lines = Path(f"/proc/{process}/maps").read_text().splitlines()
    return {line.split(maxsplit=5)[5] for line in lines if "attune-slots" in line}


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("killed", [False, True])
def test_nothing_is_left_over(tmp_path: Path, killed: bool):
    """The memory has no name to be found by; however the service ends, nobody holds it then, and nobody complains."""
    script = tmp_path / "service.py"
    script.write_text(SERVICE)
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-W", "error", str(script)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env
    ) as service:
        assert service.stdin is not None
        assert service.stdout is not None
        decoder = int(service.stdout.readline())
        for process in (service.pid, decoder):
            assert shared_files(process) == {"/memfd:attune-slots (deleted)"}
        if killed:
            service.kill()
        _, errors = service.communicate("end\n")
    assert errors == ""
    assert service.returncode == (-9 if killed else 0)
    asyncio.run(eventually(lambda: not psutil.pid_exists(decoder)))

"""The control for loop stalls: an idle event loop that sleeps 10 ms at a time, in a process of its own.

live.py runs it beside a session: what this machine does to any loop is not the server's doing. Sleeps until standard
input closes, then prints the P99 of how late it woke, in seconds.
"""

import asyncio
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from bench.measure import percentile

SLEEP_S = 0.01


async def lateness(until: "asyncio.Future[object]") -> list[float]:
    """Return how late each 10 ms sleep ended, in seconds, until ``until`` is done."""
    late_s = []
    while not until.done():
        due_s = time.perf_counter() + SLEEP_S
        await asyncio.sleep(SLEEP_S)
        late_s.append(max(0.0, time.perf_counter() - due_s))
    return late_s


async def _main() -> None:
    late_s = await lateness(asyncio.ensure_future(asyncio.to_thread(sys.stdin.read)))
    sys.stdout.write(f"{percentile(late_s, 99)}\n")


class Control:
    """A running sleeper; ``stop`` ends it and returns what it saw."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def stop(self) -> float:
        """Return the P99 of its lateness in seconds."""
        answer, _ = await self._process.communicate(b"")  # also closes its input
        return float(answer)


@asynccontextmanager
async def control_sleeper() -> AsyncGenerator[Control, None]:
    """Run a sleeper beside the body."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "bench.sleeper", stdin=pipe, stdout=pipe)
    try:
        yield Control(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


if __name__ == "__main__":
    asyncio.run(_main())

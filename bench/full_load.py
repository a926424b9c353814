"""``/livez`` while the server is as full as it lets itself be, and ten-minute files come on top, one after the other.

Called by service.py with a server of real models. Sessions of real speech are added until one is refused; then a probe
in a process of its own asks ``/livez`` twenty times a second.
"""

import asyncio
import json
import subprocess
import sys
import time
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from itertools import count
from urllib.parse import urlsplit

from attune_client import Attune, AttuneError, connect
from attune_client.session import Session
from bench.measure import Target, gauge, percentile
from bench.speech import clip_wav, read_two_cities

MOST_SESSIONS = 60
EVERY_S = 4.0  # between sessions
REFUSALS = 2  # in a row, each after the time that the one before asked for: then it is full
LONGEST_WAIT_S = 10.0
SETTLE_S = 12.0  # until those who came last are measured
PROBE_S = 60.0
PROBE_EVERY_S = 0.05
FILE_S = 600
FRAME_S = 0.05
FRAME_BYTES = int(FRAME_S * 32_000)


@dataclass
class Load:
    """The sessions that run, and what refused the next one."""

    sessions: int = 0
    retry_after_s: float | None = None
    uploads: int = 0
    failed: list[AttuneError] = field(default_factory=list)


async def run(target: Target) -> dict[str, float | None]:
    """Return how many sessions were let in, their lag, and the times of ``/livez`` meanwhile."""
    speech = (await asyncio.to_thread(read_two_cities)).pcm
    load = Load()
    async with AsyncExitStack() as stack, asyncio.TaskGroup() as group:
        talkers = await _fill(stack, group, target.url, speech, load)
        await asyncio.sleep(SETTLE_S)
        upload = group.create_task(_upload(target.url, speech, load))
        times = await _probe(target.url)
        lag_s = await _lag_s(target)
        for task in (*talkers, upload):
            task.cancel()
    return {
        "sessions_admitted": load.sessions,
        "next_retry_after_s": load.retry_after_s,
        "sessions_or_uploads_failed": len(load.failed),
        "live_lag_p95_s": lag_s,
        "uploads_begun": load.uploads,
        "livez_p50_ms": percentile(times, 50),
        "livez_p99_ms": percentile(times, 99),
    }


async def _fill(
    stack: AsyncExitStack, group: asyncio.TaskGroup, url: str, speech: bytes, load: Load
) -> list[asyncio.Task[None]]:
    """Add sessions until one is refused; return the tasks that keep them going."""
    tasks: list[asyncio.Task[None]] = []
    refusals = 0
    while load.sessions < MOST_SESSIONS and refusals < REFUSALS:
        try:
            session = await stack.enter_async_context(connect(url))
        except AttuneError as refusal:
            if refusal.code != "overloaded":
                raise
            refusals, load.retry_after_s = refusals + 1, refusal.retry_after_s
            await asyncio.sleep(min(LONGEST_WAIT_S, load.retry_after_s or LONGEST_WAIT_S))
            continue
        refusals = 0
        load.sessions += 1
        tasks += [group.create_task(_talk(session, speech, load)), group.create_task(_listen(session))]
        await asyncio.sleep(EVERY_S)
    return tasks


async def _talk(session: Session, pcm: bytes, load: Load) -> None:
    """Say the speech again and again in real time."""
    started_s = time.monotonic()
    try:
        for number in count():
            at = number * FRAME_BYTES % (len(pcm) - FRAME_BYTES)
            await session.send_audio(pcm[at : at + FRAME_BYTES])
            await asyncio.sleep(max(0.0, started_s + (number + 1) * FRAME_S - time.monotonic()))
    except AttuneError as error:
        load.failed.append(error)


async def _listen(session: Session) -> None:
    with suppress(AttuneError):  # the talker learns of it too
        async for _ in session:
            pass


async def _upload(url: str, pcm: bytes, load: Load) -> None:
    repeats = FILE_S * 32_000 // len(pcm) + 1
    audio = await asyncio.to_thread(clip_wav, pcm * repeats, FILE_S * 1_000_000)
    try:
        async with Attune(url, timeout_s=FILE_S) as client:
            while True:
                load.uploads += 1
                await client.align(audio=audio, images=[])
    except AttuneError as error:
        load.failed.append(error)


async def _probe(url: str) -> list[float]:
    """Return the milliseconds of each request; the probe's own process does nothing else."""
    argv = (sys.executable, "-m", "bench.full_load", urlsplit(url).netloc)
    process = await asyncio.create_subprocess_exec(*argv, stdout=subprocess.PIPE)
    said, _ = await process.communicate()
    times: list[float] = json.loads(said)
    return times


async def _lag_s(target: Target) -> float | None:
    async with Attune(target.metrics_of("asr")) as client:
        return gauge(await client.metrics(), "attune_live_lag_seconds")


def probe(address: str) -> list[float]:
    """Ask ``/livez`` over one connection for a minute; blocks."""
    import http.client

    connection = http.client.HTTPConnection(address, timeout=30)
    times = []
    end_s = time.perf_counter() + PROBE_S
    while (started_s := time.perf_counter()) < end_s:
        connection.request("GET", "/livez")
        connection.getresponse().read()
        taken_s = time.perf_counter() - started_s
        times.append(round(taken_s * 1e3, 3))
        time.sleep(max(0.0, PROBE_EVERY_S - taken_s))
    return times


if __name__ == "__main__":
    sys.stdout.write(json.dumps(probe(sys.argv[1])))

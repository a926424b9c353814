"""``attune bench live``: one session of real speech in real time, a photograph every 5 s; how late things come.

Comes from the command line with a running server; returns figures for report.py.
"""

import asyncio
from collections.abc import Sequence
from itertools import cycle

from attune_client import Attune, AttuneError
from attune_client.events import Alignment, Committed, Partial
from attune_client.media import duration_us
from bench.lag import captions, word_lags
from bench.measure import Target, gauge, in_ms, percentile, tree_cpu_s, tree_pss_mb, word_error_rate
from bench.recording import Arrival, Recording, record
from bench.report import Bar
from bench.sleeper import control_sleeper
from bench.speech import Speech, read_two_cities
from bench.tour import Picture, read_tour

PICTURE_EVERY_US = 5_000_000
LOOP_STALL_METRIC = "attune_loop_stall_p99_seconds"

BARS = (
    Bar("word_lag_p95_ms", "<=", 2500),
    Bar("first_partial_ms", "<=", 1500),
    Bar("align_delay_p95_ms", "<=", 500),
    Bar("loop_stall_p99_ms", "<=", 20, above="control_stall_p99_ms"),
    Bar("pss_mb", "<=", 2500),
)


async def run(target: Target) -> dict[str, float | None]:
    """Return lags, delays, stalls and memory of one session; memory and CPU need the target's ``pid``."""
    speech = await asyncio.to_thread(read_two_cities)
    tour = await asyncio.to_thread(read_tour)
    cpu_before_s = tree_cpu_s(target.pid) if target.pid else None
    async with control_sleeper() as control:
        recording = await record(target.url, speech.pcm, repeated(tour.pictures, duration_us(speech.pcm)))
        stalled = await stalls(target.url) | {"control_stall_p99_ms": round(await control.stop() * 1000, 2)}
    return (
        figures(speech, recording)
        | stalled
        | await asyncio.to_thread(_cost, target.pid, cpu_before_s, duration_us(speech.pcm))
    )


def repeated(pictures: Sequence[Picture], until_us: int) -> list[Picture]:
    """Return the pictures in turn, one every 5 s."""
    times = range(0, until_us, PICTURE_EVERY_US)
    return [Picture(picture.file, at_us, picture.data) for at_us, picture in zip(times, cycle(pictures), strict=False)]


def figures(speech: Speech, recording: Recording) -> dict[str, float | None]:
    """Return what a recorded session shows by itself."""
    lags = word_lags(list(captions(recording.arrivals)), speech.words)
    settled, committed = [lag.settled_us for lag in lags], [lag.committed_us for lag in lags]
    delays = align_delays_us(recording.arrivals)
    return {
        "word_lag_p50_ms": in_ms(percentile(settled, 50)),
        "word_lag_p95_ms": in_ms(percentile(settled, 95)),
        "commit_lag_p50_ms": in_ms(percentile(committed, 50)),
        "commit_lag_p95_ms": in_ms(percentile(committed, 95)),
        "words_measured": len(lags),
        "words_spoken": len(speech.words),
        "wer": word_error_rate(speech.text, recording.text),
        "first_partial_ms": in_ms(first_words_us(recording.arrivals, speech.start_us)),
        "phrases": len(delays),
        "align_delay_p50_ms": in_ms(percentile(delays, 50)),
        "align_delay_p95_ms": in_ms(percentile(delays, 95)),
    }


def first_words_us(arrivals: Sequence[Arrival], speech_start_us: int) -> int | None:
    """Return how long after speech began the first words came, certain or not; None when none came."""
    came_us = next((arrival.at_us for arrival in arrivals if _has_words(arrival, speech_start_us)), None)
    return None if came_us is None else came_us - speech_start_us


def _has_words(arrival: Arrival, since_us: int) -> bool:
    event = arrival.event
    return arrival.at_us >= since_us and isinstance(event, Partial | Committed) and bool(event.words)


def align_delays_us(arrivals: Sequence[Arrival]) -> list[int]:
    """Return per phrase how long after the commit of its last word its first alignment came."""
    committed_us: dict[int | None, int] = {}
    delays: dict[tuple[int, ...], int] = {}
    for arrival in arrivals:
        match arrival.event:
            case Committed(words):
                committed_us |= {word.id: arrival.at_us for word in words}
            case Alignment(word_ids):
                delays.setdefault(word_ids, arrival.at_us - committed_us[word_ids[-1]])
    return list(delays.values())


async def stalls(url: str) -> dict[str, float | None]:
    """Return what the server's own metrics say of its event loop; None where they do not name it."""
    async with Attune(url) as client:
        metrics = await client.metrics()
    try:
        stall_s = gauge(metrics, LOOP_STALL_METRIC)
    except (ValueError, IndexError) as error:
        raise AttuneError("bad_answer", f"the server's metrics cannot be read: {error}") from error
    return {"loop_stall_p99_ms": None if stall_s is None else round(stall_s * 1000, 2)}


def _cost(pid: int | None, cpu_before_s: float | None, audio_us: int) -> dict[str, float | None]:
    if pid is None or cpu_before_s is None:
        return {"pss_mb": None, "cpu_per_audio": None}
    spent_s = tree_cpu_s(pid) - cpu_before_s
    return {"pss_mb": tree_pss_mb(pid), "cpu_per_audio": round(spent_s / audio_us * 1e6, 3)}

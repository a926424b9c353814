"""``attune bench rest``: 10 s of speech and 3 images, 20 requests one after the other; where their time goes.

Comes from the command line with a running server; returns figures for report.py.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from attune_client import AlignmentResult, Attune, AttuneError
from attune_client.decode import from_json
from bench.measure import Target, in_ms, percentile
from bench.report import Bar
from bench.speech import SHORT_CLIP_US, clip_wav, read_two_cities
from bench.tour import Picture, read_tour

REQUESTS = 20
IMAGES = 3
IMAGE_EVERY_US = 3_000_000
TIMEOUT_S = 60.0

BARS = (Bar("total_over_stages", "<=", 1.15),)


@dataclass(frozen=True, slots=True)
class Timing:
    """One request in microseconds: as the caller saw it, and as the server saw its stages."""

    total_us: int
    asr_us: int
    vision_us: int
    align_us: int

    @property
    def stages_us(self) -> int:
        """What the request cannot do without: the slower of hearing and seeing, then joining."""
        return max(self.asr_us, self.vision_us) + self.align_us


async def run(target: Target) -> dict[str, float | None]:
    """Return end-to-end and per-stage percentiles, and what the way between the stages adds."""
    speech = await asyncio.to_thread(read_two_cities)
    tour = await asyncio.to_thread(read_tour)
    clip = clip_wav(speech.pcm, SHORT_CLIP_US)
    async with Attune(target.url, timeout_s=TIMEOUT_S) as client:
        return figures([await _timed(client, clip, tour.pictures[:IMAGES]) for _ in range(REQUESTS)])


async def _timed(client: Attune, clip: bytes, pictures: Sequence[Picture]) -> Timing:
    images = [(picture.data, at * IMAGE_EVERY_US) for at, picture in enumerate(pictures)]
    started_ns = time.monotonic_ns()
    result = await client.align(audio=clip, images=images, language="en")
    return timing_of(result, (time.monotonic_ns() - started_ns) // 1000)


def timing_of(result: AlignmentResult, total_us: int) -> Timing:
    """Return the timing of an answer; AttuneError when a stage was left out, which would be measured as fast."""
    if result.degraded:
        left_out = ", ".join(map(str, result.degraded))
        raise AttuneError("unavailable", f"the server answered without {left_out}", retryable=True)
    try:
        return replace(from_json(Timing, result.timing), total_us=total_us)
    except ValueError as error:
        raise AttuneError("bad_answer", f"the server's timing cannot be read: {error}") from error


def figures(timings: Sequence[Timing]) -> dict[str, float | None]:
    """Return the figures of some requests; ``total_over_stages`` is P95 over P95."""
    totals, stages = [timing.total_us for timing in timings], [timing.stages_us for timing in timings]
    total_p95, stages_p95 = percentile(totals, 95), percentile(stages, 95)
    return {
        "requests": len(timings),
        "total_p50_ms": in_ms(percentile(totals, 50)),
        "total_p95_ms": in_ms(total_p95),
        "asr_p95_ms": in_ms(percentile([timing.asr_us for timing in timings], 95)),
        "vision_p95_ms": in_ms(percentile([timing.vision_us for timing in timings], 95)),
        "align_p95_ms": in_ms(percentile([timing.align_us for timing in timings], 95)),
        "stages_p95_ms": in_ms(stages_p95),
        "total_over_stages": round(total_p95 / stages_p95, 3) if total_p95 and stages_p95 else None,
    }

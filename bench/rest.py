"""``attune bench rest``: 10 s of speech and 3 images, 20 requests one after the other; where their time goes.

Comes from the command line with a running server; returns figures for report.py.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx

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
    form = Form(clip_wav(speech.pcm, SHORT_CLIP_US), tour.pictures[:IMAGES])
    async with httpx.AsyncClient(base_url=target.url, timeout=TIMEOUT_S) as http:
        return figures([await _timed(http, form) for _ in range(REQUESTS)])


@dataclass(frozen=True, slots=True)
class Form:
    """What each request sends: a WAV file and pictures, shown one every 3 s."""

    audio: bytes
    pictures: Sequence[Picture]

    def parts(self) -> dict[str, Any]:
        """Return the multipart form."""
        times = [str(at * IMAGE_EVERY_US) for at in range(len(self.pictures))]
        files = [("images", (picture.file, picture.data)) for picture in self.pictures]
        return {
            "data": {"images_pts_us": times, "language": "en"},
            "files": [("audio", ("speech.wav", self.audio)), *files],
        }


async def _timed(http: httpx.AsyncClient, form: Form) -> Timing:
    started_ns = time.monotonic_ns()
    answer = await http.post("/v1/alignments", **form.parts())
    total_us = (time.monotonic_ns() - started_ns) // 1000
    return timing_of(answer.raise_for_status().json(), total_us)


def timing_of(answer: Mapping[str, Any], total_us: int) -> Timing:
    """Return the timing of an answer; ValueError when a stage was left out, which would be measured as fast."""
    if answer["degraded"]:
        raise ValueError(f"the server answered without {', '.join(answer['degraded'])}")
    stages = answer["timing"]
    return Timing(total_us, stages["asr_us"], stages["vision_us"], stages["align_us"])


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

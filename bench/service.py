"""``attune bench service``: what the service around the models costs, and whether it bears load, deaths and time.

Comes from the command line with a way to start servers; returns figures for report.py. Each part is a
module of its own.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Literal, TypeAlias

from bench import ageing, deaths, full_load, hop
from bench.measure import Target
from bench.report import Bar

Part: TypeAlias = Literal["hop", "ageing", "load", "deaths"]
Start: TypeAlias = Callable[[Mapping[str, str]], AbstractAsyncContextManager[Target]]

# Many clients die at once, and those whose end shows late only by a ping are not what is counted.
METERED = {"ATTUNE_UP_SERVICE_METRICS": "true", "ATTUNE_GATEWAY_PING_INTERVAL_S": "5"}

BARS: dict[Part, tuple[Bar, ...]] = {
    "hop": (Bar("gateway_over_plain", "<=", 1.6),),
    "ageing": (Bar("session_minute_60_over_1", "<=", 1.01), Bar("append_minute_60_over_1", "<=", 1.2)),
    "load": (
        Bar("livez_p99_ms", "<=", 50),
        Bar("live_lag_p95_s", "<=", 2),
        Bar("sessions_or_uploads_failed", "=", 0),
    ),
    "deaths": (Bar("rss_after_over_before", "<=", 1.03), Bar("slots_in_use_after", "=", 0)),
}
RIVAL_BARS = (Bar("gateway_over_ray_grpc", "<=", 0.35),)


@dataclass(frozen=True, slots=True)
class ServiceRun:
    """Which parts to measure, and how much of each."""

    parts: Sequence[Part]
    rivals: bool = False
    repeats: int = 3
    deaths: int = 500

    @property
    def bars(self) -> list[Bar]:
        """Return the bars of the parts that are measured."""
        bars = [bar for part in self.parts for bar in BARS[part]]
        return [*bars, *(RIVAL_BARS if self.rivals and "hop" in self.parts else ())]


async def run(settings: ServiceRun, start: Start) -> dict[str, float | None]:
    """Return the figures of all parts; ``start`` opens a server with some settings."""
    figures: dict[str, float | None] = {}
    if "ageing" in settings.parts:
        figures |= await ageing.run()
    if "hop" in settings.parts:
        figures |= await hop.run(rivals=settings.rivals, repeats=settings.repeats)
    if "deaths" in settings.parts:
        async with start(METERED) as target:
            figures |= await deaths.run(target, settings.deaths)
    if "load" in settings.parts:
        async with start(METERED) as target:
            figures |= await full_load.run(target)
    return figures

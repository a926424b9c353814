"""Counts what a batcher does. The Batcher calls it after each batch and for each request that is not run."""

from dataclasses import dataclass, field

from services.common.metrics import (
    BATCH_EMPTY_WINDOWS,
    BATCH_NOT_RUN,
    BATCH_PADDING_RATIO,
    BATCH_PASSTHROUGH,
    BATCH_POISON,
    BATCH_SIZE,
    BATCH_WAIT_SECONDS,
)
from services.inference.lanes import Batch, Item


class _LaneMetrics:
    """The series of one lane, looked up once: a look-up costs more than the observation."""

    def __init__(self, batcher: str, lane: str) -> None:
        self.size = BATCH_SIZE.labels(batcher, lane)
        self.wait = BATCH_WAIT_SECONDS.labels(batcher, lane)
        self.padding = BATCH_PADDING_RATIO.labels(batcher, lane)


@dataclass
class BatchMetrics:
    """The series of one batcher."""

    name: str
    _lanes: tuple[_LaneMetrics, _LaneMetrics] = field(init=False)

    def __post_init__(self) -> None:
        self._lanes = (_LaneMetrics(self.name, "short"), _LaneMetrics(self.name, "long"))
        self._passthrough = BATCH_PASSTHROUGH.labels(self.name)
        self._empty_windows = BATCH_EMPTY_WINDOWS.labels(self.name)
        self._poison = BATCH_POISON.labels(self.name)
        self._not_run = {why: BATCH_NOT_RUN.labels(self.name, why) for why in ("overloaded", "deadline", "left")}

    def ran(self, batch: Batch[Item], empty_window_share: float) -> None:
        """Count a batch that ran."""
        lane = self._lanes[batch.long]
        lane.size.observe(batch.shape.count)
        lane.padding.observe(batch.shape.padding)
        for ticket in batch.tickets:
            lane.wait.observe(batch.started - ticket.arrived)
        if batch.passed:
            self._passthrough.inc()
        self._empty_windows.set(empty_window_share)

    def poisoned(self) -> None:
        """Count a request that failed its batch by itself."""
        self._poison.inc()

    def not_run(self, why: str) -> None:
        """Count a request that was refused, expired or left before it was computed."""
        self._not_run[why].inc()

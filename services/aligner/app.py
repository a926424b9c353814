"""Opens the aligner: checks and loads the weights, then yields the port. `attune serve` and the tests use it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import numpy as np

from services.aligner.engine import PhraseAligner
from services.aligner.models.fake import FakeScorer
from services.aligner.reading import batch_settings, moved_bytes
from services.aligner.scorer import Scorer
from services.aligner.settings import AlignerSettings
from services.common.ports import Aligner
from services.common.types import RegionTokens
from services.inference.batching import Batcher
from services.inference.imagenet import COUNT, SPACE
from services.inference.place import place_of
from services.inference.turns import Turns
from services.inference.worker import Workers


@asynccontextmanager
async def open_aligner(settings: AlignerSettings, turns: Turns | None = None) -> AsyncGenerator[Aligner, None]:
    """Yield the aligner when it is ready: weights checked and loaded, class names embedded, one phrase scored.

    On CPU phrases are read in ``turns`` with the other services of the process; comparing takes few milliseconds and
    none.

    FileNotFoundError or ValueError when the weights are missing or not the ones expected.
    """
    async with Workers("aligner", settings.workers, settings.queue_size) as workers:
        scorer = (await workers.run(lambda: _scorer(settings))).value
        batches = batch_settings(settings.workers, settings.queue_size)
        place = place_of(turns if _on_cpu(settings) else None, "aligner.read", moved_bytes)
        async with Batcher("aligner.read", batches, scorer.read, gate=place) as batcher:
            yield PhraseAligner(scorer, batcher, workers, settings)


def _on_cpu(settings: AlignerSettings) -> bool:
    if settings.model == "fake":
        return True
    from services.inference.device import pick_device

    return pick_device(settings.device).type == "cpu"  # on CUDA the streams' priorities decide


def _scorer(settings: AlignerSettings) -> Scorer[Any, Any]:
    if settings.model == "fake":
        return FakeScorer(settings.max_cells)
    # Here, so that a process with the fake needs no torch.
    from services.aligner.models.conse_minilm import ConseMiniLMScorer
    from services.inference.device import pick_device

    scorer = ConseMiniLMScorer(pick_device(settings.device), settings.max_cells)
    _warm_up(scorer)
    return scorer


def _warm_up(scorer: Scorer[Any, Any]) -> None:
    cells = np.full((14 * 14, COUNT), 1 / COUNT, np.float16)
    view = scorer.view(RegionTokens(SPACE, 14, 14, COUNT, cells.tobytes(), cells[0].tobytes()))
    (reading,) = scorer.read(["here you can see what a phrase of this length takes"])
    scorer.semantic(reading, [view])
    scorer.heat(reading, view)

"""The aligner: words and frames of a session come in, what each phrase is about goes out. ``open_aligner`` makes it."""

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Generic

from services.aligner.judge import Judge
from services.aligner.reading import PhraseReader
from services.aligner.scorer import Reading, Scorer, View
from services.aligner.session import AlignSession
from services.aligner.settings import AlignerSettings
from services.common.errors import InvalidInput
from services.common.ports import Call
from services.common.types import AlignConfig, AlignEvent, AlignInput
from services.inference.batching import Batcher
from services.inference.worker import Workers


class PhraseAligner(Generic[Reading, View]):
    """An aligner port over any scorer; each call is a session of its own."""

    def __init__(
        self, scorer: Scorer[Reading, View], batcher: Batcher[str, Reading], workers: Workers, settings: AlignerSettings
    ) -> None:
        self._judge = Judge(scorer, settings.min_probability)
        self._batcher = batcher
        self._workers = workers
        self._settings = settings

    def healthy(self) -> bool:
        """Return whether phrases move on."""
        return self._batcher.healthy()

    async def __call__(self, inputs: AsyncIterator[AlignInput], call: Call) -> AsyncGenerator[AlignEvent, None]:
        """Align one session; inputs are taken one by one, so a slow worker holds the sender back.

        InvalidInput when the first message is no configuration or names another model, and what ``take`` raises.
        """
        items = aiter(inputs)
        self._check(await anext(items, None))
        reader = PhraseReader(self._judge.scorer.count_tokens, self._batcher, call.priority)
        session = AlignSession(self._judge, reader, self._workers, self._settings)
        async for item in items:
            for event in await session.take(item):
                yield event
        for alignment in await session.finish():
            yield alignment

    def _check(self, config: AlignInput | None) -> None:
        if not isinstance(config, AlignConfig):
            raise InvalidInput("the first message must be the configuration", param="config")
        if config.model not in ("", self._judge.scorer.name):
            raise InvalidInput(f"no model {config.model!r} here, only {self._judge.scorer.name!r}", param="model")

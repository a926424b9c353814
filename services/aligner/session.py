"""One session of an aligner: takes its inputs one by one and says which events each gives. The engine drives it.

All state is plain and bounded; only reading and comparing run on workers, and nothing else of the session meanwhile.
"""

from collections.abc import Sequence
from typing import Generic, assert_never

from services.aligner.judge import Judge
from services.aligner.phrases import Phrase, PhraseCutter
from services.aligner.reading import PhraseReader
from services.aligner.scorer import Reading, View
from services.aligner.settings import AlignerSettings
from services.aligner.timeline import Reach, Shown, Timeline
from services.aligner.window import OpenPhrase, Window
from services.common.errors import InvalidInput, TooLarge
from services.common.types import (
    AlignConfig,
    AlignEvent,
    AlignInput,
    Alignment,
    Flush,
    FrameTokens,
    Marker,
    Progress,
    SpokenWord,
    StageTiming,
    Words,
)
from services.inference.worker import Workers

NO_TIME = StageTiming()
MAX_WORD_CHARACTERS = 1000  # words are counted in tokens on the event loop


class AlignSession(Generic[Reading, View]):
    """The phrases and frames of one stream."""

    def __init__(
        self, judge: Judge[Reading, View], reader: PhraseReader[Reading], workers: Workers, settings: AlignerSettings
    ) -> None:
        window_us = round(settings.window_s * 1e6)
        self._judge = judge
        self._reader = reader
        self._workers = workers
        self._cutter = PhraseCutter(judge.scorer.count_tokens)
        self._window: Window[Reading] = Window(window_us, settings.max_open_phrases)
        self._timeline: Timeline[View] = Timeline(
            settings.max_frames, Reach(round(settings.max_frame_age_s * 1e6), window_us)
        )

    async def take(self, item: AlignInput) -> Sequence[AlignEvent]:
        """Take one input and return the events it gives, oldest phrase first.

        InvalidInput for a second configuration or impossible times, TooLarge for an endless word, and what ``grid_of``
        raises for a frame.
        """
        match item:
            case FrameTokens():
                return await self._frame(item)
            case Words(words):
                await self._align(self._cutter.add(_checked(words)))
                return self._window.due()
            case Progress(until_us):
                self._window.advance(until_us)
                await self._align(self._cutter.progress(until_us))
                return self._window.due()
            case Flush(marker):
                return [*await self.finish(), Marker(marker)]
            case AlignConfig():
                raise InvalidInput("the configuration comes once, as the first message", param="config")
            case _:
                assert_never(item)

    async def finish(self) -> list[Alignment]:
        """End the open phrase and return the final answers of all phrases."""
        await self._align(self._cutter.end())
        return self._window.close()

    async def _frame(self, item: FrameTokens) -> list[Alignment]:
        seen = await self._workers.run(lambda: self._judge.scorer.view(item.tokens))
        self._timeline.add(Shown(item.id, item.pts_us, seen.value))
        entries = self._window.within(item.pts_us)
        if entries:
            await self._revise(entries)
        return self._window.due()

    async def _revise(self, entries: Sequence[OpenPhrase[Reading]], before: StageTiming = NO_TIME) -> None:
        cases = [(entry.reading, self._timeline.candidates(entry.phrase)) for entry in entries]
        found = await self._workers.run(lambda: [self._judge.answer(*case) for case in cases])
        for entry, answer in zip(entries, found.value, strict=True):
            entry.revise(answer, before + found.timing)

    async def _align(self, phrases: Sequence[Phrase]) -> None:
        if phrases:
            readings = await self._reader.read([phrase.text for phrase in phrases])
            entries = [OpenPhrase(phrase, reading) for phrase, reading in zip(phrases, readings.value, strict=True)]
            await self._revise(entries, readings.timing)
            for entry in entries:
                self._window.add(entry)


def _checked(words: Sequence[SpokenWord]) -> Sequence[SpokenWord]:
    for word in words:
        if len(word.text) > MAX_WORD_CHARACTERS:
            raise TooLarge(f"word {word.id} is longer than {MAX_WORD_CHARACTERS} characters", param="words")
        if word.end_us < word.start_us:
            raise InvalidInput(f"word {word.id} ends before it starts", param="words")
    return words

"""Frames and words as a gateway would send them, for the aligner's tests."""

from collections.abc import AsyncIterator, Iterable
from itertools import count

import numpy as np

from services.common.ports import Aligner, Call
from services.common.types import AlignEvent, AlignInput, FrameTokens, RegionTokens, SpokenWord, Words
from services.inference.imagenet import COUNT, SPACE, class_names

NAMES = class_names()
SURE = 0.9


def posterior(*names: str) -> np.ndarray:
    """Return class probabilities that share 0.9 among ``names`` and the rest among all."""
    values = np.full(COUNT, (1 - SURE) / COUNT if names else 1 / COUNT, np.float16)
    for name in names:
        values[NAMES.index(name)] += SURE / len(names)
    return values


def tokens(cells: list[list[str]]) -> RegionTokens:
    """Return the tokens of a frame whose cells show the named classes; an empty name shows nothing."""
    flat = [name for row in cells for name in row]
    grid = np.stack([posterior(name) if name else posterior() for name in flat])
    pooled = posterior(*sorted({name for name in flat if name}))
    return RegionTokens(SPACE, len(cells), len(cells[0]), COUNT, grid.tobytes(), pooled.tobytes())


def frame(id: str, at_s: float, *names: str) -> FrameTokens:
    """Return a frame of one row of cells for each name, 4 cells wide."""
    return FrameTokens(id, round(at_s * 1e6), tokens([[name] * 4 for name in names for _ in range(4)]))


def words(text: str, start_s: float, first_id: int = 1) -> Words:
    """Return the words of ``text``: 0.3 s each, 0.1 s apart."""
    starts_us = count(round(start_s * 1e6), 400_000)
    spoken = zip(count(first_id), text.split(), starts_us, strict=False)
    return Words(tuple(SpokenWord(word_id, word, at_us, at_us + 300_000) for word_id, word, at_us in spoken))


async def sent(items: Iterable[AlignInput]) -> AsyncIterator[AlignInput]:
    """Send the items one by one."""
    for item in items:
        yield item


async def answers(aligner: Aligner, *items: AlignInput) -> list[AlignEvent]:
    """Return all that the aligner answers to the items."""
    return [event async for event in aligner(sent(items), Call())]

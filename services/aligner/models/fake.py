"""A scorer without torch, for tests and for a stack without weights: a frame fits a phrase that names its class."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from services.aligner.scorer import HeatMap
from services.aligner.tokens import Accepted, grid_of
from services.common.types import RegionTokenHandle, RegionTokens
from services.inference.imagenet import COUNT, SPACE, class_names


@dataclass(frozen=True, slots=True)
class NamedView:
    """The likeliest class of the whole frame and of each cell, ``[rows, cols]``."""

    top: int
    cells: npt.NDArray[np.int64]


class FakeScorer:
    """Scores 1 where the name of the likeliest class, of the frame or of a cell, occurs in the phrase, else 0."""

    name = "fake"

    def __init__(self, max_cells: int) -> None:
        self._accepted = Accepted(SPACE, COUNT, max_cells)
        self._names = class_names()

    def count_tokens(self, text: str) -> int:
        """Return the number of words in ``text``."""
        return len(text.split())

    def read(self, texts: Sequence[str]) -> list[frozenset[int]]:
        """Return the classes that each phrase names."""
        return [self._named(_words(text)) for text in texts]

    def _named(self, spoken: str) -> frozenset[int]:
        return frozenset(index for index, name in enumerate(self._names) if _words(name) in spoken)

    def view(self, tokens: RegionTokens | RegionTokenHandle) -> NamedView:
        """Return the frame's likeliest classes; raises what ``grid_of`` raises."""
        grid = grid_of(tokens, self._accepted)
        return NamedView(int(grid.pooled.argmax()), grid.cells.argmax(1).reshape(grid.rows, grid.cols))

    def semantic(self, reading: frozenset[int], views: Sequence[NamedView]) -> list[float]:
        """Return 1 for each frame with a class that is named, else 0."""
        return [float(view.top in reading or bool(self.heat(reading, view).any())) for view in views]

    def heat(self, reading: frozenset[int], view: NamedView) -> HeatMap:
        """Return 1 for each cell whose class is named, else 0."""
        return np.isin(view.cells, sorted(reading)).astype(np.float32)


def _words(text: str) -> str:
    letters = "".join(char if char.isalnum() else " " for char in text.lower())
    return f" {' '.join(letters.split())} "

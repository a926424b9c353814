"""What a model must do for the aligner: read a phrase once, view a frame once, then compare the two.

The models implement it; the engine's batcher has phrases read together, ``judge`` calls the rest, all on workers.
"""

from collections.abc import Sequence
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from services.common.types import RegionTokenHandle, RegionTokens

Reading = TypeVar("Reading")
View = TypeVar("View")

HeatMap = npt.NDArray[np.float32]


class Scorer(Protocol[Reading, View]):
    """Compares phrases with frames. ``name`` is the model's; semantic scores lie in [0, 1]."""

    @property
    def name(self) -> str:
        """Return the model's name."""
        ...

    def count_tokens(self, text: str) -> int:
        """Return how many tokens the text encoder makes of ``text``, without its marks of begin and end."""
        ...

    def read(self, texts: Sequence[str]) -> list[Reading]:
        """Return what the comparison needs of each phrase; it does not depend on the others."""
        ...

    def view(self, tokens: RegionTokens | RegionTokenHandle) -> View:
        """Return what the comparison needs of a frame; raises what ``grid_of`` raises."""
        ...

    def semantic(self, reading: Reading, views: Sequence[View]) -> list[float]:
        """Return how well the phrase fits each frame."""
        ...

    def heat(self, reading: Reading, view: View) -> HeatMap:
        """Return how well the phrase fits each cell of a frame, ``[rows, cols]``."""
        ...

"""Compares phrases with frames through ImageNet's classes. Class posteriors and texts in, scores in [0, 1] out.

ConSE (Norouzi et al., arXiv 1312.5650) turned round: there the posterior's class names are averaged into one vector,
here the phrase is spread over the classes, and the score says how much likelier the frame makes them than chance. The
right class counts even where it is not the likeliest: on the calibration half, 48 true pairs against all false ones,
the area under the curve rose from 0.95 to 0.995. ``judge`` calls it, on a worker.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch.nn.functional import normalize

from services.aligner.models.minilm import MiniLM
from services.aligner.scorer import HeatMap
from services.aligner.tokens import Accepted, grid_of
from services.common.types import RegionTokenHandle, RegionTokens
from services.inference.device import ModelStream
from services.inference.imagenet import COUNT, SPACE, class_names

# Runs of up to three words: a class name seldom has more, and a long phrase would drown it.
MAX_WORDS = 3
# How sharply a phrase picks classes by cosine: at 0.06 an exact name outweighs all others, vague words spread out.
TEMPERATURE = 0.06


@dataclass(frozen=True, slots=True)
class ClassReading:
    """A phrase as weights over the classes, ``[1000]`` summing to 1."""

    weights: torch.Tensor


@dataclass(frozen=True, slots=True)
class ClassView:
    """A frame's class posteriors on the device: ``cells`` float16 ``[rows, cols, 1000]``, ``pooled`` ``[1000]``."""

    cells: torch.Tensor
    pooled: torch.Tensor


class ConseMiniLMScorer:
    """The scorer with real weights; holds MiniLM and the vectors of the class names."""

    name = "conse-minilm"

    def __init__(self, device: torch.device, max_cells: int) -> None:
        self._device = device
        self._stream = ModelStream(device, high_priority=True)
        self._accepted = Accepted(SPACE, COUNT, max_cells)
        with torch.inference_mode(), self._stream.active():
            self._encoder = MiniLM(device)
            classes = self._encoder.sentences(class_names())
            self._mean = classes.mean(0)
            self._classes = normalize(classes - self._mean, dim=-1)
            self._stream.wait()

    def count_tokens(self, text: str) -> int:
        """Return the number of MiniLM's tokens in ``text``."""
        return self._encoder.count_tokens(text)

    def read(self, texts: Sequence[str]) -> list[ClassReading]:
        """Return the phrases' weights: each class counts by the run of words that is nearest to its name."""
        with torch.inference_mode(), self._stream.active():
            readings = [self._reading(runs) for runs in self._encoder.windows(texts, MAX_WORDS)]
            self._stream.wait()
        return readings

    def _reading(self, runs: torch.Tensor) -> ClassReading:
        centred = normalize(normalize(runs, dim=-1) - self._mean, dim=-1)
        nearest = (centred @ self._classes.T).amax(0)
        return ClassReading(torch.softmax(nearest / TEMPERATURE, -1))

    def view(self, tokens: RegionTokens | RegionTokenHandle) -> ClassView:
        """Return the frame's posteriors on the device; raises what ``grid_of`` raises."""
        grid = grid_of(tokens, self._accepted)
        with torch.inference_mode(), self._stream.active():
            cells = torch.tensor(grid.cells, device=self._device).view(grid.rows, grid.cols, COUNT)
            pooled = torch.tensor(grid.pooled, device=self._device)
            self._stream.wait()
        return ClassView(cells, pooled)

    def semantic(self, reading: ClassReading, views: Sequence[ClassView]) -> list[float]:
        """Return how much likelier than chance each whole frame makes the phrase's classes."""
        if not views:
            return []
        with torch.inference_mode(), self._stream.active():
            scores: list[float] = _evidence(torch.stack([view.pooled for view in views]), reading.weights).tolist()
        return scores

    def heat(self, reading: ClassReading, view: ClassView) -> HeatMap:
        """Return the same for each cell, ``[rows, cols]``."""
        with torch.inference_mode(), self._stream.active():
            heat: HeatMap = _evidence(view.cells, reading.weights).cpu().numpy()
        return heat


def _evidence(posteriors: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    # From 0 for impossible to 1 for certain by the logarithm of p over chance, which is one class in a thousand.
    return torch.log1p(posteriors.float() @ weights * COUNT) / math.log1p(COUNT)

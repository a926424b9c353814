"""Brings a stream of samples to 16 kHz, the same as resampling all of it at once. Called by ``hearing.py``.

A window of input around each piece is kept, so that the filter never sees a seam.
"""

import math
from fractions import Fraction

import numpy as np
import torch
import torchaudio
from numpy.typing import NDArray

from services.asr.mel import SAMPLE_RATE_HZ

# A filter has one row per phase. Odd rates (8001 Hz) would need 16,000; the nearest ratio with few is off by 0.02 %.
MAX_PHASES = 640
FILTER_WIDTH = 6  # torchaudio's default number of zero crossings


class Resampler:
    """State of one stream. ``step`` is the number of input samples per output sample."""

    def __init__(self, rate_hz: int) -> None:
        self.step = Fraction(rate_hz, SAMPLE_RATE_HZ).limit_denominator(MAX_PHASES)
        self._block, self._phases = self.step.numerator, self.step.denominator
        self._filter = torchaudio.transforms.Resample(self._block, self._phases, lowpass_filter_width=FILTER_WIDTH)
        reach = math.ceil(FILTER_WIDTH * self._block / min(self._block, self._phases) / 0.99)
        self._margin_blocks = math.ceil(reach / self._block)
        self._input = np.zeros(0, np.float32)
        self._lead_blocks = 0  # blocks at the head of the input whose output is out already

    def push(self, samples: NDArray[np.float32]) -> NDArray[np.float32]:
        """Take mono samples at the stream's rate; return those at 16 kHz that no later sample can change."""
        if self.step == 1:
            return samples
        self._input = np.concatenate([self._input, samples])
        ready = self._input.size // self._block - self._margin_blocks
        if ready <= self._lead_blocks:
            return np.zeros(0, np.float32)
        output = self._filtered()[self._lead_blocks * self._phases : ready * self._phases]
        dropped = max(0, ready - self._margin_blocks)
        self._input = self._input[dropped * self._block :]
        self._lead_blocks = ready - dropped
        return output

    def finish(self) -> NDArray[np.float32]:
        """Return the rest; the stream starts anew after it."""
        if self._input.size == 0:
            return np.zeros(0, np.float32)
        output = self._filtered()[self._lead_blocks * self._phases :]
        self._input = np.zeros(0, np.float32)
        self._lead_blocks = 0
        return output

    def _filtered(self) -> NDArray[np.float32]:
        output: NDArray[np.float32] = self._filter(torch.from_numpy(self._input)).numpy()
        return output

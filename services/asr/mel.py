"""Turns samples into the log-mel features that Whisper was trained on. Called by ``models/whisper.py``.

Source: Radford et al. 2022, section 2.2, and openai/whisper ``audio.py``.
"""

import numpy as np
import torch
import torchaudio
from numpy.typing import NDArray

SAMPLE_RATE_HZ = 16_000
N_FFT = 400  # 25 ms
HOP = 160  # 10 ms
FRAMES_PER_S = SAMPLE_RATE_HZ // HOP
MAX_FRAMES = 3_000  # 30 s, what the encoder has positions for
DYNAMIC_RANGE = 8.0  # 80 dB below the loudest value


class LogMel:
    """Log-mel features with ``bands`` rows. Holds constants only, so threads share one."""

    def __init__(self, bands: int) -> None:
        self._spectrogram = torchaudio.transforms.MelSpectrogram(
            SAMPLE_RATE_HZ, n_fft=N_FFT, hop_length=HOP, n_mels=bands, mel_scale="slaney", norm="slaney"
        )

    def __call__(self, samples: NDArray[np.float32], frames: int) -> NDArray[np.float32]:
        """Return ``[bands, frames]`` for mono 16 kHz ``samples``, cut or padded with silence to ``frames``."""
        padded = np.zeros(frames * HOP, np.float32)
        kept = samples[: padded.size]
        padded[: kept.size] = kept
        power = self._spectrogram(torch.from_numpy(padded))[:, :-1]  # the last frame is the reflected edge
        log = torch.log10(torch.clamp(power, min=1e-10))
        scaled = (torch.maximum(log, log.max() - DYNAMIC_RANGE) + 4.0) / 4.0
        result: NDArray[np.float32] = np.ascontiguousarray(scaled.numpy())
        return result

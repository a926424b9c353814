"""The features that Whisper was trained on."""

import numpy as np
import pytest

from services.asr.mel import LogMel


def reference(samples, bands):
    """openai/whisper's log_mel_spectrogram with librosa's Slaney filters, written out in numpy."""
    frames = np.lib.stride_tricks.sliding_window_view(np.pad(samples, 200, mode="reflect"), 400)[::160]
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(400) / 400)
    power = np.abs(np.fft.rfft(frames * window)) ** 2
    log = np.log10(np.maximum(power[:-1] @ slaney(bands).T, 1e-10)).T
    return (np.maximum(log, log.max() - 8.0) + 4.0) / 4.0


def slaney(bands):
    hz = np.linspace(0, 8_000, 201)
    mels = np.linspace(0, 15 + 27 * np.log(8_000 / 1_000) / np.log(6.4), bands + 2)
    edges = np.where(mels < 15, mels * 200 / 3, 1_000 * np.exp(np.log(6.4) / 27 * (mels - 15)))
    up = (hz - edges[:-2, None]) / np.diff(edges)[:-1, None]
    down = (edges[2:, None] - hz) / np.diff(edges)[1:, None]
    return np.maximum(0, np.minimum(up, down)) * (2 / (edges[2:] - edges[:-2]))[:, None]


@pytest.mark.parametrize("bands", [80, 128])
def test_features_equal_the_reference(bands):
    """Within 1e-4 of the original's."""
    samples = np.random.default_rng(0).normal(0, 0.1, 32_000).astype(np.float32)
    features = LogMel(bands)(samples, 200)
    assert features.shape == (bands, 200)
    assert np.abs(features - reference(samples.astype(np.float64), bands)).max() < 1e-4


def test_short_audio_is_followed_by_silence_and_long_audio_cut():
    """The number of frames is what was asked for."""
    mel = LogMel(80)
    assert mel(np.ones(10, np.float32), 100).shape == (80, 100)
    assert mel(np.ones(100_000, np.float32), 100).shape == (80, 100)

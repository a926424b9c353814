"""Resampling a stream piece by piece."""

import numpy as np
import pytest
import torch
import torchaudio
from hypothesis import given, settings
from hypothesis import strategies as st

from services.asr.resample import Resampler

RATES_HZ = [8_000, 11_025, 16_000, 22_050, 24_000, 44_100, 48_000, 96_000, 192_000]


def in_pieces(samples, rate_hz, sizes):
    resampler = Resampler(rate_hz)
    out = []
    begin = 0
    while begin < samples.size:
        size = sizes[len(out) % len(sizes)]
        out.append(resampler.push(samples[begin : begin + size]))
        begin += size
    return np.concatenate([*out, resampler.finish()])


@pytest.mark.parametrize("rate_hz", RATES_HZ)
def test_pieces_give_what_the_whole_gives(rate_hz):
    """No seam can be heard: the output equals one-shot resampling."""
    samples = np.random.default_rng(0).normal(size=rate_hz // 2).astype(np.float32)
    whole = torchaudio.transforms.Resample(rate_hz, 16_000)(torch.from_numpy(samples)).numpy()
    pieces = in_pieces(samples, rate_hz, [rate_hz // 20])
    assert pieces.shape == whole.shape
    assert np.abs(pieces - whole).max() < 1e-5


@settings(deadline=None, max_examples=30)
@given(st.sampled_from([8_000, 44_100, 48_000]), st.lists(st.integers(1, 3_000), min_size=1, max_size=8))
def test_the_sizes_of_the_pieces_do_not_matter(rate_hz, sizes):
    """Any cuts give the same samples."""
    samples = np.random.default_rng(1).normal(size=rate_hz // 10).astype(np.float32)
    assert np.allclose(in_pieces(samples, rate_hz, sizes), in_pieces(samples, rate_hz, [samples.size]), atol=1e-5)


@pytest.mark.parametrize("rate_hz", [8_001, 47_999, 191_999])
def test_odd_rates_are_resampled_by_the_nearest_ratio(rate_hz):
    """Pitch and length are right within 0.02 %; the step says exactly what was done, so no time is lost."""
    output = in_pieces(np.zeros(rate_hz, np.float32), rate_hz, [rate_hz // 10])
    assert output.size == pytest.approx(16_000, rel=2e-4)
    assert float(Resampler(rate_hz).step) == pytest.approx(rate_hz / 16_000, rel=2e-4)


def test_a_finished_stream_starts_anew():
    """Nothing of what came before the end is heard after it."""
    resampler = Resampler(48_000)
    resampler.push(np.ones(4_800, np.float32))
    resampler.finish()
    output = np.concatenate([resampler.push(np.zeros(4_800, np.float32)), resampler.finish()])
    assert output.size == 1_600
    assert not output.any()


def test_memory_does_not_grow():
    """Only the filter's reach is kept between pieces."""
    resampler = Resampler(44_100)
    for _ in range(50):
        resampler.push(np.zeros(44_100, np.float32))
    assert resampler._input.size < 4_410

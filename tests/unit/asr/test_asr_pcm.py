"""Raw audio bytes as samples."""

import itertools
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.asr.pcm import ALAW, MULAW, PcmReader
from services.common.types import Encoding


def test_sixteen_bits_become_fractions():
    """The full range is [-1, 1)."""
    assert PcmReader(Encoding.PCM_S16LE, 1).push(struct.pack("<3h", -32_768, 0, 16_384)).tolist() == [-1.0, 0.0, 0.5]


def test_channels_are_mixed_down():
    """A frame's sample is the mean of its channels."""
    data = struct.pack("<4f", 1.0, 0.0, -0.5, -0.5)
    assert PcmReader(Encoding.PCM_F32LE, 2).push(data).tolist() == [0.5, -0.5]


def test_floats_that_are_no_numbers_do_no_harm():
    """NaN is silence, infinities and excess are full scale."""
    data = struct.pack("<4f", float("nan"), float("inf"), -float("inf"), 3.0)
    assert PcmReader(Encoding.PCM_F32LE, 1).push(data).tolist() == [0.0, 1.0, -1.0, 1.0]


def test_companded_codes_follow_g711():
    """Known points of both laws: the extremes, and the codes around zero."""
    assert [round(MULAW[code] * 32_768) for code in (0x00, 0x80, 0xFF, 0x7F)] == [-32_124, 32_124, 0, 0]
    assert [round(ALAW[code] * 32_768) for code in (0xD5, 0x55, 0x2A, 0xAA)] == [8, -8, -32_256, 32_256]


@pytest.mark.parametrize("encoding", [Encoding.PCM_S16LE, Encoding.PCM_F32LE, Encoding.MULAW, Encoding.ALAW])
@given(data=st.binary(max_size=200), cuts=st.lists(st.integers(0, 200), max_size=6), channels=st.integers(1, 3))
def test_cuts_do_not_matter(encoding, data, cuts, channels):
    """Bytes cut anywhere give the samples of the whole."""
    edges = [0, *sorted(cuts), len(data)]
    reader = PcmReader(encoding, channels)
    pieces = [reader.push(data[begin:end]) for begin, end in itertools.pairwise(edges) if begin <= end]
    assert np.array_equal(np.concatenate(pieces), PcmReader(encoding, channels).push(data))


def test_an_unfinished_frame_can_be_dropped():
    """After a gap, bytes do not continue the frame before it."""
    reader = PcmReader(Encoding.PCM_S16LE, 1)
    reader.push(b"\x01")
    reader.drop_rest()
    assert reader.push(struct.pack("<h", 16_384)).tolist() == [0.5]

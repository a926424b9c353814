"""Reads raw audio bytes of a live stream as mono samples. Pure; called by ``hearing.py``.

Bytes in, cut anywhere; float32 samples in [-1, 1] out. Companding: ITU-T G.711.
"""

import numpy as np
from numpy.typing import NDArray

from services.common.types import Encoding

Samples = NDArray[np.float32]


def _mulaw_table() -> Samples:
    code = ~np.arange(256, dtype=np.uint8)
    exponent = (code >> 4 & 7).astype(np.int32)
    magnitude = ((((code & 15).astype(np.int32) << 3) + 132) << exponent) - 132
    return (np.where(code & 128, -magnitude, magnitude) / 32_768).astype(np.float32)


def _alaw_table() -> Samples:
    code = np.arange(256, dtype=np.uint8) ^ 0x55
    exponent = (code >> 4 & 7).astype(np.int32)
    mantissa = ((code & 15).astype(np.int32) << 4) + 8
    magnitude = np.where(exponent == 0, mantissa, (mantissa + 256) << np.maximum(exponent - 1, 0))
    return (np.where(code & 128, magnitude, -magnitude) / 32_768).astype(np.float32)


MULAW = _mulaw_table()
ALAW = _alaw_table()

SAMPLE_BYTES = {Encoding.PCM_S16LE: 2, Encoding.PCM_F32LE: 4, Encoding.MULAW: 1, Encoding.ALAW: 1}


class PcmReader:
    """Reads one stream; the bytes of an unfinished frame wait for the next chunk."""

    def __init__(self, encoding: Encoding, channels: int) -> None:
        self._encoding = encoding
        self._channels = channels
        self._frame_bytes = SAMPLE_BYTES[encoding] * channels
        self._rest = b""

    def push(self, data: bytes) -> Samples:
        """Return the samples of all whole frames so far unread, channels mixed down."""
        data = self._rest + data
        whole = len(data) - len(data) % self._frame_bytes
        self._rest = data[whole:]
        samples = self._samples(data[:whole])
        if self._channels > 1:
            samples = samples.reshape(-1, self._channels).mean(axis=1, dtype=np.float32)
        return samples

    def drop_rest(self) -> None:
        """Forget the unfinished frame: what comes next does not continue it."""
        self._rest = b""

    def _samples(self, data: bytes) -> Samples:
        match self._encoding:
            case Encoding.PCM_S16LE:
                return np.frombuffer(data, "<i2").astype(np.float32) / np.float32(32_768)
            case Encoding.PCM_F32LE:
                # Infinities and NaN would spread through every filter after this.
                finite = np.nan_to_num(np.frombuffer(data, "<f4"), posinf=1.0, neginf=-1.0)
                clipped: Samples = np.clip(finite, -1.0, 1.0)
                return clipped
            case Encoding.MULAW:
                return MULAW[np.frombuffer(data, np.uint8)]
            case _:
                return ALAW[np.frombuffer(data, np.uint8)]

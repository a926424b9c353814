"""Silero VAD on ONNX Runtime: how much each 32 ms sound like speech. Called by ``hearing.py`` and ``offline.py``.

Mono 16 kHz samples in, one probability per 512 samples out.
"""

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from services.asr.endpoint import WINDOW
from services.asr.mel import SAMPLE_RATE_HZ
from services.inference.weights import package_file, verified

SHA256 = "1a153a22f4509e292a94e67d6f9b85e8deb25b4988682b7e174c65279d8788e3"
CONTEXT = 64  # samples of the window before that the network sees again


class SileroModel:
    """The network; sessions share one. Each call uses the calling thread alone."""

    def __init__(self) -> None:
        options = onnxruntime.SessionOptions()
        options.inter_op_num_threads = options.intra_op_num_threads = 1
        path = verified(package_file("silero_vad", "data/silero_vad.onnx"), SHA256)
        self.session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


class SpeechDetector:
    """One stream's state of the network."""

    def __init__(self, model: SileroModel) -> None:
        self._run = model.session.run
        self._rate = np.array(SAMPLE_RATE_HZ, np.int64)
        self.reset()

    def reset(self) -> None:
        """Forget the stream so far."""
        self._state = np.zeros((2, 1, 128), np.float32)
        self._input = np.zeros((1, CONTEXT + WINDOW), np.float32)

    def probability(self, window: NDArray[np.float32]) -> float:
        """Return the probability of speech in the next 512 samples."""
        self._input[0, :CONTEXT] = self._input[0, -CONTEXT:]
        self._input[0, CONTEXT:] = window
        inputs = {"input": self._input, "state": self._state, "sr": self._rate}
        output, self._state = self._run(None, inputs)
        return float(output[0, 0])

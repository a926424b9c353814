"""Transcribes a decoded file: finds its speech, packs it into windows, hears each once. Called by ``engine.py``.

Each method is one job for a worker thread, at most a second or two long, so that live sessions get their turn between.
"""

import numpy as np

from services.asr.container import DecodedFile
from services.asr.coverage import Ledger
from services.asr.endpoint import WINDOW, EndpointRules
from services.asr.mel import SAMPLE_RATE_HZ
from services.asr.models.silero import SpeechDetector
from services.asr.models.whisper import Prompt, Speech
from services.asr.packing import packed, shortened, stretches
from services.asr.pauses import Pauses, Stretch, without_pauses
from services.asr.repetition import Hearer, hear_thoroughly
from services.asr.resample import Resampler
from services.asr.words import HeardWord
from services.common.types import Coverage, Word

PIECE = 1_000 * WINDOW  # 32 s a job
LONGEST = 20 * SAMPLE_RATE_HZ  # one window; the encoder has room for 30 s, and its cost grows faster than the window
WIDEST_PAUSE = 3 * SAMPLE_RATE_HZ
LEAD = TRAIL = 3_200  # 200 ms; pauses are longer, so windows do not overlap
RESAMPLED_S = 60  # at once


class FileTranscript:
    """State of one file's transcription; its first sample lies at ``start_us``."""

    def __init__(self, file: DecodedFile, rules: EndpointRules, language: str, start_us: int) -> None:
        self._file = file
        self._rules = rules
        self._language = language
        self._start_us = start_us
        self._ledger = Ledger(start_us)
        self._samples = np.zeros(0, np.float32)
        self._probabilities: list[float] = []
        self._pauses = Pauses(rules.stop)
        self._last_end_us = start_us
        self.end_us = start_us + len(file.samples) // 2 * 1_000_000 // file.rate_hz

    def us(self, position: int) -> int:
        """Return the media time of a position in the 16 kHz samples."""
        return min(self.end_us, self._start_us + position * 1_000_000 // SAMPLE_RATE_HZ)

    def coverage(self, until_us: int) -> Coverage:
        """Return the account of the file up to ``until_us``."""
        return self._ledger.coverage(until_us)

    def resample(self) -> None:
        """Bring all samples to 16 kHz."""
        resampler = Resampler(self._file.rate_hz)
        own = np.frombuffer(self._file.samples, "<i2")
        length = RESAMPLED_S * self._file.rate_hz
        parts = [
            own[begin : begin + length].astype(np.float32) / np.float32(32_768) for begin in range(0, own.size, length)
        ]
        self._samples = np.concatenate([*map(resampler.push, parts), resampler.finish()])

    def pieces(self) -> range:
        """Return where each piece for ``detect`` begins."""
        return range(0, self._samples.size, PIECE)

    def detect(self, detector: SpeechDetector, begin: int) -> None:
        """Find out how much the ``PIECE`` samples from ``begin`` on sound like speech."""
        piece = self._samples[begin : begin + PIECE]
        piece = np.concatenate([piece, np.zeros(-piece.size % WINDOW, np.float32)])
        for window in piece.reshape(-1, WINDOW):
            self._probabilities.append(detector.probability(window))
            self._pauses.push(self._probabilities[-1])

    def windows(self) -> list[Stretch]:
        """Return the windows to hear, once all pieces have been listened to."""
        found = stretches(self._probabilities, self._rules)
        parts = [part for stretch in found for part in shortened(stretch, self._probabilities, LONGEST)]
        return [self._widened(window) for window in packed(parts, LONGEST, WIDEST_PAUSE)]

    def hear(self, model: Hearer, window: Stretch) -> tuple[Word, ...]:
        """Return the words of a window."""
        start, end = window
        speech = Speech(self._samples[start:end], start, start)
        self._pauses.forget(start)
        heard = hear_thoroughly(model, speech, Prompt(language=self._language))
        words = tuple(self._word(word) for word in without_pauses(heard, self._pauses.stretches()))
        if words:
            self._ledger.transcribed(self.us(start), self.us(end))
        return words

    def _widened(self, window: Stretch) -> Stretch:
        """Take some of the silence around a window: the detector is late on soft sounds."""
        return max(0, window[0] - LEAD), min(self._samples.size, window[1] + TRAIL)

    def _word(self, word: HeardWord) -> Word:
        start_us = max(self._last_end_us, self.us(word.start))
        self._last_end_us = max(start_us, self.us(word.end))
        return Word(word.text, start_us, self._last_end_us, word.confidence)

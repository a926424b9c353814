"""Transcribes a decoded file: finds its speech, packs it into windows, hears each once. Called by ``engine.py``.

``listen`` is one job for a worker thread, a fraction of a second long; ``hear`` asks for passes, one at a time.
"""

from collections.abc import Sequence

import numpy as np

from services.asr.clock import MediaClock
from services.asr.container import DecodedFile
from services.asr.coverage import Ledger
from services.asr.endpoint import WINDOW, EndpointRules
from services.asr.mel import SAMPLE_RATE_HZ
from services.asr.models.silero import SpeechDetector
from services.asr.models.whisper import Prompt, Speech
from services.asr.packing import packed, shortened, stretches, widened
from services.asr.pauses import Pauses, Stretch, without_gaps, without_pauses
from services.asr.repetition import Listening, frames_for, hear_thoroughly
from services.asr.resample import Resampler
from services.asr.tape import Tape
from services.asr.words import HeardWord, Spell, spelled
from services.common.types import Committed, Coverage, Window, Word

PIECE_S = 30  # a job
LONGEST = 20 * SAMPLE_RATE_HZ  # one window; the encoder has room for 30 s, and its cost grows faster than the window
WIDEST_PAUSE = 3 * SAMPLE_RATE_HZ
MARGIN = 3_200  # 200 ms: the detector is late on soft sounds


class FileTranscript:
    """State of one file's transcription; its first sample lies at ``start_us``.

    The decoder is ``told`` the same for each window. With ``spell`` the words come with tokens.
    """

    def __init__(
        self, file: DecodedFile, rules: EndpointRules, told: Prompt, start_us: int, spell: Spell | None = None
    ) -> None:
        self._rules = rules
        self._told = told
        self._spell = spell
        self._ledger = Ledger(start_us)
        self._own = np.frombuffer(file.samples, "<i2")
        self._piece = PIECE_S * file.rate_hz
        self._resampler = Resampler(file.rate_hz)
        self._tape = Tape()
        self._probabilities: list[float] = []
        self._pauses = Pauses(rules.stop)
        self._last_end_us = start_us
        self._clock = MediaClock(start_us, file.rate_hz, self._resampler.step)
        self._clock.advance(self._own.size)
        self.end_us = self._clock.now_us

    def us(self, position: int) -> int:
        """Return the media time of a position in the 16 kHz samples."""
        return self._clock.us(position)

    def coverage(self, until_us: int) -> Coverage:
        """Return the account of the file up to ``until_us``."""
        return self._ledger.coverage(until_us)

    def pieces(self) -> range:
        """Return where each piece for ``listen`` begins, in the file's own samples."""
        return range(0, self._own.size, self._piece)

    def listen(self, detector: SpeechDetector, begin: int) -> None:
        """Bring the piece that begins there to 16 kHz, and find out how much it sounds like speech."""
        own = self._own[begin : begin + self._piece].astype(np.float32) / np.float32(32_768)
        self._tape.append(self._resampler.push(own))
        if begin + self._piece >= self._own.size:
            self._tape.append(self._resampler.finish())
        for start in range(len(self._probabilities) * WINDOW, self._tape.end - WINDOW + 1, WINDOW):
            probability = detector.probability(self._tape.read(start, start + WINDOW))
            self._probabilities.append(probability)
            self._pauses.push(probability)

    def windows(self) -> list[Stretch]:
        """Return the windows to hear, once all pieces have been listened to."""
        found = stretches(self._probabilities, self._rules)
        parts = [part for stretch in found for part in shortened(stretch, self._probabilities, LONGEST)]
        return widened(packed(parts, LONGEST, WIDEST_PAUSE), MARGIN, self._tape.end)

    def frames(self, windows: Sequence[Stretch]) -> int:
        """Return what hearing each of these windows once takes, in frames of the encoder."""
        return sum(frames_for(end - start) for start, end in windows)

    def hear(self, window: Stretch) -> Listening[Committed]:
        """Return the words of a window; there may be none."""
        start, end = window
        speech = Speech(self._tape.read(start, end), start, start)
        self._pauses.forget(start)
        heard = yield from hear_thoroughly(speech, self._told)
        pauses = [pause for pause in self._pauses.stretches() if pause[0] < end]
        heard = without_gaps(without_pauses(heard, pauses), pauses)
        if heard:
            self._ledger.transcribed(self.us(start), self.us(end))
        words = tuple(map(self._word, heard))
        return Committed(words, window=self._described(heard[0], start) if heard and self._spell else None)

    def _described(self, word: HeardWord, start: int) -> Window:
        return Window(self.us(start), word.no_speech, word.language)

    def _word(self, word: HeardWord) -> Word:
        start_us = max(self._last_end_us, self.us(word.start))
        self._last_end_us = max(start_us, self.us(word.end))
        tokens = spelled(word, self._spell)
        return Word(word.text, start_us, self._last_end_us, word.confidence, tokens=tokens)

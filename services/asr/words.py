"""Builds words with times and confidences out of a decoder's tokens. Pure; called by ``models/whisper.py``.

The alignment is dynamic time warping over cross-attention (openai/whisper ``timing.py``): pairs of token and frame.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from services.common.types import Token

POSITION_PER_STEP = 320  # one encoder position is 20 ms
LEAST_PROBABILITY = 1e-10  # what the model rounds to nothing still has a logarithm


@dataclass(frozen=True, slots=True)
class HeardWord:
    """A word with the tokens that spell it; times are positions in the 16 kHz stream.

    ``no_speech`` and ``language`` are what the model made of the whole stretch that it heard the word in.
    """

    text: str
    tokens: tuple[int, ...]
    start: int
    end: int
    confidence: float
    logprobs: tuple[float, ...] = ()
    no_speech: float = 0.0
    language: str = ""


Decode = Callable[[Sequence[int]], str]
Spell = Callable[[int], bytes]


def spelled(word: HeardWord, spell: Spell | None) -> tuple[Token, ...]:
    """Return the word's tokens as callers see them; none where nobody wants them."""
    if spell is None:
        return ()
    pairs = zip(word.tokens, word.logprobs, strict=False)  # a word taken up from an earlier stream has no logprobs
    return tuple(Token(token, spell(token), logprob) for token, logprob in pairs)


def split(tokens: Sequence[int], decode: Decode) -> list[tuple[str, tuple[int, ...]]]:
    """Return the words that ``tokens`` spell: each starts with a space, punctuation stays with the word before."""
    words: list[tuple[str, tuple[int, ...]]] = []
    for piece in _whole_characters(tokens, decode):
        text = decode(piece)
        if words and (not text.startswith(" ") or not any(character.isalnum() for character in text)):
            words[-1] = (words[-1][0] + text, words[-1][1] + piece)
        else:
            words.append((text, piece))
    return [(text.strip(), piece) for text, piece in words]


def _whole_characters(tokens: Sequence[int], decode: Decode) -> list[tuple[int, ...]]:
    """Group tokens so that each group decodes to whole characters."""
    groups: list[tuple[int, ...]] = []
    open_group: tuple[int, ...] = ()
    for token in tokens:
        open_group += (token,)
        if "\N{REPLACEMENT CHARACTER}" not in decode(open_group):
            groups.append(open_group)
            open_group = ()
    return groups + ([open_group] if open_group else [])


def token_starts(alignment: Sequence[tuple[int, int]], count: int) -> list[int]:
    """Return for each of ``count`` tokens, and for the end after them, the first frame it is aligned with."""
    starts = [-1] * (count + 1)
    for token, frame in alignment:
        if starts[token] < 0:
            starts[token] = frame
    last = alignment[-1][1] if alignment else 0
    for token in range(count, -1, -1):
        last = starts[token] if starts[token] >= 0 else last
        starts[token] = last
    return starts


def timed(
    spelled: Sequence[tuple[str, tuple[int, ...]]], starts: Sequence[int], probabilities: Sequence[float], origin: int
) -> list[HeardWord]:
    """Join words with the frames and probabilities of their tokens; ``origin`` is the position of frame 0."""
    words = []
    first = 0
    for text, tokens in spelled:
        after = first + len(tokens)
        start, end = (origin + starts[token] * POSITION_PER_STEP for token in (first, after))
        own = probabilities[first:after]
        logprobs = tuple(min(0.0, math.log(max(LEAST_PROBABILITY, probability))) for probability in own)
        words.append(HeardWord(text, tokens, start, end, min(1.0, max(0.0, sum(own) / len(tokens))), logprobs))
        first = after
    return words

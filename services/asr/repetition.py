"""Hears speech without the clauses that the decoder says twice though they were spoken once.

Whisper was trained on 30 s and looks for more to say when it sees less. Called by ``recognition.py``, ``offline.py``.
"""

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import TypeAlias, TypeVar

from services.asr.mel import FRAMES_PER_S, HOP, MAX_FRAMES
from services.asr.models.whisper import Pass, Prompt, Speech
from services.asr.words import HeardWord

MIN_FRAMES = 1_000  # 10 s: with fewer it repeats itself far more often
MARGIN_FRAMES = 1 * FRAMES_PER_S  # silence after the speech, so that it sees that the speech ends
SHORTEST = 3  # words; "no, no" and "very, very" are how people talk
MOST_COPIES = 3  # of anything shorter
FASTEST = 3_000  # samples a word: nobody says a whole clause twice at more than 5 words a second
DOUBTFUL = -1.0  # mean log probability of a token under which Whisper, too, hears again
RUSHED = 0.7  # of the time that saying it first took: a copy with a word of no time at all was not spoken


Answer = TypeVar("Answer")

# Work that yields each pass it needs and is sent the words heard in it: it waits without holding a thread.
Listening: TypeAlias = Generator[Pass, list[HeardWord], Answer]


def frames_for(samples: int) -> int:
    """Return the frames that the encoder is shown of so many samples."""
    return min(max(MIN_FRAMES, samples // HOP + MARGIN_FRAMES), MAX_FRAMES)


def hear_quickly(
    speech: Speech, prompt: Prompt, forced: Sequence[HeardWord]
) -> Listening[tuple[list[HeardWord], bool]]:
    """Return the words after the ``forced`` ones up to the first repetition, and whether there was one."""
    heard = yield Pass(speech, prompt, frames_for(speech.samples.size))
    words = without_rushed(heard, forced)
    words = words[: _repeated(words, forced)]
    return words, len(words) < len(heard)


def hear_thoroughly(speech: Speech, prompt: Prompt, forced: Sequence[HeardWord] = ()) -> Listening[list[HeardWord]]:
    """Return the words after the ``forced`` ones; a repetition is heard again with 30 s before the encoder.

    Words that the model doubts are heard again without what was said before, which may have led it astray.
    """
    words = yield from _hear_without_copies(speech, prompt, forced)
    if prompt.before and _doubtful(words):
        return (yield from _hear_without_copies(speech, replace(prompt, before=()), forced))
    return words


def _hear_without_copies(speech: Speech, prompt: Prompt, forced: Sequence[HeardWord]) -> Listening[list[HeardWord]]:
    words, repeated = yield from hear_quickly(speech, prompt, forced)
    if not repeated:
        return words
    words = without_rushed((yield Pass(speech, prompt, MAX_FRAMES)), forced)
    at = _repeated(words, forced)
    if at is None or _spoken_twice([*forced, *words], at + len(forced)):
        return words
    return words[:at]


def _doubtful(words: Sequence[HeardWord]) -> bool:
    logprobs = [logprob for word in words for logprob in word.logprobs]
    return bool(logprobs) and sum(logprobs) / len(logprobs) < DOUBTFUL


def without_rushed(words: Sequence[HeardWord], forced: Sequence[HeardWord] = ()) -> list[HeardWord]:
    """Return the words without copies of what stands right before them that have no time to be spoken in.

    However short: of "Try again. Try again." the second is taken out when the alignment found no sound for it.
    """
    kept = list(forced)
    for word in words:
        kept.append(word)
        length = _rushed_copy(kept, len(forced))
        del kept[len(kept) - length :]
    return kept[len(forced) :]


def _rushed_copy(words: Sequence[HeardWord], first: int) -> int:
    """Return the length of the rushed copy that ends here, none of it before ``first``; 0 if there is none."""
    spoken = _plain(words)
    for length in range(1, min(len(words) // 2, len(words) - first) + 1):
        original, copy = words[-2 * length : -length], words[-length:]
        if spoken[-length:] == spoken[-2 * length : -length] and _is_rushed(original, copy):
            return length
    return 0


def _is_rushed(original: Sequence[HeardWord], copy: Sequence[HeardWord]) -> bool:
    taken, needed = copy[-1].end - copy[0].start, original[-1].end - original[0].start
    return any(word.start == word.end for word in copy) and taken <= RUSHED * needed


def repeated_at(words: Sequence[HeardWord], first: int = 0) -> int | None:
    """Return the index, ``first`` or later, of the first word of a copy of what stands right before it, if any."""
    spoken = _plain(words)
    for at in range(max(1, first), len(spoken)):
        for length in range(1, min(at, len(spoken) - at) + 1):
            clause = spoken[at - length : at]
            if clause == spoken[at : at + length] and (length >= SHORTEST or _copies(spoken, at, clause) > MOST_COPIES):
                return at
    return None


def _repeated(words: Sequence[HeardWord], forced: Sequence[HeardWord]) -> int | None:
    at = repeated_at([*forced, *words], len(forced))
    return None if at is None else at - len(forced)


def _spoken_twice(words: Sequence[HeardWord], at: int) -> bool:
    """Return whether the clause before ``at`` and its copy take the time that saying both takes."""
    spoken = _plain(words)
    length = next((size for size in range(at, 0, -1) if spoken[at - size : at] == spoken[at : at + size]), 1)
    both = words[at - length : at + length]
    return both[-1].end - both[0].start >= FASTEST * len(both)


def _copies(spoken: Sequence[str], at: int, clause: Sequence[str]) -> int:
    """Return how often ``clause`` stands in a row, the one before ``at`` included."""
    count = 1
    while spoken[at : at + len(clause)] == clause:
        at += len(clause)
        count += 1
    return count


def _plain(words: Sequence[HeardWord]) -> list[str]:
    return ["".join(character for character in word.text.casefold() if character.isalnum()) for word in words]

"""Committed words as WebVTT captions (W3C), one cue per phrase, long ones cut.

Pure. Used by the report.
"""

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from attune_client.events import Word

MAX_CUE_US = 7_000_000
MIN_CUE_US = 1_000_000
MAX_CUE_CHARS = 84  # two lines
LINE_CHARS = 42
PAUSE_US = 600_000
SENTENCE_ENDS = (".", "!", "?", "…")


@dataclass(frozen=True)
class Cue:
    """One caption and when it is shown."""

    start_us: int
    end_us: int
    text: str


def cues(words: Sequence[Word], phrases: Iterable[Sequence[int]] = ()) -> list[Cue]:
    """Return the captions of ``words``; ``phrases`` are the word ids that belong together.

    Words of no phrase are cut at pauses and sentence ends. No cue lasts over 7 s or holds over two lines.
    """
    phrase_of = {word_id: number for number, ids in enumerate(phrases) for word_id in ids}
    groups: list[list[Word]] = []
    for word in words:
        if groups and _belongs(groups[-1], word, phrase_of):
            groups[-1].append(word)
        else:
            groups.append([word])
    return _readable([_cue(group) for group in groups])


def _belongs(group: list[Word], word: Word, phrase_of: dict[int, int]) -> bool:
    last = group[-1]
    phrase, last_phrase = (phrase_of.get(w.id) if w.id is not None else None for w in (word, last))
    if word.end_us - group[0].start_us > MAX_CUE_US or len(_joined([*group, word])) > MAX_CUE_CHARS:
        return False
    if phrase is not None or last_phrase is not None:
        return phrase == last_phrase
    return word.start_us - last.end_us < PAUSE_US and not last.text.rstrip().endswith(SENTENCE_ENDS)


def _joined(words: Iterable[Word]) -> str:
    return " ".join(word.text.strip() for word in words)


def _cue(group: list[Word]) -> Cue:
    start_us = group[0].start_us
    return Cue(start_us, min(max(word.end_us for word in group), start_us + MAX_CUE_US), _joined(group))


def _readable(raw: list[Cue]) -> list[Cue]:
    """Let short cues stand for a second where the next one leaves room, and end each before the next begins."""
    shown = [replace(cue, end_us=max(cue.end_us, cue.start_us + MIN_CUE_US)) for cue in raw]
    ended = [
        replace(cue, end_us=max(cue.start_us + 1000, min(cue.end_us, after.start_us))) for cue, after in pairwise(shown)
    ]
    return ended + shown[len(ended) :]


def webvtt(captions: Iterable[Cue]) -> str:
    """Return a WebVTT file."""
    blocks = [f"{_time(cue.start_us)} --> {_time(cue.end_us)}\n{_lines(cue.text)}" for cue in captions]
    return "\n\n".join(["WEBVTT", *blocks]) + "\n"


def _lines(text: str) -> str:
    escaped = (_escaped(line) for line in textwrap.wrap(text, LINE_CHARS, break_on_hyphens=False))
    return "\n".join(escaped)


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _time(time_us: int) -> str:
    seconds, millis = divmod(time_us // 1000, 1000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{millis:03}"

"""Words as WebVTT."""

import html
from itertools import pairwise
from pathlib import Path

import av
from hypothesis import given, settings
from hypothesis import strategies as st

from attune_client.captions import MAX_CUE_CHARS, MAX_CUE_US, Cue, cues, webvtt
from attune_client.events import Word


def spoken(text: str, each_us: int = 300_000) -> list[Word]:
    return [Word(part, at * each_us, (at + 1) * each_us, 1.0, at + 1) for at, part in enumerate(text.split())]


def test_a_phrase_is_a_cue() -> None:
    """Words of one phrase stand together, those of the next begin a new cue."""
    words = spoken("here is a cat and there is a cup", 500_000)
    assert cues(words, [(1, 2, 3, 4), (5, 6, 7, 8, 9)]) == [
        Cue(0, 2_000_000, "here is a cat"),
        Cue(2_000_000, 4_500_000, "and there is a cup"),
    ]


def test_words_of_no_phrase_are_cut_at_pauses_and_sentences() -> None:
    """A full stop or 600 ms of silence begins a new cue."""
    words = [*spoken("one two. three"), Word("four", 2_000_000, 2_300_000, 1.0, 4)]
    assert [cue.text for cue in cues(words)] == ["one two.", "three", "four"]


def test_a_short_cue_stays_readable() -> None:
    """A second, where the next cue leaves it that long."""
    words = [Word("yes.", 0, 200_000), Word("no.", 500_000, 600_000), Word("ah.", 5_000_000, 5_100_000)]
    assert [(cue.start_us, cue.end_us) for cue in cues(words)] == [
        (0, 500_000),
        (500_000, 1_500_000),
        (5_000_000, 6_000_000),
    ]


TEXT, PAUSE_US, LENGTH_US = st.text(min_size=1, max_size=12), st.integers(0, 2_000_000), st.integers(0, 9_000_000)


@settings(deadline=None)
@given(st.lists(st.tuples(TEXT, PAUSE_US, LENGTH_US), max_size=40), st.integers(1, 9))
def test_cues_keep_all_words_in_order_and_stay_short(parts: list[tuple[str, int, int]], per_phrase: int) -> None:
    """Whatever was said: nothing is lost, no cue overlaps the next, none lasts over 7 s or over two lines."""
    words, at_us = [], 0
    for number, (text, pause_us, length_us) in enumerate(parts, 1):
        words.append(Word(text, at_us + pause_us, at_us + pause_us + length_us, 1.0, number))
        at_us += pause_us + max(length_us, 1000)
    phrases = [tuple(range(first, first + per_phrase)) for first in range(1, len(words) + 1, per_phrase)]
    found = cues(words, phrases)
    assert " ".join(cue.text for cue in found) == " ".join(word.text.strip() for word in words)
    for cue, after in pairwise(found):
        assert cue.end_us <= after.start_us
    for cue in found:
        assert 0 < cue.end_us - cue.start_us <= MAX_CUE_US
        assert len(cue.text) <= MAX_CUE_CHARS


def test_a_foreign_reader_gets_the_words_back(tmp_path: Path) -> None:
    """FFmpeg reads the file: same times, same words, markup characters included."""
    path = tmp_path / "captions.vtt"
    text = "if a < b && b --> c then <i>stop</i> at once"
    path.write_text(webvtt([Cue(0, 1_500_000, text), Cue(3_723_004_000, 3_725_000_000, "bye")]), encoding="utf-8")
    with av.open(str(path)) as file:
        packets = [packet for packet in file.demux() if packet.size]
        read = [html.unescape(bytes(packet).decode()).replace("\n", " ") for packet in packets]
        times = [(packet.pts, packet.duration) for packet in packets]
    assert read == [text, "bye"]
    assert times == [(0, 1_500), (3_723_004, 1_996)]


def test_long_cues_break_into_lines() -> None:
    """Lines of at most 42 characters, no words cut."""
    shown = webvtt([Cue(0, 1_000_000, " ".join(["word"] * 16))])
    assert all(len(line) <= 42 for line in shown.splitlines())
    assert shown.startswith("WEBVTT\n\n00:00:00.000 --> 00:00:01.000\nword ")


def test_no_words_are_an_empty_file_of_the_format() -> None:
    """Players accept it."""
    assert webvtt(cues([])) == "WEBVTT\n"

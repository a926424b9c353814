"""Which words belong to which item."""

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.common.errors import Unavailable
from services.common.types import Word
from services.gateway.realtime.options import Options
from services.gateway.realtime.turns import CommitEmpty, Turns

MANUAL = Options(vad=None)
SECOND = 1_000_000


def turns_of(options: Options = MANUAL, now_us: int = 0) -> Turns:
    numbers = itertools.count(1)
    turns = Turns(options, lambda: f"item_{next(numbers)}")
    turns.now_us = now_us
    return turns


def words(text: str) -> tuple[Word, ...]:
    return tuple(Word(word, 0, 0, 1.0) for word in text.split())


def kinds(told: list) -> list[str]:
    return [event["type"].rpartition(".")[2] for event in told]


def transcripts(told: list) -> list[str]:
    return [event["transcript"] for event in told if event["type"].endswith(".completed")]


def test_words_that_come_before_the_commit_are_told_after_it():
    """Without turn detection no item exists before the commit, so there is nothing to tell words of."""
    turns = turns_of(now_us=SECOND)
    assert turns.heard(words("one two")) == []
    told, marker = turns.commit()
    assert kinds(told) == ["committed", "added", "delta"]
    assert kinds(turns.heard(words("three"))) == ["delta"]
    told = turns.answered(marker)
    assert kinds(told) == ["completed", "done"]
    assert transcripts(told) == ["one two three"]
    assert told[0]["usage"] == {"type": "duration", "seconds": 1.0}


def test_words_between_two_markers_belong_to_the_second_item():
    """Both commits were sent before the first was answered."""
    turns = turns_of(now_us=SECOND)
    _, first = turns.commit()
    turns.now_us += SECOND
    told, second = turns.commit()
    assert told[0]["previous_item_id"] == first
    turns.heard(words("one"))
    assert transcripts(turns.answered(first)) == ["one"]
    turns.heard(words("two"))
    assert transcripts(turns.answered(second)) == ["two"]


@given(st.lists(st.sampled_from(["word", "commit", "answer"]), max_size=40))
def test_every_word_is_in_one_item(steps: list[str]):
    """However words, commits and answers fall, items hold each word once, in order, up to the last answered commit."""
    turns, open_markers, told, said = turns_of(), [], [], []
    answered = 0  # words before the newest answered commit, as the recogniser sees it: it takes commits in order
    for step in steps:
        if step == "word":
            said.append(f"w{len(said)}")
            told += turns.heard(words(said[-1]))
        elif step == "commit":
            turns.now_us += SECOND
            events, marker = turns.commit()
            told += events
            open_markers.append(marker)
        elif open_markers:
            told += turns.answered(open_markers.pop(0))
            answered = len(said)
    assert " ".join(filter(None, transcripts(told))).split() == said[:answered]


def test_speech_is_an_item_from_start_to_stop():
    """With turn detection the padding before and the silence after it count, as OpenAI has it."""
    turns = turns_of(Options(), now_us=5 * SECOND)
    (started,) = turns.started(SECOND)
    assert started["audio_start_ms"] == 750
    assert turns.started(SECOND) == []  # a recogniser that took over says it again
    turns.heard(words("one"))
    told = turns.stopped(2 * SECOND)
    assert kinds(told) == ["speech_stopped", "committed", "added", "completed", "done"]
    assert told[0]["audio_end_ms"] == 2_500
    assert {event.get("item_id", started["item_id"]) for event in told} == {started["item_id"]}


def test_a_commit_in_the_middle_of_speech_ends_it():
    """The item is the one that was announced, and its stop is not told. Silence is an empty item."""
    turns = turns_of(Options(), now_us=2 * SECOND)
    (started,) = turns.started(SECOND)
    told, marker = turns.commit()
    assert told == []
    turns.heard(words("one"))
    told = turns.stopped(2 * SECOND)
    assert kinds(told) == ["committed", "added", "completed", "done"]
    assert told[0]["item_id"] == started["item_id"]
    assert turns.answered(marker) == []
    turns.now_us += SECOND
    _, marker = turns.commit()
    assert transcripts(turns.answered(marker)) == [""]


@pytest.mark.parametrize("options", [MANUAL, Options()])
def test_a_commit_of_next_to_nothing_is_refused(options: Options):
    """100 ms since the last item, not since the session began."""
    turns = turns_of(options, now_us=99_999)
    with pytest.raises(CommitEmpty):
        turns.commit()
    turns.now_us = 100_000
    turns.commit()
    with pytest.raises(CommitEmpty) as caught:
        turns.commit()
    assert caught.value.code == "input_audio_buffer_commit_empty"


@pytest.mark.parametrize("options", [MANUAL, Options()])
def test_what_is_cleared_is_told_to_nobody(options: Options):
    """Not what was said before, nor what the recogniser says of it later; what follows is."""
    turns = turns_of(options, now_us=SECOND)
    turns.started(0)
    turns.heard(words("one"))
    told, marker = turns.clear()
    assert kinds(told) == ["cleared"]
    assert turns.heard(words("two")) + turns.stopped(SECOND) + turns.started(SECOND) + turns.answered(marker) == []
    turns.now_us += SECOND
    turns.started(SECOND)
    turns.heard(words("three"))
    told, marker = turns.commit()
    told += turns.stopped(2 * SECOND) + turns.answered(marker)
    assert transcripts(told) == ["three"]


def test_a_clear_after_a_commit_leaves_the_commit_alone():
    """Its words are still to come."""
    turns = turns_of(now_us=SECOND)
    turns.heard(words("one"))
    _, committed = turns.commit()
    _, cleared = turns.clear()
    turns.heard(words("two"))
    assert transcripts(turns.answered(committed)) == ["one two"]
    assert turns.heard(words("three")) + turns.answered(cleared) == []


@pytest.mark.parametrize(("options", "speaking"), [(MANUAL, False), (Options(), False), (Options(), True)])
def test_a_lost_recogniser_fails_each_item_once(options: Options, speaking: bool):
    """Committed or running, it is told as failed and incomplete; the next one is well."""
    turns = turns_of(options, now_us=SECOND)
    if speaking:
        turns.started(0)
    told, _ = turns.commit()
    told += turns.failed(Unavailable("gone"))
    assert kinds(told) == ["committed", "added", "failed", "done"]
    assert (told[2]["error"]["code"], told[3]["item"]["status"]) == ("unavailable", "incomplete")
    turns.now_us += SECOND
    told, marker = turns.commit()
    assert transcripts([*told, *turns.answered(marker)]) == [""]


def test_the_older_shape_has_one_event_per_item():
    """`created` stands for `added` and `done`."""
    turns = turns_of(replace(MANUAL, older=True), now_us=SECOND)
    told, marker = turns.commit()
    assert kinds([*told, *turns.answered(marker)]) == ["committed", "created", "completed"]

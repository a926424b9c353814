"""Clauses that a decoder says twice."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from services.asr.models.whisper import Prompt, Speech
from services.asr.repetition import MAX_FRAMES, MIN_FRAMES, hear_quickly, hear_thoroughly, repeated_at, without_rushed
from tests.unit.asr.asr_words import answered, heard, sentence

SPEECH = Speech(np.zeros(32_000, np.float32))
FAST, SLOW = 1_000, 6_000  # samples a word


class ScriptedHearer:
    """Answers by the number of frames it is given, and notes them."""

    def __init__(self, few, many):
        self.few, self.many = few, many
        self.frames = []

    def hear(self, speech, prompt, frames):
        self.frames.append(frames)
        return self.many if frames == MAX_FRAMES else self.few


class Misled:
    """Answers by whether something was said before, and notes what it is told."""

    def __init__(self, told, alone):
        self.told, self.alone = told, alone
        self.prompts = []

    def hear(self, speech, prompt, frames):
        self.prompts.append(prompt)
        return self.told if prompt.before else self.alone


def test_a_clause_said_twice_is_found():
    """The index is that of the copy's first word; case and punctuation do not matter."""
    assert repeated_at(sentence("so It was the best. it was the best of times")) == 5


def test_two_words_said_twice_are_speech():
    """People say short things twice."""
    assert repeated_at(sentence("no no it was very very late try again fail again")) is None


def test_a_word_said_over_and_over_is_a_loop():
    """A fourth copy of anything is a loop."""
    assert repeated_at(sentence("and the the the the the")) == 2


def test_copies_among_the_forced_words_are_left_alone():
    """What is committed stays; only new words can be a repetition."""
    words = sentence("we shall fight we shall fight on")
    assert repeated_at(words) == 3
    assert repeated_at(words, first=6) is None


def test_a_quick_pass_stops_at_the_repetition():
    """The words before it stand, and the caller is told."""
    hearer = ScriptedHearer(sentence("it was late it was late"), [])
    words, repeated = answered(hear_quickly(SPEECH, Prompt(), []), hearer)
    assert ([word.text for word in words], repeated) == (["it", "was", "late"], True)
    assert hearer.frames == [MIN_FRAMES]


def test_a_thorough_pass_hears_again_with_all_frames():
    """The second hearing decides."""
    hearer = ScriptedHearer(sentence("it was late it was late"), sentence("it was late in the year"))
    assert [word.text for word in answered(hear_thoroughly(SPEECH, Prompt()), hearer)] == [
        "it",
        "was",
        "late",
        "in",
        "the",
        "year",
    ]
    assert hearer.frames == [MIN_FRAMES, MAX_FRAMES]


def test_words_that_are_doubted_are_heard_without_the_prompt():
    """A prompt that leads the model astray costs a pass, not the text; without a prompt nothing is heard again."""
    doubted = [replace(word, logprobs=(-1.9,)) for word in sentence("word of word")]
    told = Prompt(before=(7, 8), temperature=0.4)
    hearer = Misled(doubted, sentence("ever tried"))
    assert answered(hear_thoroughly(SPEECH, told), hearer) == sentence("ever tried")
    assert hearer.prompts == [told, replace(told, before=())]
    assert answered(hear_thoroughly(SPEECH, Prompt()), ScriptedHearer(doubted, [])) == doubted


def test_a_copy_without_time_for_it_is_dropped():
    """Heard twice again, but faster than anybody speaks: an invention."""
    words = sentence("it was late it was late", FAST)
    assert answered(hear_thoroughly(SPEECH, Prompt()), ScriptedHearer(words, words)) == words[:3]


def test_a_copy_with_time_for_it_is_speech():
    """Heard twice again, at the pace of speech: it was said twice."""
    words = sentence("it was late it was late", SLOW)
    assert answered(hear_thoroughly(SPEECH, Prompt()), ScriptedHearer(words, words)) == words


@given(st.lists(st.sampled_from("abcd"), max_size=14))
def test_what_stands_before_a_repetition_has_none(texts):
    """Truncating at the index leaves words without repetition."""
    words = sentence(" ".join(texts))
    at = repeated_at(words)
    assert at is None or repeated_at(words[:at]) is None


def spans(*words):
    return [heard(text, start, end) for text, start, end in words]


TRY_AGAIN = spans(
    ("Try", 50_240, 59_200), ("again.", 59_200, 62_400), ("Try", 62_400, 62_400), ("again.", 62_400, 69_760)
)


def test_a_copy_without_time_was_not_spoken():
    """However short the clause: a copy with a word of no time, said faster than the original, goes."""
    assert [word.text for word in without_rushed(TRY_AGAIN)] == ["Try", "again."]


def test_a_loop_without_time_goes_and_what_follows_stays():
    """Copy after copy is taken out; the words after them are kept."""
    loop = [heard(text, 69_760, 69_760) for text in ("Try", "again.") * 4]
    words = without_rushed([*TRY_AGAIN, *loop, heard("Fail", 70_000, 80_000)])
    assert [word.text for word in words] == ["Try", "again.", "Fail"]


def test_a_copy_that_takes_its_time_was_spoken():
    """People say "no, no", and a slow copy stays even where the alignment lost one word's time."""
    said = spans(("No,", 0, 8_000), ("no.", 8_000, 16_000))
    assert without_rushed(said) == said
    slow = spans(("Try", 0, 9_000), ("again.", 9_000, 16_000), ("Try", 16_000, 16_000), ("again.", 16_000, 30_000))
    assert without_rushed(slow) == slow


def test_a_copy_of_forced_words_goes_and_they_stay():
    """New words that only repeat what is committed without time for it are taken out."""
    assert without_rushed(TRY_AGAIN[2:], TRY_AGAIN[:2]) == []
    assert without_rushed([], TRY_AGAIN) == []


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9_000)), max_size=12), st.integers(0, 4))
def test_words_that_all_take_time_are_left_alone(said, forced):
    """Only copies with a word of no time are ever taken out, and always later words, never earlier ones."""
    at, words = 0, []
    for text, length in said:
        words.append(heard(text, at, at + length))
        at += length
    kept = without_rushed(words[forced:], words[:forced])
    identities = {id(word) for word in kept}
    assert [word for word in words[forced:] if id(word) in identities] == kept
    if all(length for _, length in said):
        assert kept == words[forced:]


def test_a_quick_pass_tells_of_a_rushed_copy():
    """So that the last pass of a stretch hears it again, thoroughly."""
    words, repeated = answered(hear_quickly(SPEECH, Prompt(), []), ScriptedHearer(TRY_AGAIN, []))
    assert ([word.text for word in words], repeated) == (["Try", "again."], True)

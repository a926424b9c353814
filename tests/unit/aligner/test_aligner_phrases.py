"""The rules by which words become phrases."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.aligner.phrases import MAX_TOKENS, PAUSE_US, Phrase, PhraseCutter, ends_sentence
from services.common.types import SpokenWord


def cutter() -> PhraseCutter:
    return PhraseCutter(lambda text: len(text.split()))


def spoken(text: str, gap_us: int = 100_000) -> list[SpokenWord]:
    step_us = 300_000 + gap_us
    return [SpokenWord(i, word, i * step_us, i * step_us + 300_000) for i, word in enumerate(text.split())]


@pytest.mark.parametrize(
    "word", ["hammer.", "hammer?", "hammer!", 'hammer."', "hammer.)", "1995.", "wait…", "I.", "No."]
)
def test_a_sentence_ends(word: str) -> None:
    """Sentence punctuation ends a phrase, also before closing quotes and brackets."""
    assert ends_sentence(word)


@pytest.mark.parametrize("word", ["hammer", "hammer,", "Dr.", "(Dr.", "e.g.", "U.S.", "J.", "3.5", "3.5,", "v2.0", ""])
def test_a_sentence_goes_on(word: str) -> None:
    """Commas, abbreviations, initials and full stops inside numbers end nothing."""
    assert not ends_sentence(word)


def test_punctuation_ends_the_phrase_at_once() -> None:
    """The word that ends a sentence ends the phrase; the next word begins another."""
    phrases = cutter().add(spoken("A cat. A dog"))
    assert phrases == [Phrase((0, 1), "A cat.", 0, 700_000)]


def test_a_comma_does_not_end_the_phrase() -> None:
    """A phrase runs over commas."""
    assert cutter().add(spoken("First, second, third")) == []


def test_a_pause_between_words_ends_the_phrase() -> None:
    """A gap of 600 ms ends the phrase before it, one that is shorter does not."""
    assert len(cutter().add(spoken("one two", PAUSE_US))) == 1
    assert cutter().add(spoken("one two", PAUSE_US - 1)) == []


def test_progress_tells_of_a_pause() -> None:
    """When all words up to 600 ms after the last one are known, the phrase has ended."""
    cut = cutter()
    cut.add(spoken("one two"))
    assert cut.progress(700_000 + PAUSE_US - 1) == []
    assert cut.progress(700_000 + PAUSE_US) == [Phrase((0, 1), "one two", 0, 700_000)]
    assert cut.progress(10**9) == []


def test_a_word_that_overflows_begins_the_next_phrase() -> None:
    """A phrase never has more tokens than 32, unless one word alone has."""
    cut = PhraseCutter(lambda text: 20)
    assert [phrase.word_ids for phrase in cut.add(spoken("a b"))] == [(0,)]


def test_words_without_text_end_as_well() -> None:
    """Each word counts as a token at least, so that no phrase grows without end."""
    cut = PhraseCutter(lambda text: 0)
    assert len(cut.add([SpokenWord(i, "", i, i) for i in range(MAX_TOKENS)])) == 1


@given(
    st.lists(st.tuples(st.sampled_from(["a", "b.", "c,", "Dr.", "?"]), st.integers(0, 900_000)), max_size=120),
    st.integers(1, 40),
)
def test_every_word_is_in_one_phrase(drawn: list[tuple[str, int]], tokens: int) -> None:
    """Phrases hold all words once and in order, whatever the words are; none but single words has over 32 tokens."""
    now_us, made = 0, []
    for i, (text, gap_us) in enumerate(drawn):
        made.append(SpokenWord(i, text, now_us + gap_us, now_us + gap_us + 200_000))
        now_us = made[-1].end_us
    cut = PhraseCutter(lambda text: tokens)
    phrases = cut.add(made) + cut.end()
    assert [word_id for phrase in phrases for word_id in phrase.word_ids] == list(range(len(made)))
    assert all(len(phrase.word_ids) == 1 or len(phrase.word_ids) * tokens <= MAX_TOKENS for phrase in phrases)
    assert cut.end() == []

"""The real model on its real weights: passes heard together."""

import numpy as np
import pytest

from services.asr.models.whisper import Pass, Prompt, Speech, WhisperModel, tiny_en_folder
from services.asr.repetition import MIN_FRAMES
from tests.unit.asr.audio import two_cities_pcm

SECOND = 16_000


@pytest.fixture(scope="module")
def model():
    return WhisperModel(tiny_en_folder(), 1)


@pytest.fixture(scope="module")
def samples():
    return (two_cities_pcm(40)[::3] / 32_768).astype(np.float32)


def stretch(samples, start_s, seconds, undecided=0):
    origin = int(start_s * SECOND)
    part = samples[origin : origin + int(seconds * SECOND)]
    return Pass(Speech(part, origin, undecided), Prompt(), MIN_FRAMES)


def test_words_are_the_same_together_and_alone(model, samples):
    """Stretches of unlike length and speech: words, tokens and times do not depend on the neighbours."""
    passes = [stretch(samples, start, seconds) for start, seconds in ((1, 3), (6, 8), (14, 5), (20, 1), (25, 8))]
    assert len({wanted.kind for wanted in passes}) == 1
    together = model.hear(passes)
    for wanted, words in zip(passes, together, strict=True):
        (alone,) = model.hear([wanted])
        assert [(w.tokens, w.start, w.end) for w in words] == [(w.tokens, w.start, w.end) for w in alone]
    assert sum(map(len, together)) > 40


def test_forced_words_may_be_of_unlike_number(model, samples):
    """Each pass goes on after its own forced words."""
    whole = stretch(samples, 6, 8)
    (words,) = model.hear([whole])
    passes = [
        Pass(whole.speech, Prompt(forced=tuple(token for word in words[:count] for token in word.tokens)), MIN_FRAMES)
        for count in (1, 4, 9)
    ]
    heard = model.hear(passes)
    assert [[word.text for word in one] for one in heard] == [
        [word.text for word in words[count:]] for count in (1, 4, 9)
    ]


def test_a_pass_is_cut_off_where_it_is_alone(model, samples):
    """One that has room for few words only gets no more beside one that has room for many."""
    end = 14 * SECOND
    short = stretch(samples, 6, 8, undecided=end)
    (alone,), together = model.hear([short]), model.hear([short, stretch(samples, 6, 8)])
    assert [word.tokens for word in together[0]] == [word.tokens for word in alone]
    assert len(together[1]) > len(together[0]) > 0

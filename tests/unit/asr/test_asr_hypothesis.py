"""Which words of a pass are final."""

from hypothesis import given
from hypothesis import strategies as st

from services.asr.hypothesis import HOLD_BACK, LocalAgreement
from tests.unit.asr.asr_words import heard, sentence

LATE = 10**9


def test_the_first_pass_commits_nothing():
    """One pass alone agrees with nobody."""
    assert LocalAgreement().decide(sentence("it was the best"), LATE) == 0


def test_words_are_final_when_two_passes_agree():
    """The common beginning of two passes is committed."""
    policy = LocalAgreement()
    policy.decide(sentence("it was the beast"), LATE)
    assert policy.decide(sentence("it was the best of"), LATE) == 3


def test_the_undecided_rest_counts_for_the_next_pass():
    """A pass is compared with what the one before left open."""
    policy = LocalAgreement()
    policy.decide(sentence("it was"), LATE)
    policy.decide(sentence("it was the best"), LATE)
    assert policy.decide(sentence("the best of"), LATE) == 2


def test_a_word_at_the_end_of_the_audio_is_held_back():
    """A word that ends where the audio does may be cut in two."""
    policy = LocalAgreement()
    words = [heard("it", 0, 1_000), heard("was", 1_000, 2_000)]
    policy.decide(words, LATE)
    assert policy.decide(words, 1_000 + HOLD_BACK) == 1


def test_reset_forgets_the_pass_before():
    """New speech agrees with nothing said earlier."""
    policy = LocalAgreement()
    policy.decide(sentence("it was"), LATE)
    policy.reset()
    assert policy.decide(sentence("it was"), LATE) == 0


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=6), max_size=12))
def test_only_words_of_two_passes_in_a_row_are_committed(passes):
    """What is committed stood at the same place in the pass before."""
    policy = LocalAgreement()
    before: list[str] = []
    for texts in passes:
        count = policy.decide([heard(text) for text in texts], LATE)
        assert texts[:count] == before[:count]
        before = texts[count:]

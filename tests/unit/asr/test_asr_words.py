"""Words out of tokens."""

from services.asr.words import POSITION_PER_STEP, split, timed, token_starts

PIECES = {1: " It", 2: " was", 3: ",", 4: " Dar", 5: "win", 6: " -", 7: " the"}


def decode(tokens):
    return b"".join(
        {100: b" caf", 101: b"\xc3", 102: b"\xa9"}[token] if token >= 100 else PIECES[token].encode()
        for token in tokens
    ).decode("utf-8", errors="replace")


def test_words_begin_with_a_space():
    """Pieces without one belong to the word before."""
    assert split([1, 2, 4, 5], decode) == [("It", (1,)), ("was", (2,)), ("Darwin", (4, 5))]


def test_punctuation_stays_with_the_word_before():
    """Also a dash that stands alone."""
    assert split([1, 3, 2, 6, 7], decode) == [("It,", (1, 3)), ("was -", (2, 6)), ("the", (7,))]


def test_a_character_may_take_several_tokens():
    """Tokens are bytes; a word is whole characters."""
    assert split([100, 101, 102, 2], decode) == [("café", (100, 101, 102)), ("was", (2,))]


def test_token_starts_are_the_first_frames():
    """A token that the path skips begins where the next one does."""
    assert token_starts([(0, 0), (0, 1), (1, 4), (3, 9)], 3) == [0, 4, 9, 9]


def test_words_get_the_times_and_probabilities_of_their_tokens():
    """Start of the first token, start of the token after the last, mean probability."""
    words = timed([("Darwin", (4, 5)), ("was", (2,))], [0, 3, 5, 10], [0.5, 1.0, 0.25], 1_000)
    assert [(word.start, word.end, word.confidence) for word in words] == [
        (1_000, 1_000 + 5 * POSITION_PER_STEP, 0.75),
        (1_000 + 5 * POSITION_PER_STEP, 1_000 + 10 * POSITION_PER_STEP, 0.25),
    ]

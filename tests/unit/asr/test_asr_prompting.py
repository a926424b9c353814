"""What the decoder is told."""

from services.asr.models.whisper import WhisperModel, tiny_en_folder
from services.asr.prompting import CONTEXT_TOKENS, PROMPT_TOKENS, prompt_tokens
from services.common.types import Encoding, RecognizeConfig


def counted(text):
    """Return a token a word."""
    return tuple(range(len(text.split())))


def test_the_end_of_a_long_prompt_counts():
    """As in Whisper; live speech leaves room for what was said before."""
    for encoding, room in ((Encoding.FILE, PROMPT_TOKENS), (Encoding.MULAW, PROMPT_TOKENS - CONTEXT_TOKENS)):
        config = RecognizeConfig(encoding, prompt="word " * 300)
        tokens, warned = prompt_tokens(config, counted)
        assert tokens == tuple(range(300 - room, 300))
        assert warned.code == "prompt_truncated"


def test_a_short_prompt_is_told_whole():
    """Without a warning, and white space is none of it."""
    assert prompt_tokens(RecognizeConfig(Encoding.FILE, prompt=" a \n b "), counted) == ((0, 1), None)
    assert prompt_tokens(RecognizeConfig(Encoding.FILE, prompt=" "), counted) == ((), None)


def test_tokens_spell_their_bytes_and_no_marks():
    """The bytes of a text's tokens are the text; the model's own marks in it are left out."""
    model = WhisperModel(tiny_en_folder(), 1)
    text = 'Zoë said "漢字", 100 % sure\tof it'
    assert b"".join(map(model.spelling, model.spelled(text))) == f" {text}".encode()
    assert all(token < 50_256 for token in model.spelled("<|endoftext|><|startoftranscript|><|notimestamps|>"))

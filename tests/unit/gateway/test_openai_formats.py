"""A transcript in OpenAI's formats."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from services.common.types import Committed, Ready, Token, Warned, Window, Word
from services.gateway.openai import formats
from services.gateway.openai.languages import NAMES, name_of
from services.gateway.openai.segments import LONGEST_US, PAUSE_US, segmented
from services.gateway.openai.transcript import Transcript

MS = 1_000


def spoken(text: str, start_us: int = 0, pause_us: int = 0) -> Committed:
    """Return a window of words of 400 ms each, as many tokens."""
    words = []
    for number, word in enumerate(text.split()):
        begin = start_us + number * (400 * MS + pause_us)
        words.append(Word(word, begin, begin + 400 * MS, 0.5, tokens=(Token(number, f" {word}".encode(), -0.5),)))
    return Committed(tuple(words), window=Window(start_us, 0.25, "en"))


def test_segments_end_with_sentences_pauses_and_windows():
    """Each of the three ends one, and so does length."""
    windows = [spoken("One two. Three"), spoken("four", 9_000_000)]
    assert [segment.text for segment in segmented(windows)] == ["One two.", "Three", "four"]
    assert [segment.text for segment in segmented([spoken("a b", pause_us=PAUSE_US)])] == ["a", "b"]
    assert len(segmented([spoken("a b", pause_us=PAUSE_US - 1)])) == 1
    assert len(segmented([spoken("word " * 40)])) == 3


@given(st.lists(st.tuples(st.sampled_from(["so", "it", "is."]), st.integers(0, 900)), max_size=60))
def test_segments_hold_every_word_once(said: list[tuple[str, int]]):
    """In order, none longer than a caption may be unless one word is."""
    at, words = 0, []
    for text, pause_ms in said:
        words.append(Word(text, at + pause_ms * MS, at + (pause_ms + 300) * MS, 1.0))
        at = words[-1].end_us
    segments = segmented([Committed(tuple(words))])
    assert [word for segment in segments for word in segment.words] == words
    assert all(segment.end_us - segment.start_us <= LONGEST_US for segment in segments)
    assert all(a.end_us <= b.start_us for a, b in itertools.pairwise(segments))


def test_captions_after_an_hour():
    """Hours are told, and markup in a word is no markup in WebVTT."""
    transcript = Transcript(windows=[spoken("a<b", 3_661_007 * MS)])
    assert formats.srt_body(transcript) == "1\n01:01:01,007 --> 01:01:01,407\na<b\n\n"
    assert formats.vtt_body(transcript) == "WEBVTT\n\n01:01:01.007 --> 01:01:01.407\na&lt;b\n\n"


def test_nothing_said_is_nothing_written():
    """Every format of silence can be read."""
    silent = Transcript(Ready("m", "en"), duration_us=1_500 * MS)
    assert formats.json_body(silent, logprobs=True) == {
        "text": "",
        "usage": {"type": "duration", "seconds": 1.5},
        "logprobs": [],
    }
    assert formats.verbose_body(silent, {"word", "segment"}, 0.0) | {"segments": None} == {
        "task": "transcribe",
        "language": "english",
        "duration": 1.5,
        "text": "",
        "segments": None,
        "words": [],
        "usage": {"type": "duration", "seconds": 1.5},
    }
    assert (formats.text_body(silent), formats.srt_body(silent), formats.vtt_body(silent)) == ("\n", "", "WEBVTT\n\n")


def test_a_segments_figures():
    """The mean of its tokens, the window's start in frames, the window's own probability."""
    (segment,) = segmented([spoken("one two three", 2_340 * MS)])
    body = formats.segment_json(3, segment, 0.2)
    assert (body["id"], body["seek"], body["start"], body["end"]) == (3, 234, 2.34, 3.54)
    assert (body["avg_logprob"], body["no_speech_prob"], body["temperature"]) == (-0.5, 0.25, 0.2)
    assert (body["tokens"], body["text"]) == ([0, 1, 2], " one two three")


def test_a_loop_has_a_high_compression_ratio():
    """As in Whisper, where 2.4 is too much."""
    looping = segmented([Committed(tuple(Word("again", 0, 1, 1.0) for _ in range(60)))])
    assert looping[0].compression_ratio > 2.4
    assert segmented([spoken("Ever tried, ever failed.")])[0].compression_ratio < 1


def test_the_language_is_asked_for_or_found():
    """A model of many languages says in the window which it was."""
    assert Transcript(Ready("m", "de"), [spoken("a")]).language == "de"
    assert Transcript(Ready("m"), [spoken("a")]).language == "en"
    assert name_of(Transcript(Ready("m")).language) == "unknown"
    assert len(NAMES) == 100
    assert (name_of("ht"), name_of("zh")) == ("haitian creole", "chinese")


def test_the_stream_counts_tokens():
    """50 positions of the encoder a second and the prompt in, the text's tokens out."""
    transcript = Transcript(Ready("m", "en", 7), [spoken("one two")], duration_us=2_000 * MS)
    usage = formats.token_usage(transcript)
    assert (usage["input_tokens"], usage["output_tokens"], usage["total_tokens"]) == (107, 2, 109)


def test_warnings_are_told():
    """What was cut or damaged stands beside the text."""
    body = formats.json_body(Transcript(warnings=[Warned("damaged_audio", "it breaks off")]), logprobs=False)
    assert body["warnings"] == [{"code": "damaged_audio", "message": "it breaks off"}]

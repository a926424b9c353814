"""What a live session and file requests are scored by."""

import io
import wave
from dataclasses import replace
from itertools import pairwise
from types import ModuleType

import pytest
from starlette.responses import JSONResponse, PlainTextResponse

from attune_client import AlignmentResult, AttuneError
from attune_client.events import Alignment, Committed, Partial, Score, SessionEnded, SpeechStarted, Word
from attune_client.media import duration_us
from bench import live, rest
from bench.measure import Target, word_error_rate
from bench.recording import Arrival, Recording
from bench.rest import Timing
from bench.speech import SHORT_CLIP_US, Speech, clip_wav, read_two_cities
from bench.tour import Picture
from tests.unit.client.server import Heard, Script, serving


@pytest.fixture(scope="module")
def speech() -> Speech:
    return read_two_cities()


def alignment(*word_ids: int, revision: int = 0) -> Alignment:
    return Alignment(word_ids, None, "none", Score(0, 0, 0), revision=revision, final=False)


def test_the_true_words_are_the_text_in_order(speech: Speech) -> None:
    """Times go forward, within the recording, and the words make up the text."""
    assert word_error_rate(speech.text, " ".join(word.text for word in speech.words)) == 0
    assert all(earlier.end_us <= later.end_us for earlier, later in pairwise(speech.words))
    assert speech.words[0].start_us < speech.start_us < speech.words[0].end_us
    assert speech.words[-1].end_us < duration_us(speech.pcm)


def test_the_clip_ends_in_a_pause(speech: Speech) -> None:
    """No word is cut, and the WAV lasts as long as it says."""
    assert not any(word.start_us < SHORT_CLIP_US < word.end_us for word in speech.words)
    with wave.open(io.BytesIO(clip_wav(speech.pcm, SHORT_CLIP_US))) as file:
        assert file.getnframes() * 1_000_000 == SHORT_CLIP_US * file.getframerate()


def test_pictures_repeat_every_five_seconds() -> None:
    """Two pictures over 11 s are shown three times in turn."""
    pair = [Picture("a", 7, b"a"), Picture("b", 8, b"b")]
    assert [(each.file, each.pts_us) for each in live.repeated(pair, 11_000_000)] == [
        ("a", 0),
        ("b", 5_000_000),
        ("a", 10_000_000),
    ]


def test_the_delay_of_an_alignment_counts_from_its_last_word_to_its_first_answer() -> None:
    """Earlier words and later revisions do not matter."""
    words = [Word("a", 0, 1, 1.0, 1), Word("b", 1, 2, 1.0, 2), Word("c", 2, 3, 1.0, 3)]
    arrivals = [
        Arrival(100, Committed((words[0],))),
        Arrival(200, Committed((words[1],))),
        Arrival(250, alignment(1, 2)),
        Arrival(300, Committed((words[2],))),
        Arrival(310, alignment(1, 2, revision=1)),
        Arrival(400, alignment(3)),
    ]
    assert live.align_delays_us(arrivals) == [50, 100]


def test_the_first_words_are_the_first_that_say_something_after_speech_began() -> None:
    """An empty partial is no words; a commit is as good as a partial."""
    first = Word("it", 0, 1, 1.0, 1)
    arrivals = [Arrival(900, SpeechStarted(700)), Arrival(1000, Partial("", ())), Arrival(1500, Committed((first,)))]
    assert live.first_words_us(arrivals, 700) == 800
    assert live.first_words_us(arrivals[:2], 700) is None


def test_a_session_that_commits_each_word_a_second_late_is_a_second_late(speech: Speech) -> None:
    """Every word is measured against its true end, whatever times the server gives."""
    commits = [
        Arrival(true.end_us + 1_000_000, Committed((Word(true.text, at, at + 1, 1.0, at),)))
        for at, true in enumerate(speech.words)
    ]
    figures = live.figures(speech, Recording((*commits, Arrival(10**9, SessionEnded()))))
    assert figures["word_lag_p50_ms"] == figures["word_lag_p95_ms"] == figures["commit_lag_p95_ms"] == 1000
    assert figures["words_measured"] == figures["words_spoken"] == len(speech.words)
    assert figures["wer"] == 0


def test_a_request_needs_the_slower_reader_and_then_the_aligner() -> None:
    """The ratio sets the caller's time against what the stages need."""
    timings = [Timing(total_us=1150, asr_us=900, vision_us=400, align_us=100)] * 3
    assert rest.figures(timings)["total_over_stages"] == 1.15
    assert Timing(0, 300, 700, 50).stages_us == 750


def test_an_answer_without_a_stage_is_not_measured() -> None:
    """A request that skipped work would look fast."""
    result = AlignmentResult("a1", 9, (), (), (), timing={"asr_us": 1, "vision_us": 2, "align_us": 3, "total_us": 5})
    assert rest.timing_of(result, 9) == Timing(9, 1, 2, 3)
    with pytest.raises(AttuneError, match="without vision"):
        rest.timing_of(replace(result, degraded=("vision",)), 9)
    with pytest.raises(AttuneError, match="timing cannot be read") as caught:
        rest.timing_of(replace(result, timing=None), 9)
    assert caught.value.code == "bad_answer"


@pytest.mark.parametrize("benchmark", [live, rest])
@pytest.mark.parametrize(("address", "code"), [("http://127.0.0.1:9", "unavailable"), ("garbage", "invalid_input")])
async def test_without_a_server_one_line_says_so(benchmark: ModuleType, address: str, code: str) -> None:
    """The command line shows an AttuneError as one line, anything else as a traceback."""
    with pytest.raises(AttuneError) as caught:
        await benchmark.run(Target(address))
    assert caught.value.code == code


@pytest.mark.parametrize("benchmark", [live, rest])
async def test_a_server_of_something_else_is_not_measured(benchmark: ModuleType) -> None:
    """Its answers mean nothing, whatever their status."""
    script = Script(refuse_upgrade=PlainTextResponse("hello", 200))
    script.answers["/v1/alignments"] = lambda: PlainTextResponse("hello")
    async with serving(script, Heard()) as url:
        with pytest.raises(AttuneError):
            await benchmark.run(Target(url))


async def test_requests_are_timed_one_after_the_other() -> None:
    """Each sends the clip and three pictures, three seconds apart."""
    timing = {"asr_us": 1000, "vision_us": 2000, "align_us": 3000, "total_us": 5000}
    answer = {"id": "a", "duration_us": 1, "words": [], "frames": [], "alignments": [], "timing": timing}
    heard = Heard()
    async with serving(Script(answers={"/v1/alignments": lambda: JSONResponse(answer)}), heard) as url:
        figures = await rest.run(Target(url))
    assert (figures["requests"], figures["stages_p95_ms"]) == (rest.REQUESTS, 5.0)
    assert heard.form["images_pts_us"] == ["0", "3000000", "6000000"]
    assert len(heard.form["images"]) == 3


@pytest.mark.parametrize("value", ["much", ""])
async def test_metrics_that_say_nothing_are_a_bad_answer(value: str) -> None:
    """The gauge has a number or is not there."""
    script = Script(answers={"/metrics": lambda: PlainTextResponse(f"{live.LOOP_STALL_METRIC} {value}\n")})
    async with serving(script, Heard()) as url:
        with pytest.raises(AttuneError, match="metrics cannot be read"):
            await live.stalls(url)
    async with serving(Script(), Heard()) as url:
        with pytest.raises(AttuneError, match="no such route"):
            await live.stalls(url)

"""A stream that outlives its upstream."""

import math
from collections.abc import AsyncGenerator, AsyncIterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from services.common.coverage import added
from services.common.errors import AttuneError, InvalidInput, Unavailable
from services.common.ports import Call
from services.common.types import (
    Alignment,
    AudioChunk,
    Committed,
    Coverage,
    Dropped,
    Encoding,
    Flush,
    FrameTokens,
    Marker,
    Progress,
    Ready,
    RecognizeConfig,
    RegionTokens,
    Relation,
    Score,
    Settled,
    SpeechEvent,
    SpeechInput,
    SpokenWord,
    Word,
    Words,
)
from services.gateway.inbox import Inbox
from services.gateway.kept import KeptAudio, KeptMoment
from services.gateway.replay import Outage, with_replay

CONFIG = RecognizeConfig(Encoding.PCM_S16LE, 16_000, 1)


def chunk(seq: int) -> AudioChunk:
    """Return 50 ms of audio whose bytes tell its number."""
    return AudioChunk(seq, (seq - 1) * 50_000, bytes([seq]) * 1600)


class Notices:
    """Collects what the outage tells."""

    def __init__(self) -> None:
        self.codes: list[str | None] = []

    async def __call__(self, error: AttuneError | None) -> None:
        self.codes.append(error.code if error else None)


async def test_what_is_not_settled_is_sent_again():
    """After a loss the upstream gets the configuration from the settled time on, and all audio after it."""
    seen: list[list[SpeechInput]] = []

    async def dies_once(inputs: AsyncIterator[SpeechInput], _call: Call) -> AsyncGenerator[SpeechEvent, None]:
        got: list[SpeechInput] = []
        seen.append(got)
        async for item in inputs:
            got.append(item)
            if isinstance(item, RecognizeConfig):
                yield Ready("m")
            if isinstance(item, AudioChunk) and item.seq == 2 and len(seen) == 1:
                yield Settled(75_000, 100_000, 75_000, Coverage(75_000, 50_000, 25_000))
                raise Unavailable("killed")
        yield Coverage(75_000, 75_000, 0)

    notices = Notices()
    port = with_replay(dies_once, KeptAudio, Outage(10, notices, pause_s=0))
    events = [event async for event in port(Inbox.of(CONFIG, chunk(1), chunk(2), chunk(3)), Call())]

    config, *audio = seen[1]
    assert isinstance(config, RecognizeConfig)
    assert config.start_us == 75_000
    assert [(item.seq, item.pts_us, len(item.data)) for item in audio if isinstance(item, AudioChunk)] == [
        (2, 75_000, 800),
        (3, 100_000, 1600),
    ]
    assert events[-1] == Coverage(150_000, 125_000, 25_000)
    assert notices.codes == ["unavailable", None]


async def test_an_upstream_that_was_never_there_is_an_error_at_once():
    """A session that cannot start says so instead of waiting."""

    async def dead(_inputs: AsyncIterator[SpeechInput], _call: Call) -> AsyncGenerator[SpeechEvent, None]:
        raise Unavailable("nobody")
        yield

    notices = Notices()
    with pytest.raises(Unavailable):
        [e async for e in with_replay(dead, KeptAudio, Outage(10, notices, pause_s=0))(Inbox.of(CONFIG), Call())]
    assert notices.codes == []


async def test_patience_ends():
    """An upstream that stays away longer than the patience is an error."""

    async def answers_once(inputs: AsyncIterator[SpeechInput], _call: Call) -> AsyncGenerator[SpeechEvent, None]:
        config = await anext(inputs)
        assert isinstance(config, RecognizeConfig)
        if attempts:
            raise Unavailable("gone")
        attempts.append(1)
        yield Ready("m")
        raise Unavailable("gone")

    attempts: list[int] = []
    with pytest.raises(Unavailable):
        [
            e
            async for e in with_replay(answers_once, KeptAudio, Outage(0, Notices(), pause_s=0))(
                Inbox.of(CONFIG), Call()
            )
        ]


async def test_other_errors_pass():
    """Only an upstream that is away is opened again."""
    opened = []

    async def refuses(_inputs: AsyncIterator[SpeechInput], _call: Call) -> AsyncGenerator[SpeechEvent, None]:
        opened.append(1)
        yield Ready("m")
        raise InvalidInput("no")

    with pytest.raises(InvalidInput):
        [
            e
            async for e in with_replay(refuses, KeptAudio, Outage(math.inf, Notices(), pause_s=0))(
                Inbox.of(CONFIG), Call()
            )
        ]
    assert opened == [1]


def test_an_unanswered_flush_is_asked_again_in_its_place():
    """Flushes stay between the audio they were sent between, until their marker came."""
    kept = KeptAudio()
    for item in (CONFIG, chunk(1), Flush("a"), chunk(2), Flush("b")):
        kept.sent(item)
    kept.received(Marker("a"))
    kept.received(Committed((Word("w", 0, 1, 1.0),)))
    assert list(kept.again())[1:] == [chunk(1), chunk(2), Flush("b")]


@example([13], 406, False)  # ends with the first byte of a sample
@given(st.lists(st.integers(0, 401), min_size=1, max_size=20), st.integers(0, 60_000), st.booleans())
def test_audio_goes_on_at_a_sample_however_it_was_cut(sizes: list[int], resume_us: int, stamped: bool):
    """Odd chunks and stamps that lie behind the count change nothing: the same samples follow, none twice."""
    config = RecognizeConfig(Encoding.PCM_S16LE, 8_000, 2)  # 32 bytes a millisecond
    whole = bytes(n % 251 for n in range(sum(sizes)))
    kept, at = KeptAudio(), 0
    kept.sent(config)
    for seq, size in enumerate(sizes, 1):
        kept.sent(AudioChunk(seq, at * 1000 // 32 if stamped else 0, whole[at : at + size]))
        at += size
    kept.received(Settled(resume_us, at * 1000 // 32, resume_us))
    _, *again = kept.again()
    sent_again = b"".join(item.data for item in again if isinstance(item, AudioChunk))
    cut = min(len(whole), resume_us * 32 // 1000 // 4 * 4)
    assert sent_again == whole[cut:]


def test_words_said_since_the_resume_time_are_told():
    """A new stream learns which words of its audio are committed, and up to where all is decided."""
    kept = KeptAudio()
    words = tuple(Word(text, n * 100_000, n * 100_000 + 90_000, 1.0) for n, text in enumerate("abcd"))
    for item in (CONFIG, chunk(1), chunk(2)):
        kept.sent(item)
    kept.received(Committed(words))
    kept.received(Settled(390_000, 500_000, 200_000))
    config, *_ = kept.again()
    assert isinstance(config, RecognizeConfig)
    assert (config.start_us, config.settled_us, config.said) == (200_000, 390_000, words[2:])


def test_a_container_is_not_taken_up_in_the_middle():
    """Nobody can read one without its head: the session ends with what it is, an upstream that is away."""
    kept = KeptAudio()
    kept.sent(RecognizeConfig(Encoding.WEBM))
    kept.sent(AudioChunk(1, 0, b"x"))
    with pytest.raises(Unavailable, match="container"):
        list(kept.again())


def test_coverage_adds_up():
    """The sum of two stretches keeps every part and every dropped stretch."""
    first = Coverage(10, 5, 3, (Dropped(0, 2, "gap"),))
    assert added(first, Coverage(4, 4, 0)) == Coverage(14, 9, 3, (Dropped(0, 2, "gap"),))


def alignment(*, revision: int, frame: str, final: bool) -> Alignment:
    """Return an alignment of words 1 and 2."""
    return Alignment((1, 2), "t", frame, Relation.DURING, 0, (), Score(1, 1, 1), revision, final)


def test_an_aligner_gets_frames_and_open_words_again():
    """Words with a final alignment are forgotten; frames, open words, progress and flushes are not."""
    kept = KeptMoment()
    frame = FrameTokens("f1", 0, RegionTokens("s", 1, 1, 1, b"00", b"00"))
    words = [SpokenWord(n, "w", n, n + 1) for n in (1, 2, 3)]
    for item in (frame, Words(tuple(words)), Progress(5), Flush("m")):
        kept.sent(item)
    kept.received(alignment(revision=0, frame="f1", final=True))
    assert list(kept.again())[1:] == [frame, Words((words[2],)), Progress(5), Flush("m")]


def test_revisions_go_on_counting_over_a_loss():
    """A fresh aligner starts at revision 0: what changed is told as the next revision, what did not as the same."""
    kept = KeptMoment()
    assert kept.received(alignment(revision=1, frame="f1", final=False)).revision == 1
    assert kept.received(alignment(revision=0, frame="f1", final=False)).revision == 1
    assert kept.received(alignment(revision=0, frame="f2", final=True)).revision == 2

"""What a session's events add up to."""

from attune_client.events import (
    Alignment,
    Committed,
    Degraded,
    Event,
    Failed,
    Frame,
    Partial,
    Recovered,
    Score,
    SessionEnded,
    SessionReady,
    Word,
)
from attune_client.transcript import Transcript


def word(number: int, text: str = "w", start_us: int | None = None) -> Word:
    start = number * 10 if start_us is None else start_us
    return Word(text, start, start + 5, 0.9, number)


def alignment(*ids: int, revision: int = 0, final: bool = True, frame_id: str | None = "f1") -> Alignment:
    return Alignment(ids, frame_id, "during", Score(1, 1, 1), revision=revision, final=final)


def transcript_of(*events: Event) -> Transcript:
    transcript = Transcript()
    for event in events:
        transcript.apply(event, 0)
    return transcript


def test_committed_words_leave_the_partial() -> None:
    """Committed words are kept; what is left of the partial stays until the next one."""
    transcript = transcript_of(Partial("a b", (word(0, "a"), word(0, "b"))), Committed((word(1, "a"),)))
    assert [w.text for w in transcript.words] == ["a"]
    assert [w.text for w in transcript.partial] == ["b"]


def test_a_gap_in_the_numbers_is_a_fault() -> None:
    """Numbered events follow each other; those without a number are not counted."""
    assert not transcript_of(SessionReady("s", event_no=1), Partial("a"), SessionEnded(event_no=2)).faults
    assert transcript_of(SessionReady("s", event_no=1), SessionEnded(event_no=3)).faults == ["event 3 follows event 1"]


def test_words_only_ever_follow() -> None:
    """Ids rise and times do not go back."""
    assert not transcript_of(Committed((word(1), word(2))), Committed((word(3),))).faults
    assert transcript_of(Committed((word(2),)), Committed((word(2),))).faults == ["word 2 follows word 2"]
    assert transcript_of(Committed((word(1), word(2, start_us=3)))).faults == ["word 2 goes back in time"]


def test_the_newest_revision_counts_until_the_final_one() -> None:
    """A final alignment replaces those before it; nothing may come after it."""
    revised = transcript_of(alignment(1, 2, final=False, frame_id=None), alignment(1, 2, revision=1))
    assert revised.alignments == revised.final_alignments == [alignment(1, 2, revision=1)]
    assert not revised.faults
    again = transcript_of(alignment(1), alignment(1, revision=1))
    assert again.faults == ["the final alignment of the phrase from word 1 was revised"]
    back = transcript_of(alignment(1, revision=2, final=False), alignment(1, revision=1))
    assert back.faults == ["revision 1 of the phrase from word 1 follows revision 2"]


def test_one_revision_says_one_thing() -> None:
    """The same answer may come again as final; another image needs another revision."""
    assert not transcript_of(alignment(1, final=False), alignment(1)).faults
    other = transcript_of(alignment(1, final=False), alignment(1, frame_id="f2"))
    assert other.faults == ["revision 0 of the phrase from word 1 says two things"]


def test_phrases_come_in_the_order_of_their_words() -> None:
    """However their alignments came."""
    assert [a.word_ids for a in transcript_of(alignment(3), alignment(1, 2)).alignments] == [(1, 2), (3,)]


def test_a_phrase_reads_as_its_words() -> None:
    """Where the alignment has no text of its own."""
    transcript = transcript_of(Committed((word(1, "a"), word(2, " cat"))))
    assert transcript.text_of(alignment(1, 2)) == "a cat"


def test_a_stage_is_degraded_until_it_recovers() -> None:
    """By stage: one recovering does not heal another."""
    transcript = transcript_of(Degraded("vision"), Degraded("aligner"), Recovered("vision"))
    assert list(transcript.degraded) == ["aligner"]


def test_all_else_is_kept() -> None:
    """Frames by id, problems in order, the first and the last event."""
    frame, failed = Frame("f1", 0, "seen"), Failed("invalid_input", "m")
    transcript = transcript_of(SessionReady("s"), frame, failed, SessionEnded())
    assert transcript.frames == {"f1": frame}
    assert transcript.problems == [failed]
    assert (transcript.ready, transcript.ended) == (SessionReady("s"), SessionEnded())

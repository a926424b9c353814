"""Where frames lie in time, and what that counts."""

from hypothesis import given
from hypothesis import strategies as st

from services.aligner.phrases import Phrase
from services.aligner.score import joined
from services.aligner.timeline import Reach, Shown, Timeline
from services.aligner.timing import Placement, Span, place
from services.common.types import Relation

TIMES = st.integers(0, 10**9)
PHRASE = Phrase((1,), "a", 10, 20)


def timeline(*frames: tuple[str, int], max_frames: int = 8) -> Timeline[str]:
    made: Timeline[str] = Timeline(max_frames, Reach(before_us=100, after_us=50))
    for name, pts_us in frames:
        made.add(Shown(name, pts_us, name))
    return made


def placed(made: Timeline[str], phrase: Phrase = PHRASE) -> dict[str, tuple[Relation, int]]:
    return {c.frame.id: (c.placement.relation, c.placement.age_us) for c in made.candidates(phrase)}


def test_a_frame_over_the_whole_phrase_counts_most() -> None:
    """A frame shown during all of the phrase has the temporal score 1."""
    assert place(10, 20, Span(0, None)) == Placement(Relation.DURING, 0, 1.0)


def test_edges_touch_without_overlap() -> None:
    """A frame that ends where the phrase starts was before it, one that begins where it ends is after; age 0."""
    assert place(10, 20, Span(0, 10)).relation is Relation.NEAREST_BEFORE
    assert place(10, 20, Span(20, 30)).relation is Relation.NEAREST_AFTER
    assert place(10, 20, Span(0, 10)).age_us == place(10, 20, Span(20, 30)).age_us == 0


def test_before_counts_more_than_after() -> None:
    """Of two frames equally far away, the one shown before counts more; both fade with distance."""
    before, after = place(10, 20, Span(0, 5)), place(10, 20, Span(25, 30))
    assert before.temporal > after.temporal > place(10, 20, Span(10**9, None)).temporal


@given(TIMES, TIMES, TIMES, st.one_of(st.none(), TIMES))
def test_every_frame_has_a_place(start_us: int, length_us: int, shown_us: int, shown_for_us: int | None) -> None:
    """Temporal scores lie in [0, 1]; a frame during the phrase has age 0 and counts more than any other."""
    shown = Span(shown_us, None if shown_for_us is None else shown_us + shown_for_us + 1)
    found = place(start_us, start_us + length_us, shown)
    assert 0 <= found.temporal <= 1
    assert found.age_us >= 0
    if found.relation is Relation.DURING:
        assert found.age_us == 0
        assert found.temporal >= 0.8


def test_a_frame_is_shown_until_the_next() -> None:
    """Frames sort by time whatever order they come in; each ends where the next begins."""
    made = timeline(("c", 30), ("a", 0), ("b", 8))
    assert placed(made) == {
        "a": (Relation.NEAREST_BEFORE, 2),
        "b": (Relation.DURING, 0),
        "c": (Relation.NEAREST_AFTER, 10),
    }


def test_frames_of_one_time_share_it() -> None:
    """Two frames with the same time are both shown until the next one."""
    assert placed(timeline(("a", 5), ("b", 5))) == {"a": (Relation.DURING, 0), "b": (Relation.DURING, 0)}


def test_frames_out_of_reach_are_no_candidates() -> None:
    """A frame last shown too long ago, or beginning after the window, is left out."""
    made = timeline(("long ago", 0), ("before", 99), ("now", 200), ("soon", 270), ("late", 271))
    assert set(placed(made, Phrase((1,), "a", 200, 220))) == {"before", "now", "soon"}


def test_the_oldest_frame_is_dropped_first() -> None:
    """No more frames are kept than the limit; one of the same id is replaced."""
    made = timeline(("b", 2), ("a", 1), ("c", 3), max_frames=2)
    assert set(placed(made)) == {"b", "c"}
    made.add(Shown("c", 12, "again"))
    assert placed(made)["b"] == (Relation.DURING, 0)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_the_joined_score_grows_with_both(low: float, high: float, other: float) -> None:
    """More of either score never makes the joined one smaller, and it stays a probability."""
    low, high = sorted((low, high))
    assert 0 < joined(low, other).combined <= joined(high, other).combined < 1
    assert joined(other, low).combined <= joined(other, high).combined

"""Which phrases count as matched with the right picture and region."""

from hypothesis import given
from hypothesis import strategies as st

from attune_client.events import Alignment, Score, ScoredRegion, Word
from bench.matches import Heard, Verdict, area, heard, iou, judged, overlap, points_at
from bench.tour import Box, Phrase

LEFT, RIGHT = (0.0, 0.0, 0.5, 1.0), (0.5, 0.0, 1.0, 1.0)
CAT = Phrase("On the left is a cat.", 1_000_000, 3_000_000, "pair.jpg", LEFT)
NOTHING = Phrase("Please vote on the budget.", 5_000_000, 7_000_000, None, None)


def said(text: str, start_us: int, file: str | None, *boxes: tuple[Box, float]) -> Heard:
    """Return a final alignment of ``text``, two seconds long."""
    regions = tuple(ScoredRegion(box, score) for box, score in boxes)
    alignment = Alignment((0,), file and "f1", "during", Score(1, 1, 1), regions=regions)
    return Heard(alignment, file, text, start_us, start_us + 2_000_000)


def test_the_best_scored_region_is_judged() -> None:
    """Of several boxes the one with the highest score speaks for the phrase."""
    alignment = said("On the left is a cat", 1_000_000, "pair.jpg", (RIGHT, 0.2), ((0.1, 0.1, 0.4, 0.9), 0.8))
    verdict = judged(CAT, [RIGHT], [alignment])
    assert (verdict.frame_correct, verdict.region_correct) == (True, True)
    assert verdict.region_inside == 1.0


def test_the_other_half_is_wrong() -> None:
    """A box on the other subject makes the region wrong and leaves the frame right."""
    verdict = judged(CAT, [RIGHT], [said("On the left is a cat", 1_000_000, "pair.jpg", (RIGHT, 0.9))])
    assert (verdict.frame_correct, verdict.region_correct) == (True, False)


def test_no_region_is_no_right_region() -> None:
    """An alignment without a box points nowhere."""
    verdict = judged(CAT, [], [said("On the left is a cat", 1_000_000, "pair.jpg")])
    assert (verdict.frame_correct, verdict.region_correct) == (True, False)


def test_the_wrong_picture_is_wrong_whatever_its_region() -> None:
    """A phrase about one picture that was matched with another has neither right."""
    verdict = judged(CAT, [], [said("On the left is a cat", 1_000_000, "other.jpg", (LEFT, 0.9))])
    assert verdict == Verdict(matched=True)


def test_nothing_shown_is_right_when_nothing_is_given() -> None:
    """A sentence about nothing shown is right without a frame, and wrong with one."""
    assert judged(NOTHING, [], [said("Please vote on the budget", 5_000_000, None)]).frame_correct
    assert not judged(NOTHING, [], [said("Please vote on the budget", 5_000_000, "pair.jpg")]).frame_correct


def test_the_same_words_at_another_time_are_another_phrase() -> None:
    """An alignment counts for a sentence only where their times meet."""
    assert not judged(CAT, [], [said("On the left is a cat", 9_000_000, "pair.jpg", (LEFT, 0.9))]).matched


def test_half_the_words_make_it_the_same_phrase() -> None:
    """Words that were misheard do not hide a phrase, unless they are most of it."""
    assert judged(CAT, [], [said("On the left is a cap", 1_000_000, "pair.jpg", (LEFT, 0.9))]).frame_correct
    assert not judged(CAT, [], [said("Or a cap", 1_000_000, "pair.jpg", (LEFT, 0.9))]).matched


def test_an_alignment_is_read_through_its_words() -> None:
    """Text and times come from the committed words, the file from the frame."""
    alignment = Alignment((4, 5), "f1", "during", Score(1, 1, 1))
    words = [Word(" A", 10, 20, 1.0, 4), Word(" cat.", 20, 40, 1.0, 5)]
    assert heard([alignment], words, {"f1": "pair.jpg"}) == [Heard(alignment, "pair.jpg", "A cat.", 10, 40)]


def test_a_box_over_both_subjects_points_at_neither_half_mostly() -> None:
    """A centre on the border is not enough when more than half of the box is on the other subject."""
    assert points_at((0.1, 0.0, 0.6, 1.0), LEFT, [RIGHT])
    assert not points_at((0.45, 0.0, 0.95, 1.0), LEFT, [RIGHT])
    assert not points_at((0.2, 0.0, 0.8, 1.0), (0.4, 0.0, 0.6, 0.2), [(0.2, 0.1, 0.8, 1.0)])


fractions = st.floats(0, 1)
boxes = st.tuples(fractions, fractions, fractions, fractions).map(
    lambda x: (min(x[0], x[2]), min(x[1], x[3]), max(x[0], x[2]) + 0.01, max(x[1], x[3]) + 0.01)
)


@given(boxes, boxes)
def test_overlap_is_symmetric_and_within_both(one: Box, other: Box) -> None:
    """What two boxes share is the same either way and no larger than either."""
    assert area(overlap(one, other)) == area(overlap(other, one))
    assert 0 <= area(overlap(one, other)) <= min(area(one), area(other)) + 1e-12
    assert 0 <= iou(one, other) <= 1 + 1e-9


@given(boxes)
def test_a_box_is_its_own_match(box: Box) -> None:
    """A box has the whole of itself in common with itself."""
    assert abs(iou(box, box) - 1) < 1e-9

"""When an answer is told, told again, and final."""

from services.aligner.judge import NOTHING, Answer
from services.aligner.phrases import Phrase
from services.aligner.window import OpenPhrase, Window
from services.common.types import Alignment, Relation, Score, StageTiming

FIRST = Answer("a", Relation.DURING, 0, (), Score(1.0, 0.5, 0.9))
SECOND = Answer("b", Relation.DURING, 0, (), Score(1.0, 0.6, 0.9))


def opened(end_us: int = 100, answer: Answer = FIRST) -> OpenPhrase[str]:
    entry = OpenPhrase(Phrase((end_us,), "text", end_us - 10, end_us), "reading")
    entry.revise(answer, StageTiming())
    return entry


def window(*entries: OpenPhrase[str], max_open: int = 8) -> Window[str]:
    made: Window[str] = Window(50, max_open)
    for entry in entries:
        made.add(entry)
    return made


def told(events: list[Alignment]) -> list[tuple[str | None, int, bool]]:
    return [(event.frame_id, event.revision, event.final) for event in events]


def test_the_first_answer_is_told_once() -> None:
    """A new phrase is told as revision 0 and not final; nothing new, nothing told."""
    made = window(opened())
    assert told(made.due()) == [("a", 0, False)]
    assert made.due() == []


def test_a_first_answer_of_nothing_is_told_too() -> None:
    """A phrase that fits no frame is told as well."""
    assert told(window(opened(answer=NOTHING)).due()) == [(None, 0, False)]


def test_a_change_is_a_revision() -> None:
    """An answer that names another frame is told with the next revision."""
    entry = opened()
    made = window(entry)
    made.due()
    entry.revise(SECOND, StageTiming())
    assert told(made.due()) == [("b", 1, False)]


def test_other_scores_alone_are_no_revision() -> None:
    """An answer that differs in its scores only is not told, and the final event repeats what was told."""
    entry = opened()
    made = window(entry)
    (before,) = made.due()
    entry.revise(Answer("a", Relation.DURING, 0, (), Score(0.5, 0.5, 0.7)), StageTiming())
    assert made.due() == []
    (after,) = made.close()
    assert after.final
    assert after.score == before.score


def test_the_window_closes_with_progress() -> None:
    """A phrase becomes final when all words up to its end plus the window are known, with the revision it had."""
    made = window(opened())
    made.due()
    made.advance(149)
    assert made.due() == []
    made.advance(150)
    assert told(made.due()) == [("a", 0, True)]
    assert made.close() == []


def test_a_phrase_past_its_window_is_final_at_once() -> None:
    """A phrase told for the first time after its window is told once, final."""
    made = window()
    made.advance(1000)
    made.advance(10)
    made.add(opened())
    assert told(made.due()) == [("a", 0, True)]


def test_closing_tells_each_phrase_once_more() -> None:
    """Closing makes every open phrase final, oldest first, and leaves none."""
    made = window(opened(100), opened(200))
    assert [event.word_ids for event in made.close()] == [(100,), (200,)]
    assert made.close() == []


def test_too_many_phrases_close_the_oldest() -> None:
    """Beyond the limit the oldest phrase becomes final."""
    made = window(opened(100), opened(200), max_open=1)
    assert [(event.word_ids, event.final) for event in made.due()] == [((100,), True), ((200,), False)]


def test_a_frame_concerns_phrases_whose_window_it_begins_in() -> None:
    """A frame first shown after the window of a phrase does not change it."""
    entry = opened()
    assert window(entry).within(150) == [entry]
    assert window(entry).within(151) == []

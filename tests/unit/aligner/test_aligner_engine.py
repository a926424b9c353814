"""The aligner as a port, with the scorer that matches class names."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest
from aligner_inputs import answers, frame, tokens, words
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from services.aligner.engine import PhraseAligner
from services.aligner.models.fake import FakeScorer
from services.aligner.reading import batch_settings
from services.aligner.settings import AlignerSettings
from services.common.errors import InvalidInput, NotFound, TooLarge
from services.common.ports import Aligner, Call
from services.common.types import (
    AlignConfig,
    AlignInput,
    Alignment,
    Box,
    Flush,
    FrameTokens,
    Marker,
    Progress,
    RegionTokenHandle,
    Relation,
    SpokenWord,
    Words,
)
from services.inference.batching import Batcher
from services.inference.worker import Workers

CONFIG = AlignConfig()
HAMMER = words("here is a hammer.", 1)


async def test_the_configuration_comes_first(aligner: Aligner) -> None:
    """A stream that begins with anything else, or with nothing, is refused."""
    with pytest.raises(InvalidInput):
        await answers(aligner, HAMMER)
    with pytest.raises(InvalidInput):
        await answers(aligner)


async def test_another_model_is_refused(aligner: Aligner) -> None:
    """A configuration may name the model that runs, and no other."""
    assert await answers(aligner, AlignConfig("fake")) == []
    with pytest.raises(InvalidInput, match="'fake'"):
        await answers(aligner, AlignConfig("clip"))


async def test_a_second_configuration_is_refused(aligner: Aligner) -> None:
    """The configuration comes once."""
    with pytest.raises(InvalidInput):
        await answers(aligner, CONFIG, CONFIG)


async def test_a_phrase_names_its_frame_and_region(aligner: Aligner) -> None:
    """A phrase is aligned when it ends, with the frame on show and the box that carries it."""
    first, last = await answers(aligner, CONFIG, frame("f", 0, "hammer", "drum"), HAMMER)
    assert isinstance(first, Alignment)
    assert isinstance(last, Alignment)
    assert (first.word_ids, first.text) == ((1, 2, 3, 4), "here is a hammer.")
    assert (first.frame_id, first.relation, first.age_us, first.final) == ("f", Relation.DURING, 0, False)
    assert first.regions[0].box == Box(0.0, 0.0, 1.0, 0.5)
    assert first.score.combined > 0.5
    assert (last.frame_id, last.revision, last.final) == ("f", 0, True)


async def test_a_frame_shown_before_is_found(aligner: Aligner) -> None:
    """A phrase about a frame of 20 s ago names it and says how long ago it went."""
    shown = (frame("h", 0, "hammer"), frame("d", 4, "drum"))
    events = await answers(aligner, CONFIG, *shown, words("back to the hammer for a moment", 24), Flush("m"))
    (alignment, marker) = events
    assert isinstance(alignment, Alignment)
    assert (alignment.frame_id, alignment.relation, alignment.age_us) == ("h", Relation.NEAREST_BEFORE, 20_000_000)
    assert alignment.final
    assert marker == Marker("m")


async def test_a_frame_too_old_is_not_meant(aligner: Aligner) -> None:
    """Beyond the longest age a frame is no longer named."""
    shown = (frame("h", 0, "hammer"), frame("d", 4, "drum"))
    (alignment,) = await answers(aligner, CONFIG, *shown, words("back to the hammer", 125))
    assert isinstance(alignment, Alignment)
    assert alignment.frame_id is None


async def test_what_is_not_shown_is_none(aligner: Aligner) -> None:
    """A phrase that fits no frame names none, with the relation none and no regions."""
    (alignment,) = await answers(aligner, CONFIG, frame("d", 0, "drum"), words("next we talk about the budget", 1))
    assert isinstance(alignment, Alignment)
    assert (alignment.frame_id, alignment.relation, alignment.regions) == (None, Relation.NONE, ())


async def test_a_late_frame_revises(aligner: Aligner) -> None:
    """A frame that comes after the phrase but belongs to its time makes a new revision; the last one is final."""
    items = (CONFIG, HAMMER, frame("f", 0.5, "hammer"), Progress(10_000_000))
    assert [_told(event) for event in await answers(aligner, *items)] == [
        (None, 0, False),
        ("f", 1, False),
        ("f", 1, True),
    ]


async def test_a_frame_may_change_another_ones_time(aligner: Aligner) -> None:
    """A frame that ends another before the phrase turns during into nearest before."""
    items = (CONFIG, frame("f", 0, "hammer"), HAMMER, frame("g", 0.5, "drum"))
    events = [event for event in await answers(aligner, *items) if isinstance(event, Alignment)]
    assert [(event.relation, event.revision) for event in events] == [
        (Relation.DURING, 0),
        (Relation.NEAREST_BEFORE, 1),
        (Relation.NEAREST_BEFORE, 1),
    ]
    assert events[-1].age_us == 500_000


async def test_a_frame_after_the_window_changes_nothing(aligner: Aligner) -> None:
    """A frame first shown after the window is not for this phrase, one within it is nearest after."""
    (_, final) = await answers(aligner, CONFIG, HAMMER, frame("f", 9, "hammer"))
    assert _told(final) == (None, 0, True)
    (_, revised, _) = await answers(aligner, CONFIG, HAMMER, frame("f", 4, "hammer"))
    assert isinstance(revised, Alignment)
    assert (revised.relation, revised.age_us) == (Relation.NEAREST_AFTER, 1_500_000)


async def test_flush_answers_after_all_is_final(aligner: Aligner) -> None:
    """A flush ends the open phrase, makes all final, then answers; the session goes on."""
    items = (CONFIG, HAMMER, words("and then", 3, 5), Flush("one"), words("more", 9, 7), Flush("two"))
    events = await answers(aligner, *items)
    assert [_told(event) if isinstance(event, Alignment) else event for event in events] == [
        (None, 0, False),
        (None, 0, True),
        (None, 0, True),
        Marker("one"),
        (None, 0, True),
        Marker("two"),
    ]


async def test_progress_ends_a_phrase_by_its_pause(aligner: Aligner) -> None:
    """Progress past the pause ends the phrase; past the window too, its only event is final."""
    (first, _) = await answers(aligner, CONFIG, words("a hammer", 0), Progress(1_300_000))
    assert _told(first) == (None, 0, False)
    assert [_told(e) for e in await answers(aligner, CONFIG, words("a hammer", 0), Progress(9_000_000))] == [
        (None, 0, True)
    ]


async def test_an_unknown_handle_is_not_found(aligner: Aligner) -> None:
    """A handle of tokens that are not here ends the stream with not found."""
    with pytest.raises(NotFound):
        await answers(aligner, CONFIG, FrameTokens("f", 0, RegionTokenHandle("p", "1")))


async def test_a_word_that_ends_before_it_starts_is_refused(aligner: Aligner) -> None:
    """Impossible times are the caller's error."""
    with pytest.raises(InvalidInput):
        await answers(aligner, CONFIG, Words((SpokenWord(1, "a", 10, 5),)))


async def test_an_endless_word_is_refused(aligner: Aligner) -> None:
    """A word of more than 1000 characters is too large."""
    with pytest.raises(TooLarge):
        await answers(aligner, CONFIG, Words((SpokenWord(1, "a" * 1001, 0, 5),)))


async def test_sessions_know_nothing_of_each_other(aligner: Aligner) -> None:
    """A frame of one stream is no candidate in another."""
    shown, blind = await asyncio.gather(
        answers(aligner, CONFIG, frame("f", 0, "hammer"), HAMMER), answers(aligner, CONFIG, HAMMER)
    )
    assert _told(shown[-1]) == ("f", 0, True)
    assert _told(blind[-1]) == (None, 0, True)


async def test_a_caller_that_leaves_leaves_nothing_behind(aligner: Aligner) -> None:
    """Closing the stream in the middle ends it at once and keeps no task."""
    before = asyncio.all_tasks()

    async def endless() -> AsyncIterator[AlignInput]:
        yield CONFIG
        yield HAMMER
        await asyncio.Event().wait()

    async with aclosing(aligner(endless(), Call())) as events:
        assert _told(await anext(events)) == (None, 0, False)
        reader = asyncio.ensure_future(anext(events))
        await asyncio.sleep(0)
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader
    assert asyncio.all_tasks() == before


ITEMS = st.lists(
    st.one_of(
        st.builds(lambda at, name: (at, name), st.integers(0, 20), st.sampled_from(["hammer", "drum", "lemon"])),
        st.sampled_from(["a hammer.", "and the drum", "next the budget.", "flush", "progress"]),
    ),
    max_size=16,
)


def _session(drawn: list[tuple[int, str] | str]) -> list[AlignInput]:
    items: list[AlignInput] = [CONFIG]
    at_s, next_id = 0.0, 1
    for i, what in enumerate(drawn):
        if isinstance(what, tuple):
            items.append(FrameTokens(f"f{i}", what[0] * 1_000_000, tokens([[what[1]]])))
        elif what == "flush":
            items.append(Flush(str(i)))
        elif what == "progress":
            items.append(Progress(round(at_s * 1e6)))
            at_s += 1.5
        else:
            items.append(words(what, at_s, next_id))
            next_id += len(what.split())
            at_s += 0.4 * len(what.split())
    return items


@given(ITEMS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_every_word_gets_one_final_answer(drawn: list[tuple[int, str] | str]) -> None:
    """In any interleaving each word has exactly one final answer, the last of its phrase, and revisions count up."""
    items = _session(drawn)
    said = [word.id for item in items if isinstance(item, Words) for word in item.words]
    options = AlignerSettings(model="fake", max_frames=3, max_open_phrases=2)
    scorer = FakeScorer(64)
    async with (
        Workers("aligner", 1, 4) as workers,
        Batcher("read", batch_settings(1, 16), scorer.read, lambda: None) as batcher,
    ):
        events = await answers(PhraseAligner(scorer, batcher, workers, options), *items)
    alignments = [event for event in events if isinstance(event, Alignment)]
    assert [word_id for event in alignments if event.final for word_id in event.word_ids] == said
    by_phrase: dict[tuple[int, ...], list[Alignment]] = {}
    for event in alignments:
        by_phrase.setdefault(event.word_ids, []).append(event)
    for told in by_phrase.values():
        assert [event.final for event in told] == [False] * (len(told) - 1) + [True]
        changes = [event.revision for event in told if not event.final]
        assert changes in (list(range(len(changes))), [])
    markers = [event.marker for event in events if isinstance(event, Marker)]
    assert markers == [item.marker for item in items if isinstance(item, Flush)]


def _told(event: object) -> tuple[str | None, int, bool]:
    assert isinstance(event, Alignment)
    return event.frame_id, event.revision, event.final

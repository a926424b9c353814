"""The example talk agrees with itself, and the benchmark of it counts right."""

import io
from itertools import pairwise

import pytest
from PIL import Image

from attune_client.events import Alignment, Committed, Event, Frame, Score, ScoredRegion, SessionEnded, Word
from attune_client.media import duration_us
from bench import demo
from bench.recording import Arrival, Recording
from bench.report import passed
from bench.tour import FOLDER, Phrase, Tour, read_tour


@pytest.fixture(scope="module")
def tour() -> Tour:
    return read_tour()


def test_the_tour_is_small_and_short(tour: Tour) -> None:
    """Six pictures of at most 640 pixels, 40 to 60 s, under 1.5 MB in all."""
    sizes = [Image.open(io.BytesIO(picture.data)).size for picture in tour.pictures]
    assert len(sizes) == 6
    assert max(map(max, sizes)) <= 640
    assert 40_000_000 <= duration_us(tour.pcm) <= 60_000_000
    assert sum(path.stat().st_size for path in FOLDER.iterdir() if path.suffix in {".jpg", ".wav", ".json"}) < 1.5e6


def test_sentences_are_apart_and_make_up_the_transcript(tour: Tour) -> None:
    """Between two sentences there is a pause that ends a phrase."""
    assert tour.transcript == " ".join(phrase.text for phrase in tour.phrases)
    gaps = [later.start_us - earlier.end_us for earlier, later in pairwise(tour.phrases)]
    assert all(800_000 <= gap <= 1_000_000 for gap in gaps)


def test_pictures_appear_before_they_are_talked_about(tour: Tour) -> None:
    """Each picture is shown, and not long before its first sentence begins."""
    for picture in tour.pictures:
        said_us = min(phrase.start_us for phrase in tour.phrases if phrase.file == picture.file)
        assert 0 < said_us - picture.pts_us <= 1_000_000


def test_subjects_have_boxes_and_one_sentence_has_none(tour: Tour) -> None:
    """Eight subjects, two pictures with two of them; boxes lie within their picture."""
    shown = [phrase for phrase in tour.phrases if phrase.file]
    files = [phrase.file for phrase in shown]
    assert len(shown) == 8
    assert sum(files.count(picture.file) == 2 for picture in tour.pictures) == 2
    assert [phrase.box for phrase in tour.phrases if phrase.file is None] == [None]
    for phrase in shown:
        assert phrase.box is not None
        x0, y0, x1, y1 = phrase.box
        assert 0 <= x0 < x1 <= 1
        assert 0 <= y0 < y1 <= 1


def answered(tour: Tour, *, wrong_file: str = "", misheard: str = "") -> Recording:
    """Return what a server says that gets all right, but for what is asked."""
    frames = {picture.file: f"f{at}" for at, picture in enumerate(tour.pictures)}
    events: list[Event] = [Frame(frames[picture.file], picture.pts_us, "seen") for picture in tour.pictures]
    count = 0
    for phrase in tour.phrases:
        words = spoken(phrase, count, misheard)
        count += len(words)
        events.append(Committed(words))
        frame = frames[wrong_file or phrase.file] if phrase.file else None
        events.append(aligned(phrase, words, frame))
    return Recording(tuple(Arrival(0, event) for event in [*events, SessionEnded()]))


def spoken(phrase: Phrase, first_id: int, misheard: str) -> tuple[Word, ...]:
    texts = phrase.text.replace(misheard or "\0", "xyz").split()
    return tuple(Word(text, phrase.start_us, phrase.end_us, 1.0, first_id + at) for at, text in enumerate(texts))


def aligned(phrase: Phrase, words: tuple[Word, ...], frame: str | None) -> Alignment:
    regions = (ScoredRegion(phrase.box, 0.9),) if phrase.box else ()
    ids = tuple(word.id for word in words if word.id is not None)
    return Alignment(ids, frame, "during", Score(1, 1, 1), regions=regions)


def test_a_faultless_session_meets_every_bar(tour: Tour) -> None:
    """All phrases, frames, regions and words right, and none where nothing is shown."""
    figures = demo.figures(tour, answered(tour))
    assert figures == {
        "phrases": 8,
        "phrases_spoken": 8,
        "frame_correct": 8,
        "region_correct": 8,
        "region_inside_mean": 1.0,
        "region_iou_mean": 1.0,
        "none_phrases": 1,
        "none_correct": 1,
        "wer": 0.0,
    }
    assert passed(figures, demo.BARS)


def test_the_wrong_picture_is_counted(tour: Tour) -> None:
    """Where every phrase is matched with one picture, only that picture's phrase is right."""
    figures = demo.figures(tour, answered(tour, wrong_file="rocket.jpg"))
    assert (figures["phrases"], figures["frame_correct"], figures["region_correct"]) == (8, 1, 1)
    assert not passed(figures, demo.BARS)


def test_a_misheard_word_is_counted_and_hides_no_phrase(tour: Tour) -> None:
    """Words raise the error rate; the phrase they stand in is still found."""
    figures = demo.figures(tour, answered(tour, misheard="rocket"))
    assert figures["phrases"] == 8
    assert figures["wer"] == round(1 / len(tour.transcript.split()), 4)


def test_a_silent_server_meets_no_bar(tour: Tour) -> None:
    """Without words there are no phrases, and every word is an error."""
    figures = demo.figures(tour, Recording((Arrival(0, SessionEnded()),)))
    assert (figures["phrases"], figures["region_iou_mean"], figures["wer"]) == (0, None, 1.0)
    assert not passed(figures, demo.BARS)

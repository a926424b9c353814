"""The live picture and the plain lines."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from attune_client.events import Degraded, Failed, Word
from attune_client.panels import screen
from attune_client.talk import Talk
from attune_client.transcript import Transcript
from attune_client.view import LineView, LiveView, open_view
from tests.unit.client.talks import events, finished, running, talk_of

SIZES = [(100, 29), (80, 23), (60, 16), (200, 40)]


def shown(talk: Talk, transcript: Transcript, size: tuple[int, int], position_us: int = 6_000_000) -> str:
    console = Console(width=size[0], height=size[1], record=True, file=io.StringIO(), force_terminal=True)
    console.print(screen(talk, transcript, position_us, size))
    return console.export_text()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("transcript", [Transcript(), running(), finished()], ids=["empty", "running", "finished"])
def test_the_picture_has_exactly_the_size_asked_for(
    images: Path, size: tuple[int, int], transcript: Transcript
) -> None:
    """Whatever the state: a picture that grows or shrinks would flicker."""
    lines = shown(talk_of(images), transcript, size).splitlines()
    assert len(lines) == size[1]
    assert max(len(line) for line in lines) <= size[0]


@pytest.mark.parametrize("size", SIZES[:2])
def test_the_picture_shows_what_matters(images: Path, size: tuple[int, int]) -> None:
    """Captions, the image, phrases with image, place and score, lag, progress, state."""
    text = shown(talk_of(images), running(), size)
    for part in (
        "talk.wav",
        "0:06 / 0:10",
        "live",
        "Here is a [b]cat[/b].",
        "more",
        "image 2 of 2",
        "espresso 0.70",
    ):
        assert part in text
    row = next(line for line in text.splitlines() if "And a cup" in line and "→" in line)
    assert "b-coffee.jpg" in row
    assert "top right" in row
    assert "0.91" in row
    assert "no image" in text
    assert "server lag 0.8 s" in text


def test_a_degraded_stage_and_a_problem_are_seen(images: Path) -> None:
    """The state names the stage, the footer the last problem and any fault of the server."""
    transcript = running()
    transcript.apply(Degraded("vision", "lost", "gone"), 0)
    transcript.apply(Failed("invalid_input", "pts_us is bad", event_no=7), 0)
    text = shown(talk_of(images), transcript, (120, 30))
    assert "degraded: vision" in text
    assert "pts_us is bad" in text
    assert "event 7 follows event 0" in text


def test_the_newest_captions_stay_in_sight(images: Path) -> None:
    """When all that was said does not fit, the oldest goes."""
    transcript = Transcript()
    transcript.words = [Word(f"word{number}", number, number, 1.0, number) for number in range(500)]
    text = shown(talk_of(images), transcript, (80, 23))
    assert "word499" in text
    assert "word1 " not in text


def test_lines_stay_where_they_are_while_words_come(images: Path) -> None:
    """A new word at the end leaves the lines above as they were, however long the talk."""
    transcript = Transcript()
    transcript.words = [Word(f"word{number}", number, number, 1.0, number) for number in range(5000)]
    before = shown(talk_of(images), transcript, (80, 23)).splitlines()[3:6]
    transcript.words.append(Word("x", 1, 1, 1.0, 1))
    after = shown(talk_of(images), transcript, (80, 23)).splitlines()[3:6]
    assert before == after


def test_a_terminal_gets_the_live_picture(images: Path) -> None:
    """It is drawn over itself: every line but the last is cleared and written again."""
    file = io.StringIO()
    console = Console(
        file=file, force_terminal=True, width=80, height=24, legacy_windows=False, _environ={"TERM": "xterm"}
    )
    with open_view(console, talk_of(images), running()) as view:
        assert isinstance(view, LiveView)
        view.refresh(1_000_000)
        first = len(file.getvalue())
        view.refresh(2_000_000)
    assert file.getvalue()[first:].count("\x1b[1A") >= 22  # up to where the picture begins


def test_a_pipe_gets_plain_lines(images: Path) -> None:
    """What is final, a line each, without control characters or markup."""
    file = io.StringIO()
    talk, transcript = talk_of(images), Transcript()
    with open_view(Console(file=file, width=40), talk, transcript) as view:
        assert isinstance(view, LineView)
        for event in [*events(), Degraded("vision", "lost", "gone")]:
            transcript.apply(event, 0)
            view.event(event)
        view.refresh(0)
    assert file.getvalue().splitlines() == [
        "[0:00] image a-cat.png: seen tabby",
        "[0:05] image b-coffee.jpg: seen espresso",
        "[0:00] Here is a [b]cat[/b].",
        "  = 'Here is a [b]cat[/b].' → a-cat.png, left half (0.91)",
        "[0:02] And a cup of coffee.",
        "  = 'And a cup of coffee.' → b-coffee.jpg, top right (0.91)",
        "[0:04] Nobody knows the weather.",
        "  = 'Nobody knows the weather.' → no image",
        "  ! degraded: vision gone",
    ]

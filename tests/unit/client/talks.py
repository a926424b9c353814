"""A finished session to show and to report: two images, one phrase about each, one about none."""

from pathlib import Path

from attune_client.events import (
    Alignment,
    Committed,
    Coverage,
    Event,
    Flow,
    Frame,
    Label,
    Partial,
    Score,
    ScoredRegion,
    SessionEnded,
    SessionReady,
    Word,
)
from attune_client.media import TimedImage
from attune_client.talk import Talk
from attune_client.transcript import Transcript

PHRASES = ("Here is a [b]cat[/b].", "And a cup of coffee.", "Nobody knows the weather.")


def talk_of(images: Path) -> Talk:
    shown = [TimedImage(images / "a-cat.png", 0), TimedImage(images / "b-coffee.jpg", 5_000_000)]
    return Talk("talk.wav", 10_000_000, tuple(shown))


def events() -> list[Event]:
    said: list[Event] = [
        SessionReady("s1", models={"asr": "tiny.en"}),
        Frame("f1", 0, "seen", labels=(Label("tabby", 0.8),)),
        Frame("f2", 5_000_000, "seen", labels=(Label("espresso", 0.7),)),
        Flow(840_000),
    ]
    number = 0
    for at, phrase in enumerate(PHRASES):
        texts = phrase.split()
        ids = range(number + 1, number + len(texts) + 1)
        words = tuple(Word(t, n * 400_000, (n + 1) * 400_000, 0.9, n) for n, t in zip(ids, texts, strict=True))
        said += [Committed(words), alignment_of(at, tuple(ids), phrase)]
        number += len(texts)
    return said


def alignment_of(at: int, ids: tuple[int, ...], text: str) -> Alignment:
    if at == 2:
        return Alignment(ids, None, "none", Score(0, 0, 0), text)
    box = (0.5, 0.0, 1.0, 0.5) if at else (0.0, 0.0, 0.5, 1.0)
    return Alignment(ids, f"f{at + 1}", "during", Score(1, 0.5, 0.91), text, regions=(ScoredRegion(box, 0.7),))


def finished() -> Transcript:
    transcript = Transcript()
    ended = SessionEnded(Coverage(9_000_000, 1_000_000), {"words": 13})
    for event in [*events(), ended]:
        transcript.apply(event, 6_000_000)
    return transcript


def running() -> Transcript:
    transcript = Transcript()
    for event in [*events(), Partial("and more", (Word("and", 0, 0), Word("more", 0, 0)))]:
        transcript.apply(event, 6_000_000)
    return transcript

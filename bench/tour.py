"""The example talk as data: its audio, its pictures with their times, and what is true of each sentence.

Read from examples/tour by demo.py, which scores it, and by live.py and rest.py, which borrow its pictures.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from attune_client.media import read_pcm

Box: TypeAlias = tuple[float, float, float, float]

FOLDER = Path(__file__).parents[1] / "examples" / "tour"


@dataclass(frozen=True, slots=True)
class Picture:
    """An encoded image file and the media time from which it is shown."""

    file: str
    pts_us: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Phrase:
    """A sentence, when it is said, and what it is about; ``file`` and ``box`` are None when nothing shown fits."""

    text: str
    start_us: int
    end_us: int
    file: str | None
    box: Box | None


@dataclass(frozen=True, slots=True)
class Tour:
    """The whole talk; ``pcm`` is 16 kHz mono 16-bit."""

    pcm: bytes
    pictures: tuple[Picture, ...]
    transcript: str
    phrases: tuple[Phrase, ...]


def read_tour(folder: Path = FOLDER) -> Tour:
    """Return the talk in ``folder``; blocks while reading."""
    truth = json.loads((folder / "truth.json").read_text(encoding="utf-8"))
    timeline = json.loads((folder / "timeline.json").read_text(encoding="utf-8"))
    return Tour(
        read_pcm(folder / "talk.wav"),
        tuple(Picture(shown["file"], shown["pts_us"], (folder / shown["file"]).read_bytes()) for shown in timeline),
        truth["transcript"],
        tuple(_phrase(entry) for entry in truth["phrases"]),
    )


def _phrase(entry: dict[str, object]) -> Phrase:
    box = entry.pop("box")
    return Phrase(**entry, box=None if box is None else tuple(box))  # type: ignore[arg-type]

"""Rebuilds the example talk: six photographs, the narration, when each is shown, and what is true of them.

Reads photographs from the packages scikit-image and scikit-learn and speaks with the program ``flite``.
Writes six JPEGs, talk.wav, timeline.json and truth.json into a folder. Run by hand:
``pip install scikit-image scikit-learn``, ``apt-get install flite``, ``python examples/tour/make_tour.py``.
"""

import json
import subprocess
import sys
import tempfile
import wave
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

RATE_HZ = 16_000
PAUSE_S = 0.95  # longer than the 600 ms that end a phrase
SHOWN_BEFORE_S = 0.5  # a picture appears this long before it is talked about
SLOWER = 1.15  # flite's own pace is hurried for a talk
JPEG_QUALITY = 76
QUIET = 200  # of 32768; below it flite's edges are silence

Samples = NDArray[np.int16]
Row = dict[str, object]


@dataclass(frozen=True, slots=True)
class Part:
    """One subject: where its photograph lies, the crop in pixels, the size it gets, what is said, where the subject is.

    ``box`` is in fractions of the part, measured by looking at it.
    """

    package: str
    source: str
    crop: tuple[int, int, int, int]
    size: tuple[int, int]
    text: str
    box: tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Picture:
    """One file; several parts stand side by side."""

    file: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of the talk and what it is about; ``file`` and ``box`` are None when nothing shown fits."""

    text: str
    file: str | None
    box: list[float] | None


SKIMAGE, SKLEARN = "skimage", "sklearn"

FLOWER = Part(
    SKLEARN,
    "datasets/images/flower.jpg",
    (100, 20, 500, 390),
    (480, 444),
    "The first picture shows a flower that is a cousin of the daisy.",
    (0.17, 0.17, 0.87, 0.91),
)
PALACE = Part(
    SKLEARN,
    "datasets/images/china.jpg",
    (45, 14, 393, 420),
    (384, 448),
    "On the left you see the roofs of an old palace.",
    (0.0, 0.03, 1.0, 1.0),
)
ESPRESSO = Part(
    SKIMAGE,
    "data/coffee.png",
    (115, 0, 430, 400),
    (352, 448),
    "On the right you see a small cup of espresso.",
    (0.0, 0.03, 1.0, 0.98),
)
MOTORCYCLE = Part(
    SKIMAGE,
    "data/motorcycle_left.png",
    (90, 50, 700, 470),
    (448, 308),
    "This red motorcycle is bigger than a moped or a scooter.",
    (0.0, 0.03, 0.98, 0.97),
)
CAT = Part(
    SKIMAGE,
    "data/chelsea.png",
    (110, 0, 303, 300),
    (288, 448),
    "The young cat on the left looks like an Egyptian cat.",
    (0.0, 0.0, 1.0, 1.0),
)
TRIPOD = Part(
    SKIMAGE,
    "data/camera.png",
    (172, 60, 430, 512),
    (256, 448),
    "On the right a man looks through a camera on a tripod.",
    (0.0, 0.0, 0.95, 1.0),
)
ROCKET = Part(
    SKIMAGE,
    "data/rocket.jpg",
    (225, 87, 425, 427),
    (264, 450),
    "This rocket stands on the launch pad and looks like a missile.",
    (0.41, 0.1, 0.59, 0.97),
)
ASTRONAUT = Part(
    SKIMAGE,
    "data/astronaut.png",
    (30, 150, 512, 512),
    (400, 300),
    "The last picture shows a white helmet and an orange space suit.",
    (0.5, 0.5, 1.0, 1.0),
)

TALK: tuple[Picture | str, ...] = (
    Picture("flower.jpg", (FLOWER,)),
    Picture("palace_tripod.jpg", (PALACE, TRIPOD)),
    Picture("motorcycle.jpg", (MOTORCYCLE,)),
    "Before we go on, please remember that the committee will vote on the budget next week.",
    Picture("cat_espresso.jpg", (CAT, ESPRESSO)),
    Picture("rocket.jpg", (ROCKET,)),
    Picture("astronaut.jpg", (ASTRONAUT,)),
)


def photograph(part: Part) -> Image.Image:
    """Return the part's crop of its photograph at its size."""
    spec = find_spec(part.package)
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError(f"the package {part.package} that carries {part.source} is not installed")
    path = Path(next(iter(spec.submodule_search_locations))) / part.source
    return Image.open(path).convert("RGB").crop(part.crop).resize(part.size, Image.Resampling.LANCZOS)


def rendered(picture: Picture) -> Image.Image:
    """Return the picture: its parts side by side."""
    canvas = Image.new("RGB", (width(picture), max(part.size[1] for part in picture.parts)))
    left = 0
    for part in picture.parts:
        canvas.paste(photograph(part), (left, 0))
        left += part.size[0]
    return canvas


def width(picture: Picture) -> int:
    """Return the picture's width in pixels."""
    return sum(part.size[0] for part in picture.parts)


def sentences(item: Picture | str) -> Iterator[Sentence]:
    """Yield what is said about one item, boxes in fractions of the whole picture."""
    if isinstance(item, str):
        yield Sentence(item, None, None)
        return
    left = 0
    for part in item.parts:
        x0, y0, x1, y1 = part.box
        across = [(left + x * part.size[0]) / width(item) for x in (x0, x1)]
        yield Sentence(part.text, item.file, [round(value, 3) for value in (across[0], y0, across[1], y1)])
        left += part.size[0]


def spoken(text: str) -> Samples:
    """Return the sentence as speech at 16 kHz, without the silence around it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sentence.wav"
        pace = f"duration_stretch={SLOWER}"
        subprocess.run(["flite", "-voice", "slt", "--setf", pace, "-t", text, "-o", path], check=True)  # noqa: S603, S607
        with wave.open(str(path)) as file:
            assert file.getframerate() == RATE_HZ
            samples = np.frombuffer(file.readframes(file.getnframes()), dtype="<i2")
    loud = np.flatnonzero(np.abs(samples.astype(np.int32)) > QUIET)
    return samples[loud[0] : loud[-1] + 1]


def media_us(samples: int) -> int:
    """Return the media time of a sample in microseconds."""
    return samples * 1_000_000 // RATE_HZ


def narrated() -> tuple[Samples, list[Row], list[Row]]:
    """Return the talk's samples, its timeline, and its phrases with the time each is said."""
    pause = np.zeros(int(PAUSE_S * RATE_HZ), np.int16)
    pieces, said = [pause], len(pause)
    timeline: list[Row] = []
    phrases: list[Row] = []
    for item in TALK:
        if isinstance(item, Picture):
            shown = said - int(SHOWN_BEFORE_S * RATE_HZ) if timeline else 0
            timeline.append({"file": item.file, "pts_us": media_us(shown)})
        for sentence in sentences(item):
            speech = spoken(sentence.text)
            times = {"start_us": media_us(said), "end_us": media_us(said + len(speech))}
            phrases.append({"text": sentence.text, "file": sentence.file, "box": sentence.box, **times})
            pieces += [speech, pause]
            said += len(speech) + len(pause)
    return np.concatenate(pieces), timeline, phrases


def write_wav(path: Path, samples: Samples) -> None:
    """Write 16-bit mono PCM at 16 kHz."""
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE_HZ)
        file.writeframes(samples.astype("<i2").tobytes())


def listed(rows: list[Row]) -> str:
    """Return a JSON array with one row a line."""
    return "[\n" + ",\n".join("  " + json.dumps(row) for row in rows) + "\n]"


def main(folder: Path) -> None:
    """Write the whole tour into ``folder``."""
    samples, timeline, phrases = narrated()
    for item in TALK:
        if isinstance(item, Picture):
            rendered(item).save(folder / item.file, quality=JPEG_QUALITY, optimize=True)
    write_wav(folder / "talk.wav", samples)
    (folder / "timeline.json").write_text(listed(timeline) + "\n")
    transcript = " ".join(str(phrase["text"]) for phrase in phrases)
    (folder / "truth.json").write_text(
        f'{{\n"transcript": {json.dumps(transcript)},\n"phrases": {listed(phrases)}\n}}\n'
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)

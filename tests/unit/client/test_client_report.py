"""The folder that is left after a talk."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from attune_client.errors import AttuneError
from attune_client.events import Frame
from attune_client.media import TimedImage
from attune_client.pictures import COLOURS
from attune_client.report import check_writable, write_report
from attune_client.talk import Talk
from attune_client.transcript import Transcript
from tests.unit.client.talks import PHRASES, finished, talk_of


def test_the_folder_holds_pictures_captions_and_the_record(images: Path, tmp_path: Path) -> None:
    """One picture per image in order, one caption file, one record."""
    files = write_report(tmp_path / "deep" / "out", talk_of(images), finished())
    assert [path.name for path in files] == ["captions.vtt", "session.json", "01-a-cat.png", "02-b-coffee.png"]
    assert all(path.stat().st_size for path in files)


def test_each_picture_has_the_boxes_of_its_own_phrases(images: Path, tmp_path: Path) -> None:
    """The cat's box lies in the left half of its picture, the coffee's in the right."""
    _, _, cat, coffee = write_report(tmp_path, talk_of(images), finished())
    with Image.open(cat) as left, Image.open(coffee) as right:
        assert left.getpixel((3, left.height // 3)) == COLOURS[0]
        assert right.getpixel((3, right.height // 3)) != COLOURS[0]
        assert right.getpixel((right.width // 2, 100)) == COLOURS[0]


def test_the_record_says_all_that_is_known(images: Path, tmp_path: Path) -> None:
    """Words, frames with their files, final alignments, coverage, usage, models, lags."""
    write_report(tmp_path, talk_of(images), finished())
    record = json.loads((tmp_path / "session.json").read_text())
    assert " ".join(word["text"] for word in record["words"]) == " ".join(PHRASES)
    assert [(frame["file"], frame["id"]) for frame in record["frames"]] == [("a-cat.png", "f1"), ("b-coffee.jpg", "f2")]
    assert [(a["text"], a["frame_id"]) for a in record["alignments"]] == list(
        zip(PHRASES, ["f1", "f2", None], strict=True)
    )
    assert record["coverage"] == {"transcribed_us": 9_000_000, "silent_us": 1_000_000, "dropped": []}
    assert (record["complete"], record["models"], record["usage"]) == (True, {"asr": "tiny.en"}, {"words": 13})
    assert record["lag"]["words"] == 13
    assert record["lag"]["commit_lag_ms"] == {"p50": 2800, "p95": 5200, "p99": 5200}
    assert record["faults"] == []


def test_captions_follow_the_phrases(images: Path, tmp_path: Path) -> None:
    """One cue each, markup escaped."""
    write_report(tmp_path, talk_of(images), finished())
    captions = (tmp_path / "captions.vtt").read_text()
    assert captions.count("-->") == 3
    assert "Here is a [b]cat[/b]." in captions


def test_images_nobody_talked_about_are_written_too(images: Path, tmp_path: Path) -> None:
    """Also those the server dropped or never answered."""
    transcript = Transcript()
    transcript.apply(Frame("f1", 0, "dropped", "busy"), 0)
    files = write_report(tmp_path, talk_of(images), transcript)
    assert [path.name for path in files[2:]] == ["01-a-cat.png", "02-b-coffee.png"]
    assert json.loads((tmp_path / "session.json").read_text())["complete"] is False


def test_looking_whether_a_folder_can_be_written_leaves_nothing(tmp_path: Path) -> None:
    """Neither in a folder that is there nor beside one that is not."""
    check_writable(tmp_path)
    check_writable(tmp_path / "new" / "deep")
    assert list(tmp_path.iterdir()) == []


def test_an_image_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    """The record keeps what the server said about it."""
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"not an image")
    transcript = Transcript()
    transcript.apply(Frame("f1", 0, "failed", "unsupported_media"), 0)
    files = write_report(tmp_path / "out", Talk("t", 1, (TimedImage(broken, 0),)), transcript)
    assert [path.name for path in files] == ["captions.vtt", "session.json"]
    record = json.loads(files[1].read_text())
    assert record["frames"][0]["reason"] == "unsupported_media"
    assert record["images"] == [{"file": "broken.png", "pts_us": 0, "picture": None}]


def test_a_folder_that_cannot_be_written_is_told(images: Path, tmp_path: Path) -> None:
    """One line that names it."""
    (tmp_path / "out").write_text("a file is in the way")
    with pytest.raises(AttuneError, match="cannot write"):
        write_report(tmp_path / "out", talk_of(images), finished())


def test_a_report_replaces_the_one_before(images: Path, tmp_path: Path) -> None:
    """Pictures of an earlier talk do not stay among those of the next; whatever else is in the folder does."""
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "03-mine.png").write_bytes(b"mine")
    write_report(tmp_path, talk_of(images), finished())
    talk = replace(talk_of(images), images=talk_of(images).images[:1])
    write_report(tmp_path, talk, finished())
    left = {path.name for path in tmp_path.iterdir() if path.is_file()}
    assert left >= {"captions.vtt", "session.json", "01-a-cat.png", "notes.txt", "03-mine.png"}
    assert "02-b-coffee.png" not in left


@pytest.mark.parametrize(
    "record", ["", "[]", '{"images": [{"picture": "../01-x.png"}]}', '{"images": [{"picture": 7}]}']
)
def test_a_strange_record_removes_nothing(images: Path, tmp_path: Path, record: str) -> None:
    """Only pictures of the folder itself are removed, whatever a record says."""
    out = tmp_path / "out"
    out.mkdir()
    (tmp_path / "01-x.png").write_bytes(b"mine")
    (out / "session.json").write_text(record)
    write_report(out, talk_of(images), finished())
    assert (tmp_path / "01-x.png").exists()

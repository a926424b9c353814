"""Files in, media in time out."""

import json
import wave
from pathlib import Path

import pytest
import skimage.data
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from attune_client.errors import AttuneError
from attune_client.media import FRAME_BYTES, MediaClock, duration_us, images_in, paced, read_pcm


class Clock:
    """A monotonic clock that a test moves."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_any_audio_becomes_16_khz_mono(speech: Path) -> None:
    """A 16 kHz recording keeps its samples and its length."""
    with wave.open(str(speech)) as file:
        assert (file.getframerate(), file.getnchannels()) == (16_000, 1)
        assert read_pcm(speech) == file.readframes(file.getnframes())


def test_other_rates_and_channels_keep_their_length(tmp_path: Path) -> None:
    """Two seconds of 44.1 kHz stereo are two seconds of 16 kHz mono."""
    path = tmp_path / "stereo.wav"
    with wave.open(str(path), "wb") as file:
        file.setparams((2, 2, 44_100, 0, "NONE", ""))
        file.writeframes(bytes(88_200 * 4))
    assert duration_us(read_pcm(path)) == pytest.approx(2_000_000, abs=2_000)


@pytest.mark.parametrize(("content", "code"), [(b"no audio at all", "unsupported_media"), (None, "not_found")])
def test_what_is_no_audio_is_an_error_in_one_line(tmp_path: Path, content: bytes | None, code: str) -> None:
    """A text and a missing file are told apart, and both name the file."""
    path = tmp_path / "talk.wav"
    if content:
        path.write_bytes(content)
    with pytest.raises(AttuneError, match=r"talk\.wav") as caught:
        read_pcm(path)
    assert caught.value.code == code


def test_a_picture_holds_no_audio(tmp_path: Path) -> None:
    """PyAV opens pictures too: they have no audio stream."""
    path = tmp_path / "cat.png"
    Image.fromarray(skimage.data.chelsea()).save(path)
    with pytest.raises(AttuneError, match="holds no audio"):
        read_pcm(path)


async def test_pacing_gives_every_byte_with_its_time() -> None:
    """Blocks of 50 ms, stamped by the count of samples, the rest at the end."""
    pcm = bytes(range(256)) * 20
    blocks = [block async for block in paced(pcm, MediaClock(speed=1e6))]
    assert b"".join(data for _, data in blocks) == pcm
    assert [pts_us for pts_us, _ in blocks] == [0, 50_000, 100_000, 150_000]
    assert {len(data) for _, data in blocks[:-1]} == {FRAME_BYTES}


@settings(deadline=None)
@given(speed=st.floats(0.25, 8), passed_s=st.floats(0, 100), pts_us=st.integers(0, 100_000_000))
def test_the_clock_says_how_long_to_wait(speed: float, passed_s: float, pts_us: int) -> None:
    """Waiting that long brings the position to the time asked for; never less than nothing."""
    now = Clock()
    clock = MediaClock(speed, now)
    assert clock.elapsed_us() == 0
    clock.start()
    now.now_s += passed_s
    wait_s = clock.seconds_until(pts_us)
    assert wait_s >= 0
    if wait_s:
        now.now_s += wait_s
        assert clock.position_us() == pytest.approx(pts_us, abs=20)


def test_time_cannot_stand_still() -> None:
    """A speed of 0 would wait for ever."""
    with pytest.raises(AttuneError, match="speed"):
        MediaClock(0)


def test_images_are_spread_evenly_in_the_order_of_their_names(images: Path) -> None:
    """Without a timeline each image gets the same share; other files are left aside."""
    (images / "notes.txt").write_text("not an image")
    assert [(image.name, image.pts_us) for image in images_in(images, 10_000_000)] == [
        ("a-cat.png", 0),
        ("b-coffee.jpg", 5_000_000),
    ]


def test_a_timeline_sets_the_times(images: Path) -> None:
    """Its order does not matter, its times do."""
    entries = [{"file": "b-coffee.jpg", "pts_us": 7, "note": "x"}, {"file": "a-cat.png", "pts_us": 3}]
    (images / "timeline.json").write_text(json.dumps(entries))
    assert [(image.name, image.pts_us) for image in images_in(images, 1)] == [("a-cat.png", 3), ("b-coffee.jpg", 7)]


@pytest.mark.parametrize(
    ("timeline", "problem"),
    [
        ("{", "not a list"),
        ('[{"file": "a-cat.png"}]', "not a list"),
        ('[{"file": "dog.png", "pts_us": 0}]', r"names dog\.png, which is not there"),
        ('[{"file": "a-cat.png", "pts_us": 0}, {"file": "b-coffee.jpg", "pts_us": 0}]', "same pts_us"),
        ('[{"file": "a-cat.png", "pts_us": -1}]', "below 0"),
        ('[{"file": "a-cat.png", "pts_us": 9007199254740992}]', r"beyond 2\^53"),
        ('[{"file": "a-cat.png", "pts_us": Infinity}]', "not a list"),
        ("[" * 100_000, "not a list"),
        (json.dumps([{"file": "a" * 5000, "pts_us": 0}]), "cannot read"),
        ("[]", "no images in"),
    ],
)
def test_a_timeline_that_cannot_be_followed_is_told(images: Path, timeline: str, problem: str) -> None:
    """The error names the file and what is wrong with it."""
    (images / "timeline.json").write_text(timeline)
    with pytest.raises(AttuneError, match=problem):
        images_in(images, 1)


def test_a_timeline_that_is_a_directory_is_told(images: Path) -> None:
    """The error names it."""
    (images / "timeline.json").mkdir()
    with pytest.raises(AttuneError, match=r"cannot read .*timeline\.json: Is a directory"):
        images_in(images, 1)


def test_a_directory_without_images_is_told(tmp_path: Path) -> None:
    """Whoever names a folder expects its images to be shown."""
    (tmp_path / "notes.txt").write_text("not an image")
    with pytest.raises(AttuneError, match=f"no images in {tmp_path}") as caught:
        images_in(tmp_path, 1)
    assert caught.value.param == "images"


def test_a_missing_directory_is_told(tmp_path: Path) -> None:
    """The error names it."""
    with pytest.raises(AttuneError, match="there is no directory"):
        images_in(tmp_path / "none", 1)

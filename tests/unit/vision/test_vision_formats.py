"""What the first and last bytes of a file say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.vision.formats import format_of, gif_frame_count, has_trailing_bytes
from tests.unit.vision.files import encoded, frames, plain

PILLOW_NAMES = {"JPEG": "JPEG", "PNG": "PNG", "GIF": "GIF", "WebP": "WEBP", "AVIF": "AVIF", "TIFF": "TIFF"}
PILLOW_NAMES |= {"BMP": "BMP", "PNM": "PPM"}


def iso_file(major: bytes, *compatible: bytes) -> bytes:
    """Return the head of a file of the ISO base media format."""
    brands = b"".join(compatible)
    return (16 + len(brands)).to_bytes(4, "big") + b"ftyp" + major + b"\0\0\0\0" + brands + bytes(64)


@pytest.mark.parametrize("name", PILLOW_NAMES)
def test_readable_formats_are_recognised_by_their_bytes(name):
    """Every format that can be read is named by what its files begin with."""
    assert format_of(encoded(plain(), PILLOW_NAMES[name])) == name


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (iso_file(b"heic", b"mif1", b"heic"), "HEIC"),
        (iso_file(b"mif1", b"mif1", b"heic"), "HEIC"),
        (iso_file(b"mif1", b"mif1", b"avif", b"miaf"), "AVIF"),
        (iso_file(b"mif1", b"mif1"), "HEIF"),
        (iso_file(b"isom", b"isom", b"mp42"), "MP4"),
        (b"RIFF\0\0\0\0WAVEfmt ", "WAV"),
        (b"P3 1 1 255 0 0 0", "plain-text PNM"),
        (b"%PDF-1.7", "PDF"),
        (b"hello", ""),
        (b"", ""),
    ],
)
def test_other_formats_are_named_where_they_are_known(data, name):
    """A user who sends HEIC or a video is told so."""
    assert format_of(data) == name


@given(st.binary(max_size=64))
def test_any_bytes_get_an_answer(data):
    """No bytes make the look at them fail."""
    assert isinstance(format_of(data), str)


@pytest.mark.parametrize("count", [1, 2, 12])
def test_the_frames_of_a_gif_are_counted(count):
    """The count is that of the frames written."""
    first, *rest = frames(count)
    data = encoded(first, "GIF", save_all=True, append_images=rest)
    assert gif_frame_count(data) == count


@given(st.binary(max_size=200))
def test_counting_the_frames_of_a_broken_gif_ends(tail):
    """Whatever follows the header, the count comes and is no larger than the bytes allow."""
    assert 0 <= gif_frame_count(encoded(plain((1, 1)), "GIF")[:13] + tail) <= len(tail)


@pytest.mark.parametrize("name", ["JPEG", "PNG", "GIF", "WebP"])
def test_bytes_after_the_end_are_seen(name):
    """Only a file with something behind its end has trailing bytes."""
    data = encoded(plain(), PILLOW_NAMES[name])
    assert not has_trailing_bytes(data, name)
    assert has_trailing_bytes(data + b"more", name)

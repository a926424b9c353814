"""One file becomes pixels and a report, or an error of the table."""

import pickle
import subprocess
import sys
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from services.common.errors import AttuneError, InvalidInput, TooLarge, UnsupportedMedia
from services.vision.decode import DecodeLimits, decode_image
from tests.unit.vision.files import encoded, frames, photograph, plain

LIMITS = DecodeLimits(max_pixels=1_000_000, max_side_px=448)
READABLE = ["JPEG", "PNG", "GIF", "WEBP", "AVIF", "TIFF", "BMP", "PPM"]


@pytest.mark.parametrize("format", READABLE)
def test_every_format_gives_the_same_picture(format):
    """The photograph looks alike from every file it can be stored in."""
    expected = decode_image(encoded(photograph()), LIMITS).pixels.astype(int)
    decoded = decode_image(encoded(photograph(), format), LIMITS)
    assert decoded.pixels.shape == (288, 448, 3)
    assert (decoded.report.width, decoded.report.height, decoded.report.notes) == (451, 300, ())
    assert np.abs(decoded.pixels - expected).mean() < 12  # a GIF has 256 colours


@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP", "TIFF", "AVIF"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_orientation_is_applied_and_reported(format, orientation):
    """The stored picture, red on its left, ends where each of the eight orientations turns it."""
    stored = plain((300, 240), "white")
    stored.paste((255, 0, 0), (0, 0, 60, 240))
    exif = Image.Exif()
    exif[0x0112] = orientation
    decoded = decode_image(encoded(stored, format, exif=exif), LIMITS)
    report, pixels = decoded.report, decoded.pixels
    assert report.orientation == orientation
    assert (report.width, report.height) == ((240, 300) if orientation >= 5 else (300, 240))
    edges = {"left": pixels[:, 4], "right": pixels[:, -5], "top": pixels[4], "bottom": pixels[-5]}
    red = [name for name, edge in edges.items() if edge[..., 1].mean() < 60]
    turned_to = ["left", "right", "right", "left", "top", "top", "bottom", "bottom"]
    assert red == [turned_to[orientation - 1]]


def test_an_impossible_orientation_is_none():
    """Orientations beyond 8 leave the picture as it is."""
    exif = Image.Exif()
    exif[0x0112] = 99
    assert decode_image(encoded(plain(), "JPEG", exif=exif), LIMITS).report.orientation == 1


@pytest.mark.parametrize("format", ["GIF", "WEBP", "PNG", "AVIF"])
def test_of_an_animation_the_first_frame_is_taken(format):
    """The first of twelve frames is black, and the report says that there were twelve."""
    first, *rest = frames(12)
    decoded = decode_image(encoded(first, format, save_all=True, append_images=rest), LIMITS)
    assert decoded.report.notes == ("animated: first of 12 frames",)
    assert decoded.pixels.max() < 8


@pytest.mark.parametrize(("format", "note"), [("MPO", "first of 3 pictures"), ("TIFF", "first of several pictures")])
def test_of_several_pictures_the_first_is_taken(format, note):
    """Files of several pictures are no animations."""
    first, *rest = frames(3)
    assert note in decode_image(encoded(first, format, save_all=True, append_images=rest), LIMITS).report.notes


def test_trailing_bytes_are_ignored_and_noted():
    """What follows the end of a picture does not spoil it."""
    report = decode_image(encoded(plain(), "JPEG") + b"a video of the same moment", LIMITS).report
    assert report.notes == ("trailing bytes ignored",)


@pytest.mark.parametrize("size", [(1, 1), (1, 1000), (1000, 1)])
def test_the_smallest_images_work(size):
    """One pixel is an image."""
    assert decode_image(encoded(plain(size)), LIMITS).report.width == size[0]


@pytest.mark.parametrize("format", READABLE)
@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_a_cut_off_file_is_invalid(format, share):
    """A file that ends early is refused in words that name its format."""
    data = encoded(Image.effect_noise((300, 200), 80).convert("RGB"), format)
    with pytest.raises(InvalidInput, match="file is broken or cut off"):
        decode_image(data[: int(len(data) * share)], LIMITS)


@pytest.mark.parametrize(
    ("data", "error", "text"),
    [
        (b"", InvalidInput, "empty"),
        (b"hello", UnsupportedMedia, "no image format that is known"),
        (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", UnsupportedMedia, "this is HEIC; JPEG, PNG"),
        (b"\xff\xd8\xff", InvalidInput, "the JPEG file is broken"),
    ],
)
def test_other_bytes_are_refused_by_what_they_are(data, error, text):
    """Empty, unknown, recognised and broken bytes are told apart."""
    with pytest.raises(error, match=text):
        decode_image(data, LIMITS)


@given(st.data())
def test_flipped_bytes_give_pixels_or_an_error_of_the_table(data):
    """However a file is damaged, nothing but the table's errors comes out."""
    damaged = bytearray(encoded(photograph().resize((60, 40)), data.draw(st.sampled_from(READABLE))))
    for _ in range(data.draw(st.integers(1, 8))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    try:
        assert decode_image(bytes(damaged), LIMITS).pixels.shape[2] == 3
    except AttuneError as error:
        assert error.http < 500


def png_header(width: int, height: int) -> bytes:
    """Return a PNG that announces a size and holds no pixels."""
    head = b"IHDR" + width.to_bytes(4, "big") + height.to_bytes(4, "big") + b"\x08\x02\0\0\0"
    chunk = (13).to_bytes(4, "big") + head + zlib.crc32(head).to_bytes(4, "big")
    return b"\x89PNG\r\n\x1a\n" + chunk + b"\0\0\0\0IDAT" + zlib.crc32(b"IDAT").to_bytes(4, "big")


@pytest.mark.parametrize("size", [(1001, 1000), (10_000, 9_000), (60_000, 60_000)])
def test_the_header_alone_decides_on_size(size):
    """More pixels than are taken are refused though the file has none of them."""
    with pytest.raises(TooLarge, match="1000000"):
        decode_image(png_header(*size), LIMITS)


@pytest.mark.parametrize("format", ["PNG", "WEBP", "GIF", "TIFF", "AVIF"])
def test_a_bomb_costs_no_memory(format):
    """A small file of 36 million pixels is refused without a process growing by a tenth of them."""
    options = {"TIFF": {"compression": "tiff_lzw"}, "AVIF": {"speed": 10}}.get(format, {})
    bomb = encoded(plain((6000, 6000), 0, "L"), format, **options)
    script = """
import resource, sys
from services.common.errors import TooLarge
from services.vision.decode import DecodeLimits, decode_image
peak = lambda: int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
bomb = sys.stdin.buffer.read()
before = peak()
try:
    decode_image(bomb, DecodeLimits(1_000_000, 448))
except TooLarge:
    print(peak() - before)
"""
    done = subprocess.run([sys.executable, "-c", script], input=bomb, capture_output=True, check=True)
    assert int(done.stdout) < 6_000  # KiB


def test_results_and_errors_travel_between_processes():
    """Pixels, report and errors come through a pipe as they were."""
    decoded = decode_image(encoded(plain()), LIMITS)
    again = pickle.loads(pickle.dumps(decoded))
    assert again.report == decoded.report
    assert again.pixels.flags.writeable
    error = pickle.loads(pickle.dumps(TooLarge("too large")))
    assert (error.code, error.message) == ("too_large", "too large")


def test_decoders_load_neither_torch_nor_grpc():
    """A decoder process stays small."""
    script = "import sys, services.vision.decode; print({'torch', 'grpc'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout == b"set()\n"

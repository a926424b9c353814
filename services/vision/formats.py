"""Reads what a file's bytes say without decoding it: format, frames, bytes after its end. Called by the decoder.

Names and suffixes of files are never believed.
"""

import re

READABLE = ("JPEG", "PNG", "GIF", "WebP", "AVIF", "TIFF", "BMP", "PNM")

_SIGNATURES = (
    (b"\xff\xd8\xff", "JPEG"),
    (b"\x89PNG\r\n\x1a\n", "PNG"),
    (b"GIF87a", "GIF"),
    (b"GIF89a", "GIF"),
    (b"II*\0", "TIFF"),
    (b"MM\0*", "TIFF"),
    (b"II+\0", "TIFF"),
    (b"MM\0+", "TIFF"),
    (b"BM", "BMP"),
    (b"\xff\x0a", "JPEG XL"),
    (b"\0\0\0\x0cJXL ", "JPEG XL"),
    (b"\0\0\0\x0cjP  ", "JPEG 2000"),
    (b"\xff\x4f\xff\x51", "JPEG 2000"),
    (b"8BPS", "Photoshop"),
    (b"\0\0\1\0", "Windows icon"),
    (b"%PDF", "PDF"),
    (b"%!PS", "PostScript"),
    (b"PK\3\4", "ZIP"),
    (b"\x1f\x8b", "gzip"),
    (b"\x1aE\xdf\xa3", "Matroska or WebM"),
    (b"OggS", "Ogg"),
    (b"fLaC", "FLAC"),
    (b"ID3", "MP3"),
    (b"<svg", "SVG"),
    (b"<?xml", "XML"),
    (b"<!DOCTYPE", "HTML"),
    (b"<html", "HTML"),
)
_BRANDS = {
    b"avif": "AVIF",
    b"avis": "AVIF",
    b"heic": "HEIC",
    b"heim": "HEIC",
    b"heis": "HEIC",
    b"heix": "HEIC",
    b"hevc": "HEIC",
    b"hevx": "HEIC",
    b"mif1": "HEIF",
    b"msf1": "HEIF",
    b"qt  ": "QuickTime",
}
_RIFF = {b"WEBP": "WebP", b"WAVE": "WAV", b"AVI ": "AVI"}
_NETPBM = re.compile(rb"P([1-6])[ \t\r\n#]")
_GIF_EXTENSION, _GIF_IMAGE = 0x21, 0x2C


def format_of(data: bytes) -> str:
    """Return the name of the format that ``data`` begins like, or an empty string."""
    if data[:4] == b"RIFF":
        return _RIFF.get(data[8:12], "RIFF")
    if data[4:8] == b"ftyp":
        return _iso_format(data)
    if netpbm := _NETPBM.match(data):
        return "PNM" if netpbm[1] in b"456" else "plain-text PNM"
    return next((name for start, name in _SIGNATURES if data.startswith(start)), "")


def _iso_format(data: bytes) -> str:
    # mif1 and msf1 say "some image"; only the compatible brands after them say how it is coded.
    length = min(int.from_bytes(data[:4], "big"), 256)
    brands = [data[8:12], *(data[at : at + 4] for at in range(16, length, 4))]
    names = [_BRANDS[brand] for brand in brands if brand in _BRANDS]
    return next((name for name in names if name != "HEIF"), names[0] if names else "MP4")


def gif_frame_count(data: bytes) -> int:
    """Return how many frames a GIF holds; what is cut off does not count."""
    count, at = 0, 13 + _colour_table_bytes(data[10])
    while at + 10 <= len(data) and data[at] in (_GIF_IMAGE, _GIF_EXTENSION):
        if data[at] == _GIF_IMAGE:
            count += 1
            at += 11 + _colour_table_bytes(data[at + 9])
        else:
            at += 2
        at = _after_blocks(data, at)
    return count


def _colour_table_bytes(flags: int) -> int:
    return 3 * 2 ** ((flags & 7) + 1) if flags & 0x80 else 0


def _after_blocks(data: bytes, at: int) -> int:
    while at < len(data) and data[at]:
        at += data[at] + 1
    return at + 1


def has_trailing_bytes(data: bytes, format: str) -> bool:
    """Say whether anything follows the end that ``format`` marks; False for formats that mark none."""
    match format:
        case "JPEG":
            return not data.endswith(b"\xff\xd9")
        case "PNG":
            end = data.rfind(b"IEND")
            return 0 <= end < len(data) - 8
        case "GIF":
            return not data.endswith(b"\x3b")
        case "WebP":
            length = 8 + int.from_bytes(data[4:8], "little")
            return length + length % 2 < len(data)
        case _:
            return False

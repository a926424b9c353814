"""Draws what was said onto the image it was said about: numbered boxes, and a legend strip below.

Pure: an image and phrases in, an image out. Used by the report.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from PIL import Image, ImageDraw, ImageFont, ImageOps

from attune_client.events import Box

MIN_WIDTH, MAX_WIDTH = 720, 1280
PAD = 16
LINE_WIDTH = 4
TAG_WIDTH = 40
FONT_SIZE, SMALL_SIZE = 22, 18
TEXT_LINE, SMALL_LINE = FONT_SIZE + 8, SMALL_SIZE + 8
INK, PAPER, FAINT = (24, 28, 36), (250, 250, 248), (110, 116, 126)

# Okabe and Ito's colours without the pale ones: told apart by everybody.
COLOURS = ((213, 94, 0), (0, 114, 178), (0, 158, 115), (170, 60, 130), (160, 110, 0), (60, 60, 60))

Font = ImageFont.FreeTypeFont | ImageFont.ImageFont


@dataclass(frozen=True)
class Marked:
    """A phrase about an image: its text, a note of score and place, and the boxes it points to, strongest first."""

    text: str
    note: str
    boxes: tuple[Box, ...]


def upright(image: Image.Image) -> Image.Image:
    """Return the image as RGB, turned as its EXIF says, in a width that leaves room for a legend."""
    turned = ImageOps.exif_transpose(image).convert("RGB")
    width = min(max(turned.width, MIN_WIDTH), MAX_WIDTH)
    if width == turned.width:
        return turned
    return turned.resize((width, max(1, round(turned.height * width / turned.width))), Image.Resampling.LANCZOS)


def annotated(image: Image.Image, title: str, phrases: Sequence[Marked]) -> Image.Image:
    """Return the upright image with the phrases' boxes on it and a legend below; without phrases it says so."""
    picture = upright(image)
    legend = _legend(picture.width, title, phrases)
    sheet = Image.new("RGB", (picture.width, picture.height + legend.height), PAPER)
    sheet.paste(picture, (0, 0))
    sheet.paste(legend, (0, picture.height))
    draw = ImageDraw.Draw(sheet)
    tags: list[tuple[tuple[int, int], int]] = []
    corners: dict[tuple[int, int], int] = {}
    for number, phrase in enumerate(phrases, 1):
        for at, box in enumerate(phrase.boxes):
            corner = _draw_box(draw, _pixels(box, picture.size), _colour(number), corners)
            tags += [(corner, number)] if at == 0 else []
    for (x, y), number in tags:  # last, or a later phrase's outline would cross an earlier one's tag
        _tag(draw, (min(x, picture.width - TAG_WIDTH), y), number)
    return sheet


def _draw_box(
    draw: ImageDraw.ImageDraw,
    box: tuple[int, int, int, int],
    colour: tuple[int, int, int],
    corners: dict[tuple[int, int], int],
) -> tuple[int, int]:
    """Draw an outline and return where its tag goes; about the same place, outlines nest and tags stand in a row."""
    x0, y0, x1, y1 = box
    rank = corners.get((x0 // 24, y0 // 24), 0)
    corners[x0 // 24, y0 // 24] = rank + 1
    inset = rank * (LINE_WIDTH + 3)
    _outline(draw, (x0 + inset, y0 + inset, x1 - inset, y1 - inset), colour)
    return x0 + rank * (TAG_WIDTH + 4), y0


def _pixels(box: Box, size: tuple[int, int]) -> tuple[int, int, int, int]:
    width, height = size
    x0, y0, x1, y1 = (min(1.0, max(0.0, value)) for value in box)
    edge = LINE_WIDTH // 2
    return (
        max(edge, round(x0 * width)),
        max(edge, round(y0 * height)),
        min(width - 1 - edge, round(x1 * width)),
        min(height - 1 - edge, round(y1 * height)),
    )


def _outline(draw: ImageDraw.ImageDraw, corners: tuple[int, int, int, int], colour: tuple[int, int, int]) -> None:
    x0, y0, x1, y1 = corners
    if x1 - x0 < 4 * LINE_WIDTH or y1 - y0 < 4 * LINE_WIDTH:
        return
    # A pale line on both sides keeps the colour visible on any picture.
    draw.rounded_rectangle((x0 - 2, y0 - 2, x1 + 2, y1 + 2), radius=7, outline=PAPER, width=LINE_WIDTH + 4)
    draw.rounded_rectangle(corners, radius=6, outline=colour, width=LINE_WIDTH)


def _colour(number: int) -> tuple[int, int, int]:
    return COLOURS[(number - 1) % len(COLOURS)]


def _tag(draw: ImageDraw.ImageDraw, corner: tuple[int, int], number: int) -> None:
    x, y = corner
    draw.rounded_rectangle((x, y, x + TAG_WIDTH, y + 34), radius=6, fill=_colour(number), outline=PAPER, width=2)
    draw.text((x + TAG_WIDTH // 2, y + 17), str(number), font=_font(FONT_SIZE), fill=PAPER, anchor="mm")


def _legend(width: int, title: str, phrases: Sequence[Marked]) -> Image.Image:
    left = 2 * PAD + TAG_WIDTH
    head = _wrapped(title, width - 2 * PAD, SMALL_SIZE)
    texts = [_wrapped(phrase.text, width - left - PAD, FONT_SIZE) for phrase in phrases]
    heights = [(text.count("\n") + 1) * TEXT_LINE + SMALL_LINE + PAD // 2 for text in texts]
    y = 2 * PAD + (head.count("\n") + 1) * SMALL_LINE
    strip = Image.new("RGB", (width, y + PAD + (sum(heights) or TEXT_LINE)), PAPER)
    draw = ImageDraw.Draw(strip)
    draw.multiline_text((PAD, PAD), head, font=_font(SMALL_SIZE), fill=FAINT, spacing=8)
    if not phrases:
        draw.text((PAD, y), "No phrase is about this image.", font=_font(FONT_SIZE), fill=INK)
    for number, (phrase, text, height) in enumerate(zip(phrases, texts, heights, strict=True), 1):
        _tag(draw, (PAD, y), number)
        draw.multiline_text((left, y), text, font=_font(FONT_SIZE), fill=INK, spacing=8)
        draw.text((left, y + height - SMALL_LINE - PAD // 2), phrase.note, font=_font(SMALL_SIZE), fill=FAINT)
        y += height
    return strip


def _wrapped(text: str, width: int, size: int) -> str:
    font, lines = _font(size), [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if font.getlength(longer) <= width or not lines[-1]:
            lines[-1] = longer
        else:
            lines.append(word)
    return "\n".join(lines)


@cache
def _font(size: int) -> Font:
    return ImageFont.load_default(size)

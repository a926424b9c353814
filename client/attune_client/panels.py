"""Lays out the live picture: header with progress, captions, the current image, phrases, and a footer.

Pure: state and size in, a rich renderable out, of exactly that size. Used by the live view.
"""

from collections.abc import Iterable

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from attune_client.events import Alignment, Frame, Word
from attune_client.talk import Talk, clock_text, region_words, strongest
from attune_client.transcript import Transcript

FIXED_LINES = 2 + 3 + 1  # header and progress, the image's panel, the footer
BAR_CELLS = 6
REGION_CELLS = len("bottom right")
Size = tuple[int, int]


def screen(talk: Talk, transcript: Transcript, position_us: int, size: Size) -> RenderableType:
    """Return the whole picture for ``size`` (columns, lines)."""
    width, height = size
    free = max(8, height - FIXED_LINES)
    captions = max(4, free * 2 // 5)
    return Group(
        header(talk, transcript, position_us),
        bar(position_us / talk.duration_us if talk.duration_us else 0.0, width, "cyan"),
        captions_panel(transcript, (width, captions)),
        image_panel(talk, transcript, position_us),
        phrases_panel(talk, transcript, (width, free - captions)),
        footer(transcript),
    )


def header(talk: Talk, transcript: Transcript, position_us: int) -> RenderableType:
    """Return the title, the state and how far the talk is."""
    line = Table.grid(expand=True, padding=(0, 1))
    line.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
    line.add_column(justify="right", no_wrap=True)
    title = Text.assemble((" attune ", "bold reverse"), " ", (talk.title, "bold"))
    end_us = talk.duration_us
    times = f"{clock_text(min(position_us, end_us) if end_us else position_us)} / {clock_text(end_us)}"
    line.add_row(title, Text.assemble(state(transcript), "  ", (times, "bold")))
    return line


def state(transcript: Transcript) -> Text:
    """Return how the session does in a word or two."""
    if transcript.ended:
        return Text("● done", "green")
    if transcript.degraded:
        return Text(f"● degraded: {', '.join(transcript.degraded)}", "yellow")
    return Text("● live", "green") if transcript.ready else Text("● connecting", "dim")


def captions_panel(transcript: Transcript, size: Size) -> Panel:
    """Return the newest captions that fit: committed words bright, those that may still change dim."""
    width, height = size
    # Start at a multiple of what can fit: a start that moved with every word would break the lines anew each time.
    fits = width * height // 2
    words = transcript.words[max(0, len(transcript.words) // fits - 1) * fits :]
    text = Text.assemble(_sentence(words), " ", (_sentence(transcript.partial), "dim italic"))
    lines = text.wrap(Console(width=width), width - 4)[-(height - 2) :]
    return Panel(Text("\n").join(lines), title="captions", title_align="left", height=height, border_style="cyan")


def _sentence(words: Iterable[Word]) -> str:
    return " ".join(word.text.strip() for word in words)


def image_panel(talk: Talk, transcript: Transcript, position_us: int) -> Panel:
    """Return the name of the image shown now and what was seen on it."""
    shown = [image for image in talk.images if image.pts_us <= position_us]
    title = f"image {len(shown)} of {len(talk.images)}"
    text = Text("none yet", "dim")
    if shown:
        frames = (frame for frame in transcript.frames.values() if talk.image_of(frame) == shown[-1])
        text = Text.assemble((shown[-1].name, "bold"), "  ", _seen(next(frames, None)))
    text.no_wrap, text.overflow = True, "ellipsis"
    return Panel(text, title=title, title_align="left", height=3, border_style="magenta")


def _seen(frame: Frame | None) -> Text:
    if frame is None:
        return Text("…", "dim")
    if frame.status == "seen":
        return Text(" · ".join(f"{label.text} {label.score:.2f}" for label in frame.labels[:3]), "dim")
    return Text(f"{frame.status} {frame.reason or ''}".rstrip(), "yellow")


def phrases_panel(talk: Talk, transcript: Transcript, size: Size) -> Panel:
    """Return the last phrases, newest below: phrase → image and region, score bar."""
    width, height = size
    table = Table.grid(expand=True, padding=(0, 1))
    table.add_column(ratio=3, no_wrap=True, overflow="ellipsis")
    table.add_column(width=1)
    table.add_column(ratio=2, no_wrap=True, overflow="ellipsis")
    table.add_column(width=REGION_CELLS, no_wrap=True)
    table.add_column(width=BAR_CELLS + 5, no_wrap=True)
    for alignment in transcript.alignments[-(height - 2) :]:
        table.add_row(*_phrase_row(talk, transcript, alignment), style=None if alignment.final else "dim")
    return Panel(table, title="phrases", title_align="left", height=height, width=width, border_style="green")


def _phrase_row(talk: Talk, transcript: Transcript, alignment: Alignment) -> tuple[Text, ...]:
    phrase, arrow = Text(transcript.text_of(alignment)), Text("→", "dim")
    if alignment.frame_id is None:
        return phrase, arrow, Text("no image", "dim")
    image = talk.image_of(transcript.frames.get(alignment.frame_id))
    best = strongest(alignment.regions)
    name = Text(image.name if image else alignment.frame_id, "bold")
    return (
        phrase,
        arrow,
        name,
        Text(region_words(best.box) if best else "", "cyan"),
        score_bar(alignment.score.combined),
    )


def bar(share: float, cells: int, colour: str) -> Text:
    """Return a bar that is filled to ``share``, which is cut to [0, 1]."""
    filled = round(min(1.0, max(0.0, share)) * cells)
    return Text.assemble(("━" * filled, colour), ("━" * (cells - filled), "grey30"))


def score_bar(score: float) -> Text:
    """Return a short bar and the number."""
    return bar(score, BAR_CELLS, "green" if score >= 0.5 else "yellow").append(f" {score:.2f}")


def footer(transcript: Transcript) -> Text:
    """Return the counts, the lags and the last problem."""
    lags = transcript.lag.lags
    parts = [f"{len(transcript.words)} words", f"{len(transcript.final_alignments)} phrases"]
    if lags:
        recent = lags[-20:]
        parts.append(f"lag {sum(lag.settled_us for lag in recent) / len(recent) / 1e6:.1f} s")
    if transcript.flow:
        parts.append(f"server lag {transcript.flow.lag_us / 1e6:.1f} s")
    line = Text(no_wrap=True, overflow="ellipsis").append(" " + " · ".join(parts), "dim")
    if transcript.problems:
        line.append(f" · {transcript.problems[-1].message}", "yellow")
    if transcript.faults:
        line.append(f" · protocol: {transcript.faults[-1]}", "red")
    return line

"""Shows a running session: a live picture in a terminal, plain lines elsewhere.

``open_view`` picks one. Used by ``stream_files``, which feeds it events and asks it to refresh a few times a second.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from rich.console import Console
from rich.live import Live
from rich.text import Text

from attune_client.events import Alignment, Committed, Degraded, Event, Failed, Frame, Recovered, Warned
from attune_client.panels import screen
from attune_client.talk import Talk, clock_text, region_words, strongest
from attune_client.transcript import Transcript


class View(Protocol):
    """What shows a session."""

    def event(self, event: Event) -> None:
        """Take an event that the transcript has already taken."""

    def refresh(self, position_us: int) -> None:
        """Show the state at this point of the talk."""


@dataclass(frozen=True)
class LiveView:
    """Redraws the whole picture in place."""

    live: Live
    talk: Talk
    transcript: Transcript

    def event(self, event: Event) -> None:
        """Wait for the next refresh: drawing per event would flicker."""

    def refresh(self, position_us: int) -> None:
        """Draw the state."""
        size = self.live.console.size
        # One line less than the terminal: a full one scrolls when the cursor moves on.
        picture = screen(self.talk, self.transcript, position_us, (size.width, min(size.height - 1, 40)))
        self.live.update(picture, refresh=True)


@dataclass(frozen=True)
class LineView:
    """Prints what is final, a line each, for logs and pipes."""

    console: Console
    talk: Talk
    transcript: Transcript

    def event(self, event: Event) -> None:
        """Print the event if it is one that stays."""
        line = self._line(event)
        if line is not None:
            self.console.print(Text(line), soft_wrap=True)

    def refresh(self, position_us: int) -> None:
        """Do nothing: lines come with events."""

    def _line(self, event: Event) -> str | None:
        match event:
            case Committed(words=words) if words:
                return f"[{clock_text(words[0].start_us)}] {' '.join(word.text.strip() for word in words)}"
            case Alignment(final=True):
                return self._alignment_line(event)
            case Frame():
                return self._frame_line(event)
            case Degraded() | Recovered():
                return f"  ! {type(event).__name__.lower()}: {event.stage} {event.reason}".rstrip()
            case Warned() | Failed():
                return f"  ! {event.code}: {event.message}"
        return None

    def _alignment_line(self, alignment: Alignment) -> str:
        phrase = self.transcript.text_of(alignment)
        if alignment.frame_id is None:
            return f"  = {phrase!r} → no image"
        image = self.talk.image_of(self.transcript.frames.get(alignment.frame_id))
        best = strongest(alignment.regions)
        place = f", {region_words(best.box)}" if best else ""
        name = image.name if image else alignment.frame_id
        return f"  = {phrase!r} → {name}{place} ({alignment.score.combined:.2f})"

    def _frame_line(self, frame: Frame) -> str:
        image = self.talk.image_of(frame)
        what = ", ".join(label.text for label in frame.labels[:3]) or frame.reason or ""
        return f"[{clock_text(frame.pts_us)}] image {image.name if image else frame.id}: {frame.status} {what}".rstrip()


@contextmanager
def open_view(console: Console, talk: Talk, transcript: Transcript) -> Iterator[View]:
    """Yield the live picture where ``console`` is a terminal that can move its cursor, else the plain lines."""
    if not console.is_terminal or console.is_dumb_terminal:
        yield LineView(console, talk, transcript)
        return
    with Live(console=console, auto_refresh=False, vertical_overflow="crop") as live:
        yield LiveView(live, talk, transcript)

"""Which words belong to which item: the state of one realtime session's audio buffer. Pure; called by session.py.

Speech events and client requests in, server events out. With server VAD an item is the speech between a start and a
stop; without, it is what the buffer held at a commit. A commit and a clear flush the recogniser: what it says before
the marker comes back belongs to the audio before them.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from services.common.errors import AttuneError, InvalidInput
from services.common.types import Word
from services.gateway.realtime import events
from services.gateway.realtime.events import Json
from services.gateway.realtime.options import PREFIX_PADDING_MS, Options

LEAST_COMMIT_US = 100_000


class CommitEmpty(InvalidInput):
    """A commit of next to no audio; OpenAI's own code for it."""

    code = "input_audio_buffer_commit_empty"


@dataclass
class Item:
    """A stretch of audio that becomes, or is, an item of the conversation."""

    id: str
    start_us: int
    end_us: int = 0
    words: list[Word] = field(default_factory=list)
    previous: str | None = None


class _Ask(StrEnum):
    COMMIT = "commit"
    CLEAR = "clear"


@dataclass
class _Asked:
    """A flush on its way; ``item`` is what a commit has brought so far."""

    marker: str
    kind: _Ask
    item: Item | None = None


class Turns:
    """State of one session; ``new_id`` makes ids of items and markers."""

    def __init__(self, options: Options, new_id: Callable[[], str]) -> None:
        self.options = options
        self.now_us = 0  # of the audio that has come
        self._new_id = new_id
        self._buffer_us = 0  # where the buffer begins
        self._committed_us = 0  # where the client last committed it; with turn detection its turn ends later
        self._last: str | None = None
        self._open: Item | None = None  # running speech
        self._held: list[Word] = []  # said in the buffer, which nobody has committed yet
        self._asked: deque[_Asked] = deque()

    def started(self, at_us: int) -> list[Json]:
        """Take a start of speech. A recogniser that took over from a lost one says it again."""
        if self.options.vad is None or self._open is not None or self._forgets():
            return []
        start_us = max(self._buffer_us, at_us - PREFIX_PADDING_MS * 1000, 0)
        self._open, self._held = Item(self._new_id(), start_us, words=self._held), []
        return [events.speech_started(self._open.id, start_us)]

    def heard(self, words: tuple[Word, ...]) -> list[Json]:
        """Take words that will not change."""
        if self._forgets():
            return []
        item = self._open
        if self.options.vad is None and self._asked:
            item = self._asked[0].item
        if item is None:
            self._held += words
            return []
        return self._say(item, words)

    def stopped(self, at_us: int) -> list[Json]:
        """Take an end of speech: its words have come before."""
        item, self._open = self._open, None
        if item is None or self.options.vad is None:
            return []
        asked = self._asked[0] if self._asked else None
        if asked is not None and asked.item is None:
            asked.item = item
            return self._done_turn(item, at_us)
        end_us = min(self.now_us, at_us + self.options.vad.silence_ms * 1000)
        return [events.speech_stopped(item.id, end_us), *self._done_turn(item, end_us)]

    def commit(self) -> tuple[list[Json], str]:
        """Take the client's commit; return events, and the marker to flush with. CommitEmpty under 100 ms."""
        length_us = self.now_us - max(self._buffer_us, self._committed_us)
        if length_us < LEAST_COMMIT_US:
            raise CommitEmpty(
                f"the buffer is too small to commit: it needs 100 ms of audio, and has {length_us / 1000:.2f} ms"
            )
        self._committed_us = self.now_us
        asked = _Asked(self._new_id(), _Ask.COMMIT)
        self._asked.append(asked)
        if self.options.vad is not None:
            return [], asked.marker
        item = asked.item = Item(asked.marker, self._buffer_us)
        self._buffer_us = item.end_us = self.now_us
        told = self._add(item)
        # What is held was said before this commit, unless an earlier one still waits for its words.
        if self._held and self._asked[0] is asked:
            held, self._held = tuple(self._held), []
            told += self._say(item, held)
        return told, asked.marker

    def clear(self) -> tuple[list[Json], str]:
        """Take the client's wish to forget the buffer; return events, and the marker to flush with."""
        asked = _Asked(self._new_id(), _Ask.CLEAR)
        if not self._asked:  # else the recogniser has yet to say what was committed before
            self._open, self._held = None, []
        self._asked.append(asked)
        self._buffer_us = self.now_us
        return [{"type": "input_audio_buffer.cleared"}], asked.marker

    def answered(self, marker: str) -> list[Json]:
        """Take the answer to a flush: all that was said before it has come."""
        if not self._asked or self._asked[0].marker != marker:
            return []
        asked = self._asked.popleft()
        if asked.kind is _Ask.CLEAR:
            self._open, self._held = None, []
            return []
        if asked.item is not None:
            return self._complete(asked.item) if self.options.vad is None else []
        return self._done_turn(Item(asked.marker, self._buffer_us), self.now_us)  # nobody spoke

    def failed(self, error: AttuneError) -> list[Json]:
        """Take that the recogniser is lost: what it was asked for will not come."""
        told: list[Json] = []
        if self._open is not None:
            told += [*self._add(self._open), *self._fail(self._open, error)]
        for asked in self._asked:
            if self.options.vad is None and asked.item is not None:
                told += self._fail(asked.item, error)
            elif asked.kind is _Ask.COMMIT and asked.item is None and self._open is None:
                item = Item(asked.marker, self._buffer_us)
                told += [*self._add(item), *self._fail(item, error)]
        self._asked.clear()
        self._open, self._held, self._buffer_us = None, [], self.now_us
        return told

    def _forgets(self) -> bool:
        """Say whether what comes now is of audio that the client had cleared."""
        return bool(self._asked) and self._asked[0].kind is _Ask.CLEAR

    def _say(self, item: Item, words: tuple[Word, ...]) -> list[Json]:
        first = not item.words
        item.words += words
        return [events.delta(item.id, words, first=first, logprobs=self.options.logprobs)]

    def _done_turn(self, item: Item, end_us: int) -> list[Json]:
        item.end_us = self._buffer_us = end_us
        return [*self._add(item), *self._complete(item)]

    def _add(self, item: Item) -> list[Json]:
        item.previous, self._last = self._last, item.id
        kind, status = ("created", "completed") if self.options.older else ("added", "in_progress")
        added = events.item_event(kind, item.id, item.previous, None, status)
        return [events.committed(item.id, item.previous), added]

    def _complete(self, item: Item) -> list[Json]:
        duration_us = item.end_us - item.start_us
        told = [events.completed(item.id, item.words, duration_us, logprobs=self.options.logprobs)]
        return told + self._finished(item, told[0]["transcript"], "completed")

    def _fail(self, item: Item, error: AttuneError) -> list[Json]:
        return [events.failed(item.id, error), *self._finished(item, None, "incomplete")]

    def _finished(self, item: Item, transcript: str | None, status: str) -> list[Json]:
        if self.options.older:
            return []
        return [events.item_event("done", item.id, item.previous, transcript, status)]

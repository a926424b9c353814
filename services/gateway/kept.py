"""What has to be sent again when an upstream is lost in mid-stream. Pure: told of every input and output.

Used by the replay guard; one class per port.
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Generic, Protocol, TypeVar

from services.common.types import (
    AlignConfig,
    AlignEvent,
    AlignInput,
    Alignment,
    AudioChunk,
    Coverage,
    Flush,
    FrameTokens,
    Marker,
    Progress,
    RecognizeConfig,
    Settled,
    SpeechEvent,
    SpeechInput,
    SpokenWord,
    Words,
)

In = TypeVar("In")
Out = TypeVar("Out")


class Kept(Protocol[In, Out]):
    """What a stream must send again after a loss."""

    def sent(self, item: In) -> None:
        """Note an input that goes out for the first time."""

    def received(self, output: Out) -> Out:
        """Note an output, forget what it decides, and return what the caller shall see."""
        ...

    def again(self) -> Iterable[In]:
        """Return the inputs that bring a fresh upstream to where the lost one was."""
        ...


class KeptAudio:
    """Keeps audio that is not settled and flushes that are not answered; adds up the coverage of all attempts."""

    def __init__(self) -> None:
        self._config: RecognizeConfig | None = None
        self._items: deque[AudioChunk | Flush] = deque()
        self._settled_us = 0
        self._base = Coverage(0, 0, 0)
        self._since = Coverage(0, 0, 0)

    def sent(self, item: SpeechInput) -> None:
        """Note a configuration, a chunk or a flush."""
        if isinstance(item, RecognizeConfig):
            self._config = item
            self._settled_us = item.start_us
        else:
            self._items.append(item)

    def received(self, output: SpeechEvent) -> SpeechEvent:
        """Forget what an event decides."""
        match output:
            case Settled(until_us, _, coverage):
                self._settled_us = max(self._settled_us, until_us)
                self._since = coverage
                self._forget(lambda item: isinstance(item, AudioChunk) and self._end_us(item) <= self._settled_us)
            case Marker(marker):
                self._forget(lambda item: item == Flush(marker))
            case Coverage():
                return added(self._base, output)
        return output

    def again(self) -> Iterable[SpeechInput]:
        """Return the configuration from the settled time on, then what is not decided."""
        if self._config is None:
            return
        self._base, self._since = added(self._base, self._since), Coverage(0, 0, 0)
        yield replace(self._config, start_us=self._settled_us)
        for item in self._items:
            yield self._cut(item) if isinstance(item, AudioChunk) else item

    def _forget(self, decided: Callable[[AudioChunk | Flush], bool]) -> None:
        self._items = deque(item for item in self._items if not decided(item))

    def _bytes_per_s(self) -> int:
        assert self._config is not None
        return self._config.bytes_per_s

    def _end_us(self, chunk: AudioChunk) -> int:
        rate = self._bytes_per_s()
        return chunk.pts_us + len(chunk.data) * 1_000_000 // rate if rate else chunk.pts_us

    def _cut(self, chunk: AudioChunk) -> AudioChunk:
        early_us = self._settled_us - chunk.pts_us
        rate = self._bytes_per_s()
        if early_us <= 0 or not rate:
            return chunk
        assert self._config is not None
        frame_bytes = rate // self._config.sample_rate_hz
        cut = early_us * rate // 1_000_000 // frame_bytes * frame_bytes
        return AudioChunk(chunk.seq, chunk.pts_us + cut * 1_000_000 // rate, chunk.data[cut:])


def added(first: Coverage, second: Coverage) -> Coverage:
    """Return the coverage of two stretches that follow each other."""
    return Coverage(
        first.duration_us + second.duration_us,
        first.transcribed_us + second.transcribed_us,
        first.silent_us + second.silent_us,
        first.dropped + second.dropped,
    )


class KeptMoment:
    """Keeps what an aligner needs to know again: the newest frames, and words whose alignment is not final."""

    def __init__(self, max_frames: int = 32, max_words: int = 2000) -> None:
        self._config = AlignConfig()
        self._frames: deque[FrameTokens] = deque(maxlen=max_frames)
        self._words: deque[SpokenWord] = deque(maxlen=max_words)
        self._progress: Progress | None = None
        self._flushes: list[Flush] = []
        self._open: dict[int, Alignment] = {}  # by first word: what was last said of a phrase

    def sent(self, item: AlignInput) -> None:
        """Note any input."""
        match item:
            case AlignConfig():
                self._config = item
            case FrameTokens():
                self._frames.append(item)
            case Words(words):
                self._words.extend(words)
            case Progress():
                self._progress = item
            case Flush():
                self._flushes.append(item)

    def received(self, output: AlignEvent) -> AlignEvent:
        """Forget words that are final; a phrase's revisions go on counting over a loss."""
        if isinstance(output, Marker):
            self._flushes = [flush for flush in self._flushes if flush.marker != output.marker]
            return output
        seen = self._with_honest_revision(output)
        if seen.final:
            done = set(seen.word_ids)
            self._words = deque((word for word in self._words if word.id not in done), self._words.maxlen)
            self._open.pop(seen.word_ids[0], None)
        return seen

    def _with_honest_revision(self, alignment: Alignment) -> Alignment:
        last = self._open.get(alignment.word_ids[0])
        if last is not None:
            same = (alignment.frame_id, alignment.relation, alignment.regions) == (
                last.frame_id,
                last.relation,
                last.regions,
            )
            least = last.revision if same else last.revision + 1
            alignment = replace(alignment, revision=max(alignment.revision, least))
        self._open[alignment.word_ids[0]] = alignment
        return alignment

    def again(self) -> Iterable[AlignInput]:
        """Return frames, open words, how far the words go, and flushes without an answer."""
        yield self._config
        yield from self._frames
        if self._words:
            yield Words(tuple(self._words))
        if self._progress is not None:
            yield self._progress
        yield from self._flushes


class KeptAll(Generic[In, Out]):
    """Keeps every input: right for short calls, whose answer ends them."""

    def __init__(self) -> None:
        self._items: list[In] = []

    def sent(self, item: In) -> None:
        """Note an input."""
        self._items.append(item)

    def received(self, output: Out) -> Out:
        """Return the output as it is."""
        return output

    def again(self) -> Iterable[In]:
        """Return all inputs so far."""
        return tuple(self._items)

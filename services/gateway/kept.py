"""What has to be sent again when an upstream is lost in mid-stream. Pure: told of every input and output.

Used by the replay guard; one class per port.
"""

from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

from services.common.coverage import added
from services.common.errors import Unavailable
from services.common.types import (
    AlignConfig,
    AlignEvent,
    AlignInput,
    Alignment,
    AudioChunk,
    Committed,
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
    Word,
    Words,
)
from services.gateway.session import AudioClock

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


@dataclass(frozen=True, slots=True)
class _Held:
    """A chunk with its place on the media clock: which goes by the sample count, whatever the client's stamp says."""

    chunk: AudioChunk
    origin_us: int  # where the count began
    offset_bytes: int  # of this chunk in the count
    end_us: int
    bytes_per_s: int  # 0 for containers


class KeptAudio:
    """Keeps audio that a new stream needs and flushes that are not answered; adds up the coverage of all attempts."""

    def __init__(self) -> None:
        self._config: RecognizeConfig | None = None
        self._clock = AudioClock(0)
        self._items: deque[_Held | Flush] = deque()
        self._said: deque[Word] = deque()
        self._resume_us = 0
        self._settled_us = 0
        self._base = Coverage(0, 0, 0)
        self._since = Coverage(0, 0, 0)

    def sent(self, item: SpeechInput) -> None:
        """Note a configuration, a chunk or a flush."""
        match item:
            case RecognizeConfig():
                self._config = item
                self._clock = AudioClock(item.bytes_per_s)
                self._resume_us = self._settled_us = item.start_us
            case AudioChunk():
                end_us = self._clock.end_us(item.pts_us, len(item.data))
                offset_bytes = self._clock.bytes - len(item.data)
                rate = self._config.bytes_per_s if self._config else 0
                self._items.append(_Held(item, self._clock.origin_us, offset_bytes, end_us, rate))
            case Flush():
                self._items.append(item)

    def received(self, output: SpeechEvent) -> SpeechEvent:
        """Forget what an event decides."""
        match output:
            case Committed(words):
                self._said.extend(words)
            case Settled():
                self._settle(output)
            case Marker(marker):
                with suppress(ValueError):
                    self._items.remove(Flush(marker))
            case Coverage():
                return added(self._base, output)
        return output

    def again(self) -> Iterable[SpeechInput]:
        """Return a configuration that goes on where the lost stream was, and what came since.

        Unavailable for a container, which nobody can read from the middle.
        """
        if self._config is None:
            return
        if not self._config.bytes_per_s:
            raise Unavailable("the recogniser was lost, and a container stream cannot be taken up again in the middle")
        self._base, self._since = added(self._base, self._since), Coverage(0, 0, 0)
        said = tuple(self._said)
        yield replace(self._config, start_us=self._resume_us, settled_us=self._settled_us, said=said, continues=True)
        for item in self._items:
            yield item if isinstance(item, Flush) else self._cut(item)

    def _settle(self, settled: Settled) -> None:
        self._settled_us = max(self._settled_us, settled.until_us)
        self._resume_us = max(self._resume_us, settled.resume_us)
        self._since = settled.coverage
        while self._items and isinstance(self._items[0], _Held) and self._is_over(self._items[0]):
            self._items.popleft()
        while self._said and self._said[0].end_us <= self._resume_us:
            self._said.popleft()

    def _is_over(self, held: _Held) -> bool:
        # To the byte: a chunk may end with the first byte of a sample whose rest comes in the next one.
        if not held.bytes_per_s:
            return held.end_us <= self._resume_us
        return held.offset_bytes + len(held.chunk.data) <= self._resume_bytes(held)

    def _resume_bytes(self, held: _Held) -> int:
        """Return where the resume time lies in the count that the chunk belongs to, at the beginning of a sample."""
        assert self._config is not None
        frame_bytes = held.bytes_per_s // self._config.sample_rate_hz
        return max(0, self._resume_us - held.origin_us) * held.bytes_per_s // 1_000_000 // frame_bytes * frame_bytes

    def _cut(self, held: _Held) -> AudioChunk:
        """Return the chunk from the resume time on, cut where a sample of the whole count begins."""
        begin = max(held.offset_bytes, self._resume_bytes(held))
        pts_us = held.origin_us + begin * 1_000_000 // held.bytes_per_s
        return AudioChunk(held.chunk.seq, pts_us, held.chunk.data[begin - held.offset_bytes :])


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
            with suppress(ValueError):
                self._flushes.remove(Flush(output.marker))
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

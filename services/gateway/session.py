"""The state of one live session, without sockets or clocks: numbers, acks, clock and lag.

Fed by the pipeline, which sends what comes out.
"""

import secrets
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from services.common.types import Committed, SpokenWord

Event = dict[str, Any]

# Sample counts and microseconds do not divide evenly: the two sides may round differently.
ROUNDING_US = 100

MAX_JUMP = 100_000  # an hour and a half of 50 ms frames

LAG_BANDS_US = (1_000_000, 2_000_000, 4_000_000, 8_000_000, 16_000_000)


@dataclass(frozen=True, slots=True)
class Ack:
    """Media that the client may forget: everything up to and including these numbers."""

    audio_seq: int
    image_seq: int


class AckLedger:
    """Knows which media are decided, in sequence."""

    def __init__(self) -> None:
        self._audio: deque[tuple[int, int]] = deque()  # seq, media time of its end
        self._audio_seq = 0
        self._open_images: set[int] = set()
        self._image_seq = 0

    def audio_came(self, seq: int, end_us: int) -> None:
        """Note a chunk of live audio and where it ends."""
        self._audio.append((seq, end_us))

    def audio_settled(self, until_us: int) -> None:
        """Note that all audio before ``until_us`` is decided."""
        while self._audio and self._audio[0][1] <= until_us + ROUNDING_US:
            self._audio_seq = self._audio.popleft()[0]

    def image_came(self, seq: int) -> None:
        """Note an image that is not decided yet."""
        self._open_images.add(seq)
        self._image_seq = max(self._image_seq, seq)

    def image_decided(self, seq: int) -> None:
        """Note that an image was seen, dropped or failed."""
        self._open_images.discard(seq)

    def ack(self) -> Ack:
        """Return how far the media are decided without a gap."""
        first_open = min(self._open_images, default=self._image_seq + 1)
        return Ack(self._audio_seq, first_open - 1)


class Sequence:
    """Checks that one kind of media counts 1, 2, 3 …; says what each number is."""

    def __init__(self) -> None:
        self._last = 0
        self._warned = False

    def warns_of_repeats(self) -> bool:
        """Return True the first time: a client that sends again what it need not is told once."""
        first, self._warned = not self._warned, True
        return first

    def is_absurd(self, seq: int) -> bool:
        """Say whether ``seq`` is so far ahead that it can only be a mistake; taking it would shut out all others."""
        return seq > self._last + MAX_JUMP

    def is_repeat(self, seq: int) -> bool:
        """Say whether ``seq`` was here before."""
        return seq <= self._last

    def missing_before(self, seq: int) -> int:
        """Take ``seq`` as the newest and return how many numbers before it never came."""
        missing = seq - self._last - 1
        self._last = seq
        return missing


class AudioClock:
    """Places live audio on the media clock: the sample count rules, and only a jump ahead moves it.

    The recogniser goes by the same rule; here it says which chunk ends when: ``bytes`` after ``origin_us``.
    """

    JUMP_US = 20_000

    def __init__(self, bytes_per_s: int) -> None:
        self._bytes_per_s = bytes_per_s  # 0 for containers, whose bytes say nothing of time
        self._counting = False
        self.origin_us = 0
        self.bytes = 0

    def end_us(self, pts_us: int, size_bytes: int) -> int:
        """Return the media time at which a chunk that claims to start at ``pts_us`` ends."""
        if not self._counting or pts_us > self._now_us() + self.JUMP_US:
            self._counting, self.origin_us, self.bytes = True, pts_us, 0
        self.bytes += size_bytes
        return self._now_us()

    def _now_us(self) -> int:
        return self.origin_us + (self.bytes * 1_000_000 // self._bytes_per_s if self._bytes_per_s else 0)


@dataclass
class Session:
    """Identity and counters of one live session."""

    id: str = field(default_factory=lambda: "s_" + secrets.token_urlsafe(12))
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    event_no: int = 0
    words: int = 0
    came_us: int = 0  # media time up to which audio came from the client
    lag_band: int = 0
    acks: AckLedger = field(default_factory=AckLedger)
    audio: Sequence = field(default_factory=Sequence)
    images: Sequence = field(default_factory=Sequence)
    usage: dict[str, int] = field(default_factory=lambda: {"audio_bytes": 0, "images": 0, "words": 0})

    def numbered(self, event: Event) -> Event:
        """Return the event with the next number."""
        self.event_no += 1
        return {"type": event["type"], "event_no": self.event_no, **event}

    def spoken(self, committed: Committed) -> tuple[SpokenWord, ...]:
        """Give newly committed words their ids, 1, 2, 3 … in the session."""
        first = self.words + 1
        self.words += len(committed.words)
        self.usage["words"] = self.words
        return tuple(
            SpokenWord(number, word.text, word.start_us, word.end_us)
            for number, word in enumerate(committed.words, first)
        )

    def settle(self, until_us: int, received_us: int) -> Event | None:
        """Note how far the audio is decided; return a ``flow`` event when the lag enters another band."""
        self.acks.audio_settled(until_us)
        lag_us = max(0, received_us - until_us)
        band = sum(lag_us >= edge_us for edge_us in LAG_BANDS_US)
        if band == self.lag_band:
            return None
        self.lag_band = band
        return {"type": "flow", "lag_us": lag_us, "window_us": lag_us}

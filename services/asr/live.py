"""One live session: takes audio and flushes in order, decides when to decode, says what was heard.

Called by ``live_call.py``, one step at a time; no clock, no async. A step asks for one pass or two.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from services.asr.clock import OVERLAP
from services.asr.coverage import Ledger
from services.asr.endpoint import Started, Stopped
from services.asr.hearing import Hearing
from services.asr.mel import SAMPLE_RATE_HZ
from services.asr.pcm import PcmReader
from services.asr.recognition import Decision, Recognition
from services.asr.repetition import Listening
from services.asr.words import HeardWord, Spell, spelled
from services.common.types import (
    AudioChunk,
    Committed,
    Flush,
    Marker,
    Partial,
    Settled,
    SpeechEvent,
    SpeechStarted,
    SpeechStopped,
    Word,
)

LEAD = 4_000  # 250 ms heard before speech starts: the detector is late on soft sounds
TRAIL = 3_200  # 200 ms heard after it: by then its last word can be decoded
CATCH_UP = 2 * SAMPLE_RATE_HZ  # of a backlog, between two passes
SETTLE_EVERY_US = 100_000  # in silence: a pause that ends a phrase is known this late at most


@dataclass(frozen=True, slots=True)
class End:
    """No more audio will come."""


LiveItem = AudioChunk | Flush | End


@dataclass(slots=True)
class LiveSession:
    """State of one session. ``interval`` is the new speech, in samples, that makes a pass worth its cost."""

    reader: PcmReader
    hearing: Hearing
    recognition: Recognition
    ledger: Ledger
    interval: int
    partials: bool = True
    said: tuple[HeardWord, ...] = ()  # what an earlier stream has committed of the first audio
    last_end_us: int = 0  # before which all words are said
    spell: Spell | None = None  # to say the words' tokens
    _items: deque[LiveItem] = field(default_factory=deque)
    _events: list[SpeechEvent] = field(default_factory=list)
    _decided: int = 0  # position before which nothing is heard again
    _began: int = 0  # where the running speech starts
    _ended: bool = False
    _said: bool = False  # the running speech has words
    _settled_us: int = -SETTLE_EVERY_US
    _partial_shown: bool = False
    _overlap_warned: bool = False

    def give(self, items: Iterable[LiveItem]) -> None:
        """Queue what came in."""
        self._items.extend(items)

    def step(self) -> Listening[tuple[list[SpeechEvent], bool]]:
        """Work until a pass is done or nothing is left; return the events, and whether there is more to do."""
        more = yield from self._work()
        if not self._ended:
            self._settle()
        events, self._events = self._events, []
        return events, more

    def _work(self) -> Listening[bool]:
        while True:
            change = self.hearing.advance(self._limit())
            if isinstance(change, Started):
                self._start(change.position)
            elif isinstance(change, Stopped):
                yield from self._stop(change.position)
                return True
            elif self._is_due():
                yield from self._listen()
                return True
            elif self._items:
                yield from self._take(self._items.popleft())
            else:
                return False

    def _take(self, item: LiveItem) -> Listening[None]:
        match item:
            case AudioChunk(_, pts_us, data):
                yield from self._keep_time(pts_us)
                self.hearing.push(self.reader.push(data))
            case Flush(marker):
                yield from self._close()
                self._settle(always=True)
                self._events.append(Marker(marker))
            case End():
                yield from self._end()
                self._settle(always=True)
                self._ended = True
                self._events.append(self.ledger.coverage(self.hearing.clock.now_us))

    def _keep_time(self, pts_us: int) -> Listening[None]:
        clock = self.hearing.clock
        ahead_us = clock.ahead_us(pts_us)
        if ahead_us > 0:
            yield from self._end()
            self.ledger.dropped(clock.now_us, pts_us, "gap")
            self.reader.drop_rest()
            self.hearing.jump(pts_us)
        elif ahead_us < 0 and not self._overlap_warned:
            self._overlap_warned = True
            self._events.append(OVERLAP)

    def _end(self) -> Listening[None]:
        self.hearing.end()
        yield from self._close()
        self._decided = self.hearing.tape.end
        self.recognition.forget_context()

    def _close(self) -> Listening[None]:
        """Decide everything said so far."""
        while (change := self.hearing.advance(self.hearing.tape.end)) is not None:
            if isinstance(change, Started):
                self._start(change.position)
            else:
                yield from self._stop(change.position)
        endpointer = self.hearing.endpointer
        started = endpointer.cut()
        if started is not None:
            self._start(started.position)
        stopped = endpointer.stop()
        if stopped is not None:
            yield from self._stop(stopped.position)

    def _limit(self) -> int:
        if not self.hearing.endpointer.speaking:
            return self.hearing.tape.end
        return max(self.recognition.heard_until, self._began) + CATCH_UP

    def _is_due(self) -> bool:
        endpointer = self.hearing.endpointer
        if not endpointer.speaking:
            return False
        heard = max(self.recognition.heard_until, self._began)
        if endpointer.quiet_since is not None:
            # One pass while it is quiet: the words are shown before the pause is long enough to end the speech.
            # At the limit it cannot wait: nothing more is listened to before that pass.
            waited = endpointer.position - endpointer.quiet_since >= TRAIL or endpointer.position >= self._limit()
            return waited and heard < endpointer.quiet_since
        return endpointer.position - heard >= (CATCH_UP if self._items else self.interval)

    def _start(self, position: int) -> None:
        self._began = position
        self._said = False
        self.recognition.begin(max(position - LEAD, self._decided, self.hearing.tape.begin))
        if self.said:
            self._take_up()
        self._events.append(SpeechStarted(self.hearing.clock.us(position)))

    def _take_up(self) -> None:
        """Go on with the words that an earlier stream has committed in this speech."""
        self.recognition.take_up(self.said)
        self.said, self._said = (), True

    def _listen(self) -> Listening[None]:
        self._say((yield from self.recognition.listen(self.hearing.endpointer.position)))

    def _stop(self, position: int) -> Listening[None]:
        until = min(position + TRAIL, self.hearing.tape.end)
        self._say((yield from self.recognition.finish(position, until)))
        clock = self.hearing.clock
        if self._said:
            self.ledger.transcribed(clock.us(self._began), clock.us(until))
        self._decided = until
        self._events.append(SpeechStopped(clock.us(position)))

    def _say(self, decision: Decision) -> None:
        if decision.committed:
            words = self._words(decision.committed)
            self._said = True
            self._partial_shown = False
            self.last_end_us = words[-1].end_us
            self.ledger.transcribed(self.hearing.clock.us(self._began), self.last_end_us)
            self._events.append(Committed(words))
        if self.partials and (decision.open or self._partial_shown):
            self._events.append(Partial(self._words(decision.open)))
            self._partial_shown = bool(decision.open)

    def _words(self, heard: Iterable[HeardWord]) -> tuple[Word, ...]:
        words = []
        last_us = self.last_end_us
        for word in heard:
            start_us = max(last_us, self.hearing.clock.us(word.start))
            last_us = max(start_us, self.hearing.clock.us(word.end))
            words.append(Word(word.text, start_us, last_us, word.confidence, tokens=spelled(word, self.spell)))
        return tuple(words)

    def _settle(self, *, always: bool = False) -> None:
        """Say up to where all is decided, if that is news or wanted ``always``, and let go of that audio."""
        endpointer = self.hearing.endpointer
        if endpointer.speaking:
            settled, kept = self.recognition.settled, self.recognition.start
        else:
            rising = endpointer.position if endpointer.rising_since is None else endpointer.rising_since
            settled = max(self._decided, rising - LEAD)
            kept = min(settled, endpointer.position)  # a flush decides audio that the detector has still to hear
        self.hearing.forget(kept)
        until_us = max(self.hearing.clock.us(settled), self.last_end_us)
        if always or self._events or until_us >= self._settled_us + SETTLE_EVERY_US:
            self._settled_us = until_us
            resume_us = min(self.hearing.clock.us(kept), until_us)
            coverage = self.ledger.coverage(until_us)
            self._events.append(Settled(until_us, self.hearing.clock.now_us, resume_us, coverage))

"""Hears running speech again and again, and decides its words bit by bit. Called by ``live.py``.

Positions in the 16 kHz stream in; words newly committed and words still open out. The committed words of the window
are forced on every later pass, so they can never change.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

from services.asr.cut import best_cut
from services.asr.hearing import Hearing
from services.asr.hypothesis import CommitPolicy
from services.asr.mel import SAMPLE_RATE_HZ
from services.asr.models.whisper import Prompt, Speech
from services.asr.pauses import without_gaps, without_pauses
from services.asr.prompting import CONTEXT_TOKENS, PROMPT_TOKENS
from services.asr.repetition import Listening, hear_quickly, hear_thoroughly
from services.asr.words import HeardWord

GRACE = 2 * SAMPLE_RATE_HZ  # beyond the longest window, to find a good cut
KEPT = SAMPLE_RATE_HZ  # the last second of a window is never decided by force


@dataclass(frozen=True, slots=True)
class Decision:
    """What one pass brought: words that are final now, and words that may still change."""

    committed: tuple[HeardWord, ...] = ()
    open: tuple[HeardWord, ...] = ()


class Recognition:
    """The running speech of one session. At most ``max_window`` samples, and a little more, are heard at once.

    ``told`` is what the decoder is told before all that was said.
    """

    def __init__(self, policy: CommitPolicy, hearing: Hearing, max_window: int, told: Prompt) -> None:
        self._policy = policy
        self._hearing = hearing
        self._max_window = max_window
        self._told = told
        self._before: deque[HeardWord] = deque(maxlen=CONTEXT_TOKENS)
        self.begin(0)

    def begin(self, position: int) -> None:
        """Start a window at ``position``."""
        self.start = position
        self.heard_until = position
        self._committed: list[HeardWord] = []
        self._open: list[HeardWord] = []
        self._truncated = False
        self._policy.reset()

    def take_up(self, said: Sequence[HeardWord]) -> None:
        """Start the window where the stream starts, with words in it that an earlier stream has committed."""
        self.begin(0)
        self._committed = list(said)

    @property
    def settled(self) -> int:
        """Position before which every word is decided."""
        return max(self.start, self._committed[-1].end) if self._committed else self.start

    def listen(self, until: int) -> Listening[Decision]:
        """Hear the window up to ``until`` once more."""
        too_long = until - self.start > self._max_window + GRACE
        words = yield from self._hear(until, thoroughly=too_long)
        count = self._policy.decide(words, until)
        if too_long:  # the passes do not agree: better decide than grow
            count = max(count, sum(word.end <= until - KEPT for word in words))
        decision = self._decided(words, count)
        if until - self.start > self._max_window:
            self._cut()
        if until - self.start > self._max_window + GRACE:
            self._start_over(until)
        return decision

    def finish(self, speech_end: int, until: int) -> Listening[Decision]:
        """Decide all words up to ``until``; the last pass stands when it has heard all speech, up to ``speech_end``."""
        stands = self.heard_until > speech_end and not self._truncated
        words = self._open if stands else (yield from self._hear(until, thoroughly=True))
        decision = self._decided(words, len(words))
        self._before.extend(self._committed)
        self.begin(until)
        return decision

    def forget_context(self) -> None:
        """Let what comes next stand alone."""
        self._before.clear()

    def _hear(self, until: int, *, thoroughly: bool) -> Listening[list[HeardWord]]:
        self.heard_until = until
        speech = Speech(self._hearing.tape.read(self.start, until), self.start, self.settled)
        if thoroughly:
            words = yield from hear_thoroughly(speech, self._prompt(), self._committed)
        else:
            words, self._truncated = yield from hear_quickly(speech, self._prompt(), self._committed)
        pauses = self._hearing.pauses.stretches()
        after = self._committed[-1].end if self._committed else None
        return without_gaps(without_pauses(words, pauses), pauses, after)

    def _prompt(self) -> Prompt:
        before = self._told.before[CONTEXT_TOKENS - PROMPT_TOKENS :] + _tokens(self._before)[-CONTEXT_TOKENS:]
        return replace(self._told, before=before, forced=_tokens(self._committed))

    def _decided(self, words: Sequence[HeardWord], count: int) -> Decision:
        self._committed.extend(words[:count])
        self._open = list(words[count:])
        return Decision(tuple(words[:count]), tuple(self._open))

    def _start_over(self, until: int) -> None:
        """Start the window anew where the words end, or with its last second when it has none."""
        position = max(self.settled, until - KEPT)
        self._before.extend(self._committed)
        self.begin(position)
        self.heard_until = until

    def _cut(self) -> None:
        """Start the window anew after a committed word; committed words after the cut stay forced."""
        count = best_cut([*self._committed, *self._open], len(self._committed), self.start)
        if count is None:
            return
        following = [*self._committed, *self._open][count]
        self._before.extend(self._committed[:count])
        self.start = (self._committed[count - 1].end + following.start) // 2
        self._committed = self._committed[count:]


def _tokens(words: Sequence[HeardWord] | deque[HeardWord]) -> tuple[int, ...]:
    return tuple(token for word in words for token in word.tokens)

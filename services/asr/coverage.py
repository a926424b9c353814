"""Accounts for every microsecond of a stream: transcribed, silent or dropped. Pure; called by both kinds of session."""

from dataclasses import replace

from services.common.types import Coverage, Dropped

MAX_DROPPED = 100  # entries: each account carries them all
FURTHER = "further"


class Ledger:
    """What became of the audio from ``start_us`` on.

    Past ``MAX_DROPPED`` lost stretches the last entry, with the reason ``FURTHER``, stands for all others: it begins
    with the first of them, and its length, not its end, is what they come to.
    """

    def __init__(self, start_us: int) -> None:
        self._start_us = start_us
        self._until_us = start_us
        self._transcribed_us = 0
        self._dropped: list[Dropped] = []

    def transcribed(self, start_us: int, end_us: int) -> None:
        """Note that words were heard in a stretch; what an earlier one covered counts once."""
        self._transcribed_us += max(0, end_us - max(start_us, self._until_us))
        self._until_us = max(self._until_us, end_us)

    def dropped(self, start_us: int, end_us: int, reason: str) -> None:
        """Note a stretch that cannot have words; what an earlier one covered counts once."""
        start_us = max(start_us, self._until_us)
        if start_us < end_us:
            self._until_us = end_us
            self._drop(Dropped(start_us, end_us, reason))

    def _drop(self, part: Dropped) -> None:
        last = self._dropped[-1] if self._dropped else None
        if last is not None and (last.end_us, last.reason) == (part.start_us, part.reason):
            self._dropped[-1] = replace(last, end_us=part.end_us)
        elif last is not None and last.reason == FURTHER:
            self._dropped[-1] = replace(last, end_us=last.end_us + part.end_us - part.start_us)
        elif len(self._dropped) == MAX_DROPPED - 1:
            self._dropped.append(replace(part, reason=FURTHER))
        else:
            self._dropped.append(part)

    def coverage(self, end_us: int) -> Coverage:
        """Return the account of everything up to ``end_us``; its parts add up to the duration."""
        duration_us = end_us - self._start_us
        lost_us = sum(part.end_us - part.start_us for part in self._dropped)
        silent_us = duration_us - self._transcribed_us - lost_us
        return Coverage(duration_us, self._transcribed_us, silent_us, tuple(self._dropped))

"""Accounts for every microsecond of a stream: transcribed, silent or dropped. Pure; called by both kinds of session."""

from services.common.coverage import with_dropped
from services.common.types import Coverage, Dropped


class Ledger:
    """What became of the audio from ``start_us`` on."""

    def __init__(self, start_us: int) -> None:
        self._start_us = start_us
        self._until_us = start_us
        self._transcribed_us = 0
        self._dropped: tuple[Dropped, ...] = ()

    def transcribed(self, start_us: int, end_us: int) -> None:
        """Note that words were heard in a stretch; what an earlier one covered counts once."""
        self._transcribed_us += max(0, end_us - max(start_us, self._until_us))
        self._until_us = max(self._until_us, end_us)

    def dropped(self, start_us: int, end_us: int, reason: str) -> None:
        """Note a stretch that cannot have words; what an earlier one covered counts once."""
        start_us = max(start_us, self._until_us)
        if start_us < end_us:
            self._until_us = end_us
            self._dropped = with_dropped(self._dropped, Dropped(start_us, end_us, reason))

    def coverage(self, end_us: int) -> Coverage:
        """Return the account of everything up to ``end_us``; its parts add up to the duration."""
        duration_us = end_us - self._start_us
        lost_us = sum(part.end_us - part.start_us for part in self._dropped)
        silent_us = duration_us - self._transcribed_us - lost_us
        return Coverage(duration_us, self._transcribed_us, silent_us, self._dropped)

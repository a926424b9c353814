"""Learns whether waiting brings company. Arrivals and their times in, whether a lone request should wait out.

Called by the batch core, one for each lane.
"""

REMEMBERED = 0.05  # weight of the newest window: about the last twenty count
EMPTY_SHARE = 0.5


class Windows:
    """The share of windows that were opened by a lone request and in which nothing else came.

    A request that passes straight through opens a window too, one that nobody waits for; so the share is known in both
    ways of working, and waiting is taken up again when company comes.
    """

    def __init__(self) -> None:
        self.empty_share = 1.0  # an idle start is a quiet one
        self._until: float | None = None
        self._met = False

    @property
    def passing(self) -> bool:
        """Return whether a lone request should go straight through."""
        return self.empty_share >= EMPTY_SHARE

    def arrived(self, now: float, opens_for: float | None) -> None:
        """Take note of an arrival; ``opens_for`` is the window in seconds it opens, None when it finds others."""
        if self._until is not None and now < self._until:
            self._met = True
            return
        if self._until is not None:
            self.empty_share += REMEMBERED * (float(not self._met) - self.empty_share)
        self._until = None if opens_for is None else now + opens_for
        self._met = False

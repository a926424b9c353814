"""How an account of lost audio stays short. Pure; called by the recogniser's ledger and where the gateway adds up."""

from dataclasses import replace

from services.common.types import Coverage, Dropped

MAX_DROPPED = 100  # entries: each account carries them all
FURTHER = "further"


def with_dropped(dropped: tuple[Dropped, ...], part: Dropped) -> tuple[Dropped, ...]:
    """Return the lost stretches and one that follows them.

    Neighbours of one reason are one. Past ``MAX_DROPPED`` the last entry, with the reason ``FURTHER``, stands for all
    others: it begins with the first of them, and its length, not its end, is what they come to.
    """
    last = dropped[-1] if dropped else None
    if last is not None and (last.end_us, last.reason) == (part.start_us, part.reason):
        return (*dropped[:-1], replace(last, end_us=part.end_us))
    if last is not None and last.reason == FURTHER:
        return (*dropped[:-1], replace(last, end_us=last.end_us + part.end_us - part.start_us))
    if len(dropped) == MAX_DROPPED - 1:
        return (*dropped, replace(part, reason=FURTHER))
    return (*dropped, part)


def added(first: Coverage, second: Coverage) -> Coverage:
    """Return the account of two stretches that follow each other."""
    dropped = first.dropped
    for part in second.dropped:
        dropped = with_dropped(dropped, part)
    return Coverage(
        first.duration_us + second.duration_us,
        first.transcribed_us + second.transcribed_us,
        first.silent_us + second.silent_us,
        dropped,
    )

"""Packs the speech of a file into windows that are decoded at once. Pure; called by ``offline.py``.

Stretches are ``(start, end)`` positions in the 16 kHz stream.
"""

from collections.abc import Sequence

from services.asr.endpoint import WINDOW, Endpointer, EndpointRules, Started
from services.asr.pauses import Stretch


def stretches(probabilities: Sequence[float], rules: EndpointRules) -> list[Stretch]:
    """Return where speech is, given the probability of each 512 samples."""
    endpointer = Endpointer(rules)
    changes = [change for probability in probabilities if (change := endpointer.push(probability)) is not None]
    changes += [change for change in (endpointer.cut(), endpointer.stop()) if change is not None]
    starts = [change.position for change in changes if isinstance(change, Started)]
    ends = [change.position for change in changes if not isinstance(change, Started)]
    return list(zip(starts, ends, strict=True))


def shortened(stretch: Stretch, probabilities: Sequence[float], longest: int) -> list[Stretch]:
    """Split a stretch where it sounds least like speech until no part is longer than ``longest``."""
    start, end = stretch
    parts = []
    while end - start > longest:
        candidates = range((start + longest // 2) // WINDOW, (start + longest) // WINDOW)
        split = min(candidates, key=lambda window: probabilities[window]) * WINDOW
        parts.append((start, split))
        start = split
    return [*parts, (start, end)]


def packed(parts: Sequence[Stretch], longest: int, widest_pause: int) -> list[Stretch]:
    """Join neighbours into windows no longer than ``longest``, never across a pause wider than ``widest_pause``."""
    windows: list[Stretch] = []
    for start, end in parts:
        if windows and end - windows[-1][0] <= longest and start - windows[-1][1] <= widest_pause:
            windows[-1] = (windows[-1][0], end)
        else:
            windows.append((start, end))
    return windows


def widened(windows: Sequence[Stretch], by: int, length: int) -> list[Stretch]:
    """Give each window ``by`` samples of the silence around it, neighbours half of what lies between them at most."""
    befores = [0, *(end for _, end in windows)]
    afters = [*(start for start, _ in windows[1:]), length]
    result = []
    for number, (start, end) in enumerate(windows):
        lead = start - befores[number]
        trail = afters[number] - end
        first, last = number == 0, number == len(windows) - 1
        result.append((start - min(by, lead if first else lead // 2), end + min(by, trail if last else trail // 2)))
    return result

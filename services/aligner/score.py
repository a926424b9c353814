"""Joins what a frame shows with when it was shown into one probability. Pure; ``judge`` calls it."""

import math

from services.common.types import Score

# Logistic regression over the 275 pairs of phrase and frame, 48 of them true, of the calibration half: every second
# photograph by name, as the vision service encodes it; L2 penalty 0.01 on the two weights.
SEMANTIC, TEMPORAL, BIAS = 20.0, 8.4, -12.6


def joined(semantic: float, temporal: float) -> Score:
    """Return both scores with the probability that phrase and frame belong together."""
    logit = SEMANTIC * semantic + TEMPORAL * temporal + BIAS
    return Score(temporal, semantic, 1 / (1 + math.exp(-logit)))

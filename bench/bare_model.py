"""The benchmark's model without any server: full batches one after the other; prints requests a second.

Run by batching.py in a process of its own, for so many seconds as its argument says.
"""

import sys
import time

from bench.rivals.model import MAX_BATCH, PaddedMlp


def requests_per_s(seconds: float) -> float:
    """Return how many requests a second full batches come to."""
    model, batches = PaddedMlp(), 0
    model.run([1] * MAX_BATCH)
    started_s = time.perf_counter()
    while (passed_s := time.perf_counter() - started_s) < seconds:
        model.run([1] * MAX_BATCH)
        batches += 1
    return batches * MAX_BATCH / passed_s


if __name__ == "__main__":
    sys.stdout.write(f"{requests_per_s(float(sys.argv[1]))}\n")

"""What every benchmark measures with: percentiles, word error rate, memory and CPU of a process tree, a server's gauge.

Called by demo.py, live.py and rest.py.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import jiwer
import psutil
from whisper_normalizer.english import EnglishTextNormalizer

from attune_client import lag

_normalised = EnglishTextNormalizer()


@dataclass(frozen=True, slots=True)
class Target:
    """The server to measure; ``pid`` is the root of its processes, None when they cannot be seen from here."""

    url: str
    pid: int | None = None
    metrics: Mapping[str, str] = field(default_factory=dict)  # where each process serves its own, by its name

    def metrics_of(self, name: str) -> str:
        """Return the address of a process whose metrics are served at ``/metrics``."""
        return self.metrics[name].removesuffix("/metrics")


def percentile(values: Sequence[float], percent: float) -> float | None:
    """Return the value that ``percent`` of the values do not exceed (nearest rank); None for no values."""
    return lag.percentile(values, percent) if values else None


def in_ms(value_us: float | None) -> float | None:
    """Return microseconds as milliseconds with one decimal; None stays None."""
    return None if value_us is None else round(value_us / 1000, 1)


def word_error_rate(reference: str, heard: str) -> float:
    """Return the share of wrong words, after Whisper's English normaliser (case, punctuation, spelling, numbers)."""
    return round(float(jiwer.wer(_normalised(reference), _normalised(heard))), 4)


def tokens(text: str) -> tuple[str, ...]:
    """Return the words of a text: lower case, letters, digits and apostrophes."""
    return tuple(re.findall(r"[a-z0-9']+", text.lower().replace("\u2019", "'")))


def process_tree(pid: int) -> list[psutil.Process]:
    """Return a process and all that it started; empty when it is gone."""
    try:
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def tree_pss_mb(pid: int) -> float | None:
    """Return the proportional memory of a process tree in MiB, None when it is gone.

    Pages that several processes share count once, split among them.
    """
    sizes = [size for process in process_tree(pid) if (size := _pss_bytes(process)) is not None]
    return round(sum(sizes) / 2**20, 1) if sizes else None


def _pss_bytes(process: psutil.Process) -> int | None:
    try:
        return int(process.memory_full_info().pss)
    except psutil.NoSuchProcess:
        return None


def tree_rss_mb(pid: int) -> float:
    """Return the resident memory of a process tree in MiB; pages that several share count for each."""
    total = 0
    for process in process_tree(pid):
        with suppress(psutil.NoSuchProcess):
            total += process.memory_info().rss
    return round(total / 2**20, 1)


def tree_cpu_s(pid: int) -> float:
    """Return the CPU seconds that a process tree has used, those of ended children included."""
    return sum(_cpu_s(process) for process in process_tree(pid))


def _cpu_s(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(times.user + times.system + times.children_user + times.children_system)


def gauge(metrics: str, name: str) -> float | None:
    """Return the value of an unlabelled metric in the Prometheus text format; None when it is not there."""
    return next(iter(_values(metrics.splitlines(), name)), None)


def _values(lines: Iterable[str], name: str) -> Iterable[float]:
    for line in lines:
        found, _, value = line.partition(" ")
        if found == name:
            yield float(value.split()[0])

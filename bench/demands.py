"""Measures what one request asks of the machine: wall time, CPU time, bytes moved, time without CPU.

Called by record_workload.py around each request, one request at a time. This machine's counters of memory traffic are
often out of reach, so bytes are counted where they are known: what each layer of a torch network reads and writes, and
the weights that each pass of the recogniser reads.
"""

import os
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.nn.modules.module import register_module_forward_hook

from services.asr.models.whisper import DECODER_BYTES, ENCODER_BYTES, Pass, WhisperModel
from services.asr.words import HeardWord

COPY_BYTES = 2**28
TOKENS_PER_WORD = 1.3  # of English in Whisper's vocabulary


@dataclass(frozen=True, slots=True)
class Reading:
    """All counters at one moment; the difference of two is what happened between them."""

    wall_s: float
    cpu_s: float
    moved_bytes: float


class Meter:
    """Counts for this process and its children. ``moved_bytes`` grows by hooks and by the recogniser's passes."""

    def __init__(self) -> None:
        self.moved_bytes = 0.0

    def read(self) -> Reading:
        """Return the counters now."""
        return Reading(time.perf_counter(), time.process_time() + children_cpu_s(), self.moved_bytes)

    @contextmanager
    def counting(self) -> Generator[None]:
        """Count the traffic of torch layers and of recogniser passes inside the context."""
        hook = register_module_forward_hook(self._layer)
        hear = WhisperModel.hear

        def counted(model: WhisperModel, passes: Sequence[Pass]) -> list[list[HeardWord]]:
            words = hear(model, passes)
            self.moved_bytes += sum(pass_bytes(len(heard)) for heard in words)
            return words

        WhisperModel.hear = counted  # type: ignore[method-assign, assignment]  # engines take no other model
        try:
            yield
        finally:
            WhisperModel.hear = hear  # type: ignore[method-assign]
            hook.remove()

    def _layer(self, module: torch.nn.Module, inputs: Any, output: Any) -> None:
        if next(module.children(), None) is None:
            weights = sum(weight.nbytes for weight in module.parameters(recurse=False))
            self.moved_bytes += weights + tensor_bytes(inputs) + tensor_bytes(output)


def tensor_bytes(value: Any) -> int:
    """Return the bytes of a tensor or of all tensors in a sequence; 0 for anything else."""
    if isinstance(value, torch.Tensor):
        return value.nbytes
    if isinstance(value, Sequence) and not isinstance(value, str):
        return sum(tensor_bytes(part) for part in value)
    return 0


def pass_bytes(words: int) -> float:
    """Return the weights that one pass of Whisper tiny in int8 reads: encoder once, decoder for each token."""
    return ENCODER_BYTES + DECODER_BYTES * (1 + words * TOKENS_PER_WORD)


def children_cpu_s() -> float:
    """Return the CPU seconds of all threads of this process's children, from the kernel's scheduler."""
    path = Path(f"/proc/{os.getpid()}/task")
    children = [pid for task in path.iterdir() for pid in (task / "children").read_text().split()]
    return sum(_process_cpu_s(pid) for pid in children)


def _process_cpu_s(pid: str) -> float:
    return sum(int(task.read_text().split()[0]) for task in Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e9


def copy_bytes_per_s() -> float:
    """Return how fast one core reads and writes memory: the best of three large copies."""
    block = bytearray(COPY_BYTES)
    best_s = min(_copy_s(block) for _ in range(3))
    return 2 * COPY_BYTES / best_s


def _copy_s(block: bytearray) -> float:
    started_s = time.perf_counter()
    bytes(block)
    return time.perf_counter() - started_s

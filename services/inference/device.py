"""Which device the torch models of this process use, the stream each runs on, and the memory it copies from."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray


def pick_device(name: str) -> torch.device:
    """Return the device ``name`` means: ``auto`` is CUDA where there is one. ValueError for a missing device."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    device = torch.device(name)
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"device {name!r} was asked for, but this machine has no usable CUDA device")
    return device


@contextmanager
def pinned(device: torch.device, memory: NDArray[np.uint8]) -> Iterator[None]:
    """Pin ``memory``, so that CUDA copies from it by itself while the host goes on; nothing on CPU.

    One model's slots are its own, so no other model's copies wait for them. CudaError where it cannot be pinned.
    """
    if device.type != "cuda":
        yield
        return
    with torch.cuda.device(device):
        runtime: Any = torch.cuda.cudart()  # type: ignore[no-untyped-call]
        torch.cuda.check_error(int(runtime.cudaHostRegister(memory.ctypes.data, memory.nbytes, 0)))
    try:
        yield
    finally:
        torch.cuda.check_error(int(runtime.cudaHostUnregister(memory.ctypes.data)))


# CUDA counts downwards, and takes a number beyond its range for the nearest in it.
HIGHEST, LOWEST = -100, 0


class ModelStream:
    """The stream one model runs on: of its own on CUDA, with a priority; nothing at all on CPU."""

    def __init__(self, device: torch.device, *, high_priority: bool = False) -> None:
        self._stream: torch.cuda.Stream | None = None
        if device.type == "cuda":
            self._stream = torch.cuda.Stream(device, priority=HIGHEST if high_priority else LOWEST)  # type: ignore[no-untyped-call]

    def active(self) -> AbstractContextManager[object]:
        """Return a context in which work of the calling thread goes to this stream."""
        return nullcontext() if self._stream is None else torch.cuda.stream(self._stream)

    def wait(self) -> None:
        """Wait for this stream's work alone; other streams run on."""
        if self._stream is not None:
            self._stream.synchronize()

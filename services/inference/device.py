"""Which device the torch models of this process use, and the stream each runs on."""

from contextlib import AbstractContextManager, nullcontext

import torch


def pick_device(name: str) -> torch.device:
    """Return the device ``name`` means: ``auto`` is CUDA where there is one. ValueError for a missing device."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    device = torch.device(name)
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"device {name!r} was asked for, but this machine has no usable CUDA device")
    return device


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

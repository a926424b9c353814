"""Memory that a service shares with its processes, cut into numbered slots: a slot's number in, an array over it out.

It has no name, so nothing has to be removed and nothing can be left over: the kernel frees it with the last process
that holds it, however that ends. ``Processes`` hands it to each process it starts; jobs find it by ``arena_here``.
Which slot belongs to whom is the business of ``slots.py``.
"""

import mmap
import os
import sys
import tempfile
from multiprocessing import context, reduction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

_here: "list[Arena]" = []


class Arena:
    """``slots`` slots of ``slot_bytes`` each, rounded up to whole pages, so that none shares a page with another.

    Pages take memory from their first use on.
    """

    def __init__(self, slots: int, slot_bytes: int, fd: int | None = None) -> None:
        self.slots = slots
        self.slot_bytes = -(-slot_bytes // mmap.PAGESIZE) * mmap.PAGESIZE
        size = self.slots * self.slot_bytes
        self._fd = _unnamed_file(size) if fd is None else fd
        self._memory = memoryview(mmap.mmap(self._fd, size))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)  # no process can be given it any more; the memory goes with the last array over it

    def __reduce__(self) -> tuple[Any, ...]:
        context.assert_spawning(self)
        return _opened, (self.slots, self.slot_bytes, reduction.DupFd(self._fd))

    def array(self, slot: int, shape: tuple[int, ...]) -> NDArray[np.uint8]:
        """Return the beginning of a slot as bytes of this shape. TypeError where the slot is too small for it."""
        start = slot * self.slot_bytes
        return np.ndarray(shape, np.uint8, self._memory[start : start + self.slot_bytes])

    @property
    def all_bytes(self) -> NDArray[np.uint8]:
        """All slots as one array, for a device that wants to know the memory it copies from."""
        return np.frombuffer(self._memory, np.uint8)


def _unnamed_file(size: int) -> int:
    if sys.platform == "linux":
        fd = os.memfd_create("attune-slots")  # not of /dev/shm, which containers keep small
    else:
        with tempfile.TemporaryFile() as file:
            fd = os.dup(file.fileno())
    os.ftruncate(fd, size)
    return fd


def _opened(slots: int, slot_bytes: int, fd: Any) -> Arena:
    return Arena(slots, slot_bytes, fd.detach())


def set_arena_here(arena: Arena) -> None:
    """Make ``arena`` the one that jobs of this process write into."""
    _here[:] = [arena]


def arena_here() -> Arena:
    """Return this process's arena. IndexError in a process that was given none."""
    return _here[0]

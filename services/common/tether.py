"""Ties a process to the one that started it, and lets it say when it is ready.

``python -m services.common.tether COMMAND…`` becomes COMMAND, which the kernel ends with SIGTERM when the starter dies,
however it dies. SIGTERM lets a gateway finish its sessions; a process that is stopped at that moment ends once it is
continued. Used by the stack for every child, by decoder processes, and by entry points to say they are ready.
"""

import ctypes
import os
import signal
import sys

READY_FD = "ATTUNE_READY_FD"
PR_SET_PDEATHSIG = 1  # <linux/prctl.h>; survives exec


def tie_to_parent(death_signal: int) -> None:
    """Ask the kernel to send this process ``death_signal`` when its parent dies; nothing on systems that cannot."""
    parent = os.getppid()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, death_signal)
    if os.getppid() != parent:  # it died before we asked
        raise SystemExit(1)


def say_ready(address: str) -> None:
    """Tell the starter, if it asked, that this process serves at ``address``."""
    fd = os.environ.pop(READY_FD, None)
    if fd is not None:
        with os.fdopen(int(fd), "w") as pipe:
            pipe.write(address + "\n")


def main() -> None:
    """Become the command in the arguments."""
    tie_to_parent(signal.SIGTERM)
    os.execvp(sys.argv[1], sys.argv[1:])  # noqa: S606  # the arguments are the starter's own


if __name__ == "__main__":
    main()

"""Keeps files that only grow within bounds. Blocks; called by the stack for logs, by the span exporter for traces."""

import os
import shutil
from pathlib import Path


def rotate_open(path: Path, max_bytes: int) -> bool:
    """Move the content of a file that others append to into ``<name>.1`` once it is larger; return whether it was.

    What is written in the moment between copying and emptying is lost: it is a log. The writers must append.
    """
    try:
        if path.stat().st_size <= max_bytes:
            return False
        shutil.copyfile(path, path.with_name(f"{path.name}.1"))
        os.truncate(path, 0)
    except OSError:  # gone, or the disk is full: a log must not end the server
        return False
    return True


def prune(folder: Path, pattern: str, max_bytes: int) -> None:
    """Remove the files that were written longest ago until those that match are no larger than ``max_bytes``."""
    files = sorted(((path.stat().st_mtime, path) for path in folder.glob(pattern)), reverse=True)
    total = 0
    for _, path in files:
        total += path.stat().st_size
        if total > max_bytes:
            path.unlink(missing_ok=True)

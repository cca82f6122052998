"""Anonymous memory that the judge shares with its workers."""

import fcntl
import mmap
import os
import sys

from kb.errors import JudgeError


def new_memory(size: int | None = None) -> int:
    """Anonymous memory to share with workers, sealed so that no side can shrink it.

    Args:
        size: Its bytes, in whole pages, whose number then never changes; None: it grows as needed.
    """
    if sys.platform != "linux":
        raise JudgeError("candidates are judged on Linux only", hint="run kb on a Linux machine")
    memory = os.memfd_create("kb-tensors", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(memory, -(-(size or 0) // mmap.PAGESIZE) * mmap.PAGESIZE)
    fixed = fcntl.F_SEAL_GROW if size is not None else 0
    fcntl.fcntl(memory, fcntl.F_ADD_SEALS, fixed | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL)
    return memory

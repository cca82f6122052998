"""The sandbox limits of a worker."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from eval.worker.sandbox import SandboxLimits

PACKAGE = Path(__file__).parents[1]
"""The only part of kb that a worker may import."""
SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/opt", "/etc/ld.so.cache", "/etc/alternatives", "/sys/devices/system",
          "/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat")  # fmt: skip
FILE_BYTES, OPEN_FILES = 1 << 30, 4096


def cpu_limit_s(call_s: float) -> int:
    """CPU seconds that the sandbox allows each process of a worker, for a time limit of one call."""
    return int(call_s * (os.cpu_count() or 1) * 4) + 60


def limits_of(
    folder: Path,
    *,
    level: int,
    call_s: float,
    alone: bool = False,
    launcher: bool = False,
    profiled: bool = False,
    readable: Sequence[str] = (),
    writable: Sequence[str] = (),
    devices: Sequence[str] = (),
) -> SandboxLimits:
    """What the sandbox allows a worker whose own folder is `folder`."""
    return SandboxLimits(
        level=level,
        listable=[str(PACKAGE.parent)],
        readable=[
            *SYSTEM,
            *readable,
            str(PACKAGE),
            sys.prefix,
            sys.base_prefix,
            *(p for p in sys.path[1:] if p != str(PACKAGE.parent)),
        ],
        writable=[str(folder), *writable],
        devices=list(devices),
        alone=alone,
        launcher=launcher,
        profiled=profiled,
        cpu_s=cpu_limit_s(call_s),
        file_bytes=FILE_BYTES,
        memory_bytes=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        files=OPEN_FILES,
    )

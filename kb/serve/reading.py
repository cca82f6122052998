"""Confines the processes that read what people sent."""

import json
import sys
from pathlib import Path

from eval.machine import sandbox_level
from eval.supervisor.language import WORKER
from eval.supervisor.launch import limits_of
from ingest.reading import CONFINED_BY, ReaderLimits
from kb.usecases.confinement import PACKAGES


def confine_readers(home: Path, folder: Path) -> bool:
    """Let the readers of this process read `folder` and programs, write nothing, and use no network.

    Returns:
        Whether this machine can; otherwise they stay as they are.
    """
    if sandbox_level() < 2:
        return False
    limits = limits_of(folder, level=2, call_s=ReaderLimits().seconds)
    programs = [path for path in limits.readable if not home.is_relative_to(path)]
    limits = limits._replace(
        listable=[*limits.listable, str(PACKAGES[0].parent)],
        readable=[str(folder), *map(str, PACKAGES), *programs],
        writable=[],
    )
    CONFINED_BY[:] = [sys.executable, "-I", str(WORKER / "sandbox.py"), json.dumps(limits._asdict()), "--"]
    return True

"""Runs an author's command where it sees nothing of kb: no judge, no case, no run, no document."""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from eval.machine import sandbox_level
from eval.supervisor.language import WORKER
from eval.supervisor.launch import FILE_BYTES, OPEN_FILES, cpu_limit_s
from eval.worker.sandbox import SandboxLimits
from kb.errors import SettingsError
from kb.settings import cache_dir

PACKAGES = [Path(__file__).parents[2] / name for name in ("kb", "ingest", "retrieval", "synth", "eval")]
SHARED = ("/dev", "/tmp", "/var/tmp")  # noqa: S108 - hidden, not used
"""Where other processes keep files, such as a judge's workers."""


def confined(home: Path, folder: Path, command: Sequence[str], *, writable: Sequence[str], time_s: float) -> list[str]:
    """The command that runs `command` in the sandbox, where it may use the network.

    Args:
        home: It is hidden, with kb's packages and caches and all temporary folders but `folder`.
        writable: Files and folders beside `folder` that it may write, such as an agent's own; a `~` is expanded.

    Raises:
        SettingsError: this machine cannot confine it, or there is no such program.
    """
    if sandbox_level() < 2:
        raise SettingsError(
            "this machine cannot keep a command from the files of kb: it has no Landlock",
            hint="use Linux 5.13 or newer, or the author `files:FOLDER`",
        )
    program = shutil.which(command[0])
    if program is None:
        raise SettingsError(f"there is no command {command[0]!r}", hint="install it, or correct PATH")
    hidden = [home, *PACKAGES, cache_dir(), Path(tempfile.gettempdir()), *map(Path, SHARED)]
    limits = SandboxLimits(
        level=2,
        listable=[],
        readable=list(map(str, all_but(Path("/"), [Path(os.path.realpath(path)) for path in hidden]))),
        writable=[str(folder), *(os.path.expanduser(path) for path in writable)],  # noqa: PTH111 - as others' text
        devices=[],
        cpu_s=cpu_limit_s(time_s),
        file_bytes=FILE_BYTES,
        memory_bytes=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        files=OPEN_FILES,
        online=True,
    )
    sandboxed = [sys.executable, "-I", str(WORKER / "sandbox.py"), json.dumps(limits._asdict()), "--"]
    return [*sandboxed, program, *command[1:]]


def all_but(folder: Path, hidden: Sequence[Path]) -> Iterator[Path]:
    """The largest files and folders that together hold all of `folder` but `hidden`. A link is a way to its target."""
    for entry in folder.iterdir():
        if entry in hidden or entry.is_symlink():
            continue
        if any(path.is_relative_to(entry) for path in hidden):
            yield from all_but(entry, hidden)
        else:
            yield entry

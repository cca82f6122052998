"""The lock that allows one writer at a time. Readers take no lock."""

import json
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from filelock import FileLock, Timeout

from kb.catalog.connection import storage_errors
from kb.errors import LockedError

patience_s = ContextVar("patience_s", default=0.5)
"""For how long a writer waits for another one at least: a command tells its user soon, a server lets writers queue."""


@contextmanager
def write_lock(home: Path, *, wait_s: float = 0) -> Iterator[None]:
    """Lock `home` for writing. The system releases the lock when the process ends, even by a kill.

    Raises:
        LockedError: another process holds it; the message names that process.
        ReadOnlyError: the home cannot be written.
    """
    holder = home / ".lock.holder"
    lock = FileLock(home / ".lock", timeout=max(wait_s, patience_s.get()))
    with storage_errors(home):
        home.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(poll_interval=0.05)
        except Timeout as error:
            raise LockedError(
                f"{home} is being written by {_describe(holder)}", hint="wait for it to end, or end it, and try again"
            ) from error
    try:
        with storage_errors(home):
            entry = {
                "pid": os.getpid(),
                "host": socket.gethostname(),
                "command": " ".join(sys.argv),
                "since": time.time(),
            }
            holder.write_text(json.dumps(entry), encoding="utf-8")
        yield
    finally:
        holder.unlink(missing_ok=True)
        lock.release()


def _describe(holder: Path) -> str:
    try:
        entry = json.loads(holder.read_text(encoding="utf-8"))
        seconds = time.time() - entry["since"]
        return f"process {entry['pid']} on {entry['host']} since {seconds:.0f} s ({entry['command']})"
    except (OSError, ValueError, KeyError):
        return "another process"

"""Audit tasks, each in a process of its own with limits, so that no task can stop the others."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from enum import StrEnum
from pathlib import Path

from kb.types.base import Recorded
from kb.types.kernels import Task

ROOT = Path(__file__).parents[2]
AUDIT_S = 120.0
"""Time limit for the audit of one task."""
REST_S = 5.0
AUDIT_BYTES = 6 << 30
"""Limit of the data that the audit of one task may hold."""
ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
OFFLINE = {"HF_HUB_OFFLINE": "1"}
"""A task that needs weights from a hub fails at once instead of waiting for the network."""


class Usability(StrEnum):
    """Whether a task can be used."""

    USABLE = "usable"
    REFUSED = "refused"
    """A verdict on its candidates would mean nothing, as the reason says."""
    FAILS = "fails"
    """It does not load, or its reference does not run."""
    NOT_HERE = "not here"
    """It needs more memory than this machine has, or its audit more time than it gets."""


class Audit(Recorded):
    """What was found out about a task."""

    task: str
    task_digest: str
    verdict: Usability = Usability.NOT_HERE
    reason: str = ""
    sizes: tuple[str, ...] = ()
    """Names of the sizes that the judge can change."""
    random: bool = False
    """Whether the reference draws random numbers."""
    degenerate: tuple[str, ...] = ()
    """Answers that pass and compute nothing."""
    seconds: float = 0.0
    """Duration of the audit."""


def audit(task: Task, *, limit_s: float = AUDIT_S) -> Audit:
    """Audit a task. Never raises: whatever its code does is part of the result."""
    start = time.monotonic()
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "benchmarks.kernelbench.audit_process", str(AUDIT_BYTES)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env={**os.environ, **ONE_THREAD, **OFFLINE, "PYTHONPATH": path}, start_new_session=True,
    ) as process:  # fmt: skip
        try:
            answer, _ = process.communicate(task.model_dump_json(), timeout=limit_s)
            ended = f"its process ended with status {process.returncode}" if process.returncode else ""
        except subprocess.TimeoutExpired:
            _kill(process)
            answer = _rest(process)
            ended = f"the audit took more than {limit_s:g} s"
        finally:
            _kill(process)
    lines = [line for line in answer.splitlines(keepends=True) if line.endswith("\n")]
    found = Audit.model_validate(json.loads(lines[-1])) if lines else Audit(task=task.name, task_digest=task.digest)
    if ended and found.verdict is not Usability.REFUSED:
        found = found.model_copy(update={"verdict": Usability.NOT_HERE, "reason": f"{ended} ({found.reason})"})
    return found.model_copy(update={"seconds": round(time.monotonic() - start, 2)})


def _rest(process: subprocess.Popen[str]) -> str:
    """What a killed process has written; nothing if one that left its group still holds the pipe."""
    try:
        return process.communicate(timeout=REST_S)[0]
    except subprocess.TimeoutExpired:
        return ""


def _kill(leader: subprocess.Popen[str]) -> None:
    """Kill a process and those of its group."""
    with suppress(ProcessLookupError):
        os.killpg(leader.pid, signal.SIGKILL)

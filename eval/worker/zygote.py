"""The process that all workers are forked from, so that none need load torch: `python -I zygote.py SOCKET MODULE...`.

It imports the modules, and then forks a worker for each request of the judge; the judge's side is
eval.supervisor.forked. It runs no candidate, so what it has loaded is the same for all.
"""

import ctypes
import gc
import importlib
import json
import os
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[2]))

from eval.worker import worker
from eval.worker.sandbox import SandboxLimits, confine

MESSAGE_BYTES = 1 << 17
POLL_S = 1e-4
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
"""Variables that say how many threads OpenMP and Intel's MKL start."""
PERTURB, M_PERTURB = "MALLOC_PERTURB_", -6
"""What glibc fills allocated memory with: the variable, which it reads at the start only, and the option of mallopt."""
PER_WORKER = (PERTURB, *THREADS)
"""Variables that count when a process starts, but that workers of the same process may have different values of."""


class Handles(NamedTuple):
    """The handles that the judge sends to a worker, in this order."""

    read: int
    write: int
    memory: int
    log: int


class Request(NamedTuple):
    """What the judge asks for, as JSON."""

    judge: int
    """Its process id."""
    folder: str
    variables: Mapping[str, str]
    """The worker's environment."""
    limits: Mapping[str, Any] | None
    """SandboxLimits; None: no sandbox."""


def main() -> None:
    judge = socket.socket(fileno=int(sys.argv[1]))
    for module in sys.argv[2:]:
        importlib.import_module(module)
    gc.freeze()  # else a collection would copy all that workers share
    if asked := _forked(judge):
        judge.close()
        _become_worker(*asked)


def _forked(judge: socket.socket) -> tuple[Request, Handles] | None:
    """Fork a worker for each request. Returns in each of them; in this process, once the judge has ended, None.

    The judge is told when this process is ready. It sends a request, and gets the process id of the worker, or 0. When
    it has ended one, it sends `-ID`.
    """
    sessions: set[int] = set()
    with suppress(ConnectionError):
        judge.send(b"ready")
        while (received := socket.recv_fds(judge, MESSAGE_BYTES, len(Handles._fields)))[0]:
            text, handles = received[:2]
            if text.startswith(b"-"):
                sessions.discard(int(text[1:]))
                continue
            pid = _fork()
            if pid is None:
                return Request(*json.loads(text)), Handles(*handles)
            for handle in handles:
                os.close(handle)
            sessions.add(pid)
            judge.send(str(pid).encode())
    for session in sessions - {0}:
        with suppress(ProcessLookupError):
            os.killpg(session, signal.SIGKILL)  # also what a worker has started, which does not end with the judge
    return None


def _fork() -> int | None:
    """Fork a process that leads a session, and whose parent has ended, so that the judge becomes its parent.

    Returns:
        Its process id, or 0 if that fails; None in the new process.
    """
    read_end, write_end = os.pipe()
    parent = os.fork()
    if parent == 0 and os.fork():
        os._exit(0)
    if parent == 0:
        os.setsid()
        os.write(write_end, str(os.getpid()).encode())
    os.close(write_end)
    pid = None if parent == 0 else int(os.read(read_end, MESSAGE_BYTES) or 0)
    os.close(read_end)
    if parent:
        os.waitpid(parent, 0)
    return pid


def _become_worker(request: Request, handles: Handles) -> None:
    """Give this process the worker's environment, output and sandbox, and let it serve."""
    while os.getppid() != request.judge:
        time.sleep(POLL_S)
    os.environ.clear()
    os.environ.update(request.variables)
    os.chdir(request.folder)
    for output in (1, 2):
        os.dup2(handles.log, output)
    os.close(handles.log)
    tempfile.tempdir = None
    if perturb := request.variables.get(PERTURB):
        ctypes.CDLL(None).mallopt(M_PERTURB, int(perturb))
    if request.limits:
        confine(SandboxLimits(**request.limits))
    torch, threads = sys.modules.get("torch"), int(request.variables.get(THREADS[0], 0))
    if torch and threads and torch.get_num_threads() != threads:  # OpenMP has read its variable before, MKL has not
        torch.set_num_threads(threads)  # it may start threads, which must be in the sandbox
    worker.serve(handles.read, handles.write, handles.memory, Path(request.folder))


if __name__ == "__main__":
    main()

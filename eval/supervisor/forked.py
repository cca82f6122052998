"""Forks workers from a zygote, a process that has loaded what they need; the judge ends them as it ends others."""

import atexit
import ctypes
import json
import math
import os
import select
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock

from eval.pool.starts import STARTS
from eval.supervisor.language import WORKER
from eval.worker.fault import Fault
from eval.worker.sandbox import PR_SET_CHILD_SUBREAPER, SandboxLimits
from eval.worker.zygote import MESSAGE_BYTES, PER_WORKER, Handles, Request
from kb.errors import JudgeError

START_S = 60.0
POLL_S = 0.01
"""The judge looks this often whether a process has started or ended."""
WITHOUT_CUDA = {"PYTORCH_NVML_BASED_CUDA_CHECK": "1"}
"""With it torch asks the driver's library NVML whether there is a GPU; a process that had started CUDA cannot fork."""
QUIETLY = "ignore:This process:DeprecationWarning"
"""Python warns that a process with threads forks; those of OpenBLAS end before, and start again afterwards."""
_ZYGOTES: "dict[tuple[str, tuple[str, ...], tuple[tuple[str, str], ...]], Zygote]" = {}
"""By program, modules and environment."""
_LOCK = Lock()


class ForkedWorker:
    """A worker that a zygote forked. It leads a session, and is a child of this process.

    The methods are those of subprocess.Popen.
    """

    def __init__(self, pid: int, zygote: socket.socket) -> None:
        self.pid, self._zygote = pid, zygote
        self._status: int | None = None
        self._lock = Lock()

    def poll(self) -> int | None:
        with self._lock:
            if self._status is None:
                ended, status = os.waitpid(self.pid, os.WNOHANG)
                self._status = os.waitstatus_to_exitcode(status) if ended else None
            return self._status

    def wait(self, timeout: float | None = None) -> int:
        deadline = time.monotonic() + (math.inf if timeout is None else timeout)
        while (status := self.poll()) is None:
            if timeout is not None and time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("a worker", timeout)
            time.sleep(POLL_S)
        return status

    def report_end(self) -> None:
        """Tell the zygote that this worker and all that it had started have ended."""
        with suppress(OSError):
            self._zygote.send(f"-{self.pid}".encode())


class Zygote:
    """A process that imports modules when it starts, in the background, and then forks workers.

    When this process is killed, it kills all that these have started.

    Args:
        environment: The variables that count when a process starts or imports a module.
    """

    def __init__(self, modules: Sequence[str], environment: Mapping[str, str]) -> None:
        # A worker's parent, which the zygote forks, ends at once, and so this process becomes its parent.
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self._socket, other_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-W", QUIETLY, str(WORKER / "zygote.py"), str(other_end.fileno()), *modules],
            env={**environment, **WITHOUT_CUDA}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            pass_fds=[other_end.fileno()], start_new_session=True,
        )  # fmt: skip
        other_end.close()
        self._socket.settimeout(START_S)
        self._is_ready, self._lock = False, Lock()
        atexit.register(self.close)

    def fork(
        self,
        folder: Path,
        handles: Handles,
        variables: Mapping[str, str],
        limits: SandboxLimits | None,
        is_wanted: Callable[[], bool],
    ) -> ForkedWorker:
        """Fork a worker, once the modules are loaded.

        Args:
            is_wanted: Whether somebody still waits for it.

        Raises:
            JudgeError: the zygote or the worker does not start.
            Fault: nobody wants it any more.
        """
        deadline = time.monotonic() + START_S
        while not self._ready():
            if not is_wanted():
                raise Fault("crashed", "nobody waits for it any more")
            if time.monotonic() > deadline:
                raise _start_error(f"it has not loaded its modules within {START_S:g} s")
            deadline += STARTS.pause_point()  # the modules go on loading: that needs no GPU
        request = Request(os.getpid(), str(folder), variables, limits and limits._asdict())
        try:
            with self._lock:
                socket.send_fds(self._socket, [json.dumps(request).encode()], handles)
                pid = int(self._socket.recv(MESSAGE_BYTES) or 0)
        except OSError as error:
            self._process.kill()  # its next answer would not be for the next request
            raise _start_error(str(error)) from error
        if not pid:
            raise _start_error("no process can be started")
        return ForkedWorker(pid, self._socket)

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._socket.close()
        atexit.unregister(self.close)

    def _ready(self) -> bool:
        """Whether the modules are loaded; it waits a moment for that. Raises JudgeError if the zygote has ended."""
        with self._lock:
            if not self._is_ready and select.select([self._socket], [], [], POLL_S)[0]:
                if not self._socket.recv(MESSAGE_BYTES):
                    raise _start_error("its zygote ended when it loaded its modules")
                self._is_ready = True
            return self._is_ready


def zygote_for(modules: Sequence[str], environment: Mapping[str, str]) -> Zygote:
    """The zygote for workers with these modules and this environment; it starts when it is asked for first."""
    settings = {name: value for name, value in environment.items() if name not in PER_WORKER}
    key = sys.executable, tuple(modules), tuple(sorted(settings.items()))
    with _LOCK:
        if key in _ZYGOTES and not _ZYGOTES[key].is_alive:
            _ZYGOTES.pop(key).close()
        if key not in _ZYGOTES:
            _ZYGOTES[key] = Zygote(modules, settings)
        return _ZYGOTES[key]


def _start_error(why: str) -> JudgeError:
    return JudgeError(f"a worker does not start: {why}", hint="`kb doctor` says what this machine allows")

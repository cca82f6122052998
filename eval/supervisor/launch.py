"""Starts a worker, and the compiler of its candidate, in the sandbox; ends all processes of a worker."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import IO, Any, Required, TypedDict, Unpack

from eval.fault import Fault
from eval.supervisor.forked import ForkedWorker, Process, zygote_for
from eval.supervisor.language import WORKER, JudgedLanguage
from eval.supervisor.limits import limits_of
from eval.worker.sandbox import SandboxLimits
from eval.worker.zygote import Handles
from kb.types.evidence import Outcome

ERROR_CHARACTERS = 3000
REUSED_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40)}
"""Environment of judge and worker, which makes glibc reuse freed memory. Otherwise each large output would be mapped
and faulted in again, which takes several times as long as the kernel that fills it."""
THREADING = {"MKL_DYNAMIC": "FALSE", "OMP_WAIT_POLICY": "PASSIVE"}
"""MKL starts no fewer threads than it is told, although it counts a single core in the sandbox. OpenMP's idle threads
sleep: where all cores are used, threads that spin would hold up the others for milliseconds."""
EVERYWHERE = {"PATH": "/usr/bin:/bin", "USER": "kb", **REUSED_MEMORY, **THREADING}
"""What the environment of each worker has."""
TRITON = "triton"
"""The folder of Triton's cache in that of a worker."""


class LaunchSettings(TypedDict, total=False):
    """What a worker may use, and what it needs."""

    environment: Required[Mapping[str, str]]
    devices: Sequence[str]
    """Device files, and folders of them, that it may use."""
    readable: Sequence[str]
    """Files and folders that it may read besides those of its language."""
    writable: Sequence[str]
    """Folders, besides its own, that it may write."""
    profiler: Sequence[str]
    """The command of a profiler that starts it."""
    preload: Sequence[str]
    """Modules that it needs besides those of its language."""


class Launch:
    """What the processes of one worker have in common.

    Args:
        folder: Where they work. They may write there.
        log: What they print goes here.
        level: Sandbox level; see eval.machine.sandbox_level.
        call_s: Time limit for the compiler.
    """

    def __init__(
        self,
        language: JudgedLanguage,
        folder: Path,
        log: IO[bytes],
        *,
        level: int,
        call_s: float,
        **settings: Unpack[LaunchSettings],
    ) -> None:
        self._language, self._folder, self._log, self._level, self._call_s = language, folder, log, level, call_s
        self._devices, self._writable = settings.get("devices", ()), settings.get("writable", ())
        self._readable = (str(language.adapter), *language.readable(), *settings.get("readable", ()))
        self._preload = (*language.preload, *settings.get("preload", ()))
        self._profiler = settings.get("profiler", ())
        self._environment = {**EVERYWHERE, **settings["environment"]}
        own = {"HOME": str(folder), "TMPDIR": str(folder), "TRITON_CACHE_DIR": f"{folder}/{TRITON}"}
        self._variables = own | self._environment

    @cached_property
    def compiler(self) -> Sequence[str]:
        """The command that compiles the candidate, or nothing. Raises JudgeError if this machine has no compiler."""
        return self._language.compile_command(self._folder)

    @property
    def alone(self) -> bool:
        """Whether the worker may start no other process."""
        return bool(self.compiler) and not self._language.launcher

    def worker(self, handles: Handles, wanted: Callable[[], bool]) -> Process:
        """Start the worker: as a fork of a process that has loaded what it needs, or as a program.

        Args:
            wanted: Whether somebody still waits for it.

        Raises:
            JudgeError: it does not start.
            Fault: nobody wants it any more.
        """
        if self._preload and not self._profiler:
            limits = self._limits(writable=self._writable) if self._level else None
            zygote = zygote_for(self._preload, self._environment)
            return zygote.fork(self._folder, handles, self._variables, limits, wanted)
        given = (handles.read, handles.write, handles.memory)
        command = [sys.executable, "-I", str(WORKER / "worker.py"), *map(str, given), str(self._folder)]
        confined = {"alone": self.alone, "launcher": self._language.launcher, "writable": self._writable}
        return self._started(command, given, self._profiler, **confined)

    def compile(self) -> None:
        """Compile the candidate. Raises Fault if the compiler refuses it or takes too long."""
        compiler = self._started(self.compiler, writable=(*self._writable, *self._language.compiler_folders()))
        try:
            status = compiler.wait(self._call_s)
        except subprocess.TimeoutExpired:
            raise Fault(Outcome.TIMED_OUT, f"it does not compile within {self._call_s:g} s") from None
        finally:
            kill(compiler)
        self._log.seek(0)
        errors = self._log.read(ERROR_CHARACTERS).decode(errors="replace").replace(f"{self._folder}/", "")
        if status:
            raise Fault(Outcome.COMPILE_ERROR, errors)
        self._log.truncate(0)

    def _started(
        self, command: Sequence[str], handles: Sequence[int] = (), profiler: Sequence[str] = (), **confined: Any
    ) -> subprocess.Popen[bytes]:
        """Start a program in the sandbox, under a profiler that is outside; `confined` are arguments of `limits_of`."""
        if self._level:
            limits = self._limits(profiled=bool(profiler), **confined)
            command = [sys.executable, "-I", str(WORKER / "sandbox.py"), json.dumps(limits._asdict()), "--", *command]
        return subprocess.Popen(
            [*profiler, *command], cwd=self._folder, env=self._variables, stdin=subprocess.DEVNULL, stdout=self._log,
            stderr=self._log, close_fds=True, pass_fds=handles, start_new_session=True,
        )  # fmt: skip

    def _limits(self, **confined: Any) -> SandboxLimits:
        return limits_of(
            self._folder, level=self._level, call_s=self._call_s, readable=self._readable, devices=self._devices,
            **confined,
        )  # fmt: skip


def load_early(language: JudgedLanguage, preload: Sequence[str], environment: Mapping[str, str]) -> None:
    """Start to load what workers with these settings need."""
    zygote_for((*language.preload, *preload), {**EVERYWHERE, **environment})


def kill(leader: Process) -> None:
    """Kill all processes of a session, and wait for its leader and those that have no other parent any more."""
    end(leader)
    leader.wait()
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-leader.pid, 0)
    if isinstance(leader, ForkedWorker):
        leader.forget()


def end(leader: Process) -> None:
    """Kill all processes of a session."""
    with suppress(ProcessLookupError):
        os.killpg(leader.pid, signal.SIGKILL)

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
from typing import IO, Any

from eval.supervisor.forked import ForkedWorker, zygote_for
from eval.supervisor.language import WORKER, JudgedLanguage
from eval.supervisor.settings import Guard, WorkerSettings
from eval.worker.fault import Fault
from eval.worker.sandbox import SandboxLimits
from eval.worker.zygote import Handles
from kb.types.evidence import Outcome

ERROR_CHARACTERS = 3000
PACKAGE = WORKER.parent
"""The only part of kb that a worker imports."""
SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/opt", "/etc/ld.so.cache", "/etc/alternatives", "/sys/devices/system",
          "/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat")  # fmt: skip
FILE_BYTES, OPEN_FILES = 1 << 30, 4096
REUSED_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40)}
"""Environment of judge and worker, which makes glibc reuse freed memory. Otherwise each large output would be mapped
and faulted in again, which takes several times as long as the kernel that fills it."""
LARGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
"""Makes glibc ask for large pages, as far as the system gives them where a program asks: of small ones, the places in
memory are a process's luck, and so is how often a kernel that reads a parameter misses a cache."""
THREADING = {"MKL_DYNAMIC": "FALSE", "OMP_WAIT_POLICY": "PASSIVE"}
"""MKL starts no fewer threads than it is told, although it counts a single core in the sandbox. OpenMP's idle threads
sleep: where all cores are used, threads that spin would hold up the others for milliseconds."""
PROGRAMS = f"{Path(sys.executable).parent}:/usr/bin:/bin"
"""Where programs are found: those of Python's environment, such as ninja, without which torch compiles no CUDA."""
EVERYWHERE = {"PATH": PROGRAMS, "USER": "kb", **REUSED_MEMORY, **LARGE_PAGES, **THREADING}
"""What the environment of each worker has."""
TUNED_ONCE = {"TRITON_CACHE_AUTOTUNING": "1"}
"""Makes Triton's autotuner keep there what it has chosen, as it does with what it has compiled."""
TRITON = "triton"
"""The folder of Triton's cache in that of a worker."""


class Launch:
    """What the processes of one worker have in common.

    Args:
        folder: Where they work. They may write there.
        log: What they print goes here.

    Attributes:
        level: The sandbox level that they get.
    """

    def __init__(self, settings: WorkerSettings, folder: Path, log: IO[bytes]) -> None:
        self._settings, self._language, self._folder, self._log = settings, settings.language, folder, log
        self.level = settings.level if Guard.SANDBOX in settings.guards else 0
        self._environment = {**EVERYWHERE, **settings.environment}
        own = {"HOME": str(folder), "TMPDIR": str(folder), "TRITON_CACHE_DIR": f"{folder}/{TRITON}", **TUNED_ONCE}
        self._variables = own | self._environment

    @cached_property
    def compiler(self) -> Sequence[str]:
        """The command that compiles the candidate, or nothing. Raises JudgeError if this machine has no compiler."""
        return self._language.compile_command(self._folder)

    @property
    def alone(self) -> bool:
        """Whether the worker may start no other process."""
        return bool(self.compiler) and not self._language.launcher

    def worker(self, handles: Handles, is_wanted: Callable[[], bool]) -> ForkedWorker:
        """Start the worker, as a fork of a process that has loaded what it needs.

        Args:
            is_wanted: Whether somebody still waits for it.

        Raises:
            JudgeError: it does not start.
            Fault: nobody wants it any more.
        """
        settings, launcher = self._settings, self._language.launcher
        confined = self._limits(alone=self.alone, launcher=launcher, writable=settings.writable)
        zygote = zygote_for((*self._language.preload, *settings.preload), self._environment)
        return zygote.fork(self._folder, handles, self._variables, confined if self.level else None, is_wanted)

    def compile(self) -> None:
        """Compile the candidate. Raises Fault if the compiler refuses it or takes too long."""
        command, call_s = list(self.compiler), self._settings.call_s
        if self.level:
            limits = self._limits(writable=(*self._settings.writable, *self._language.compiler_folders()))
            command = [sys.executable, "-I", str(WORKER / "sandbox.py"), json.dumps(limits._asdict()), "--", *command]
        compiler = subprocess.Popen(
            command, cwd=self._folder, env=self._variables, stdin=subprocess.DEVNULL, stdout=self._log,
            stderr=self._log, start_new_session=True,
        )  # fmt: skip
        try:
            status = compiler.wait(call_s)
        except subprocess.TimeoutExpired:
            raise Fault(Outcome.TIMED_OUT, f"it does not compile within {call_s:g} s") from None
        finally:
            kill(compiler)
        self._log.seek(0)
        errors = self._log.read(ERROR_CHARACTERS).decode(errors="replace").replace(f"{self._folder}/", "")
        if status:
            raise Fault(Outcome.COMPILE_ERROR, errors)
        self._log.truncate(0)

    def _limits(self, **confined: Any) -> SandboxLimits:
        language, settings = self._language, self._settings
        readable = (str(language.adapter), *language.readable(), *settings.readable)
        return limits_of(
            self._folder, level=self.level, call_s=settings.call_s, readable=readable, devices=settings.devices,
            **confined,
        )  # fmt: skip


def cpu_limit_s(call_s: float) -> int:
    """CPU seconds that the sandbox allows each process of a worker, for a time limit of one call."""
    return int(call_s * (os.cpu_count() or 1) * 4) + 60


def limits_of(
    folder: Path,
    *,
    level: int,
    call_s: float,
    readable: Sequence[str] = (),
    writable: Sequence[str] = (),
    devices: Sequence[str] = (),
    **flags: bool,
) -> SandboxLimits:
    """What the sandbox allows a worker whose own folder is `folder`; `flags` are those of SandboxLimits."""
    packages = (path for path in sys.path[1:] if path != str(PACKAGE.parent))
    return SandboxLimits(
        level=level,
        listable=[str(PACKAGE.parent)],
        readable=[*SYSTEM, *readable, str(PACKAGE), sys.prefix, sys.base_prefix, *packages],
        writable=[str(folder), *writable],
        devices=list(devices),
        cpu_s=cpu_limit_s(call_s),
        file_bytes=FILE_BYTES,
        memory_bytes=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        files=OPEN_FILES,
        **flags,
    )


def load_early(language: JudgedLanguage, preload: Sequence[str], environment: Mapping[str, str]) -> None:
    """Start to load what workers with these settings need."""
    zygote_for((*language.preload, *preload), {**EVERYWHERE, **environment})


def kill(leader: subprocess.Popen[bytes] | ForkedWorker) -> None:
    """Kill all processes of a session, and wait for its leader and those that have no other parent any more."""
    end(leader.pid)
    leader.wait()
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-leader.pid, 0)


def end(session: int) -> None:
    """Kill all processes of a session."""
    with suppress(ProcessLookupError):
        os.killpg(session, signal.SIGKILL)

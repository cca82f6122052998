"""All processes of a worker: find, stop, watch and continue them as one.

They are the processes of the session that the worker leads. None can leave it, because eval.worker.sandbox only
pretends that setsid and setpgid succeed.
"""

import math
import os
import signal
import sys
import time
from collections.abc import Iterator, Set
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from eval.supervisor.rate_limit import RateLimit
from eval.worker.fault import Fault

STOP_S = 5.0
PAUSE_S = 1e-5
"""Sleep between two looks at what stops, if nothing tells; Linux makes it some 60 us. Without sleep, the judge uses
a core that a thread of the worker needs, and calls on all cores take up to 1.6 times as long, by luck."""
CHILD_SIGNALS = {signal.SIGCHLD}
"""Linux sends this signal to the main thread of a process when a child of it stops or ends."""
STOPPED_CPU_S, LATE_CPU_S = 0.001, 0.05
"""CPU time that stopped processes may use, and may use rarely. They should use none, but the system may charge a thread
only later for what it did just before it stopped."""
WRAP_S = 0.01
"""In so little time nobody can start as many processes and threads as Linux has ids for them (32,768 or more)."""
MOST_TASKS = 4096
"""Maximum number of processes and threads."""
MUST_STAY_FREE = 1 / 8
"""Share of the memory and disk that were free at the start which a worker must leave free."""


class Stat(NamedTuple):
    """Fields of /proc/PID/stat (proc_pid_stat(5))."""

    state: str
    threads: int
    core: int
    """The core on which it ran last."""


class ProcessTree:
    """The processes of a worker.

    Args:
        leader: Process id of the worker, which is a child of this process and leads a session.
        alone: Whether the sandbox lets it start no other process, so that none must be searched for.
        folder: A folder on the disk that the worker can fill.
    """

    def __init__(self, leader: int, folder: Path, *, alone: bool) -> None:
        self._leader, self._folder, self._alone = leader, folder, alone
        self._free_at_start = _free(folder)
        self._stopped_at: dict[int, float] | None = None
        self._others: Set[int] = frozenset()
        self._late_charges = RateLimit()
        self._newest, self._resumed_at = 0, 0.0
        """What `_newest_task` said when all were last found stopped, or 0: unless it changes, no process is new. The
        other is when they were continued, by time.perf_counter."""

    def _pids(self) -> list[int]:
        """The processes of the session; some may have ended. It searches /proc, which is slow, if any can be new."""
        if self._alone:
            return [self._leader]
        if self._newest and self._newest == _newest_task():
            return [self._leader, *self._others]
        found = []
        for name in os.listdir("/proc"):  # noqa: PTH208 - five times as fast as a Path for each name
            if name.isdigit():
                with suppress(ProcessLookupError):
                    if os.getsid(int(name)) == self._leader:
                        found.append(int(name))
        return found

    def _clocks(self) -> dict[int, float]:
        """CPU seconds of each process."""
        clocks = {}
        for pid in self._pids():
            with suppress(OSError):  # it has ended
                clocks[pid] = _cpu_s(pid)
        return clocks

    def cpu_s(self) -> float:
        """CPU seconds that the worker itself has used."""
        return _cpu_s(self._leader)

    def stop(self) -> float:
        """Stop all processes, and wait until they stand still.

        A system call goes on until it is done. A thread that loses its core while it stops is charged for it later, so
        the clocks must be the same before and after all were found stopped; some are charged later still.

        Returns:
            When the leader and the others that stood still the last time did so again, by time.perf_counter. To find
            processes that are new takes longer.

        Raises:
            Fault: they do not stand still within STOP_S.
        """
        with _signals_of(CHILD_SIGNALS):
            os.killpg(self._leader, signal.SIGSTOP)
            if not self._reaches(os.WSTOPPED | os.WEXITED):
                raise Fault("forbidden", "its process does not stop when it is told to")
        deadline = time.monotonic() + STOP_S
        while not all(map(_has_stopped, self._others)):
            _pause(deadline)
        stopped = time.perf_counter()
        if stopped > self._resumed_at + WRAP_S:
            self._newest = 0
        clocks = self._clocks()
        while True:
            have_stopped = all(_has_stopped(pid) for pid in clocks if pid != self._leader)
            newest = _newest_task()
            before, clocks = clocks, self._clocks()
            if have_stopped and clocks == before:
                break
            _pause(deadline)
        self._stopped_at, self._newest = clocks, newest
        self._others = clocks.keys() - {self._leader}
        return stopped

    def check_and_resume(self) -> None:
        """Continue all processes, if they were stopped; errors as in `check_rest`."""
        self.check_rest()
        self.resume()

    def check_rest(self) -> None:
        """Check that all processes have rested since they were stopped.

        Raises:
            Fault: a process worked or appeared in the meantime.
        """
        if self._stopped_at is None:
            return
        before_s = self._stopped_at
        used_s = {pid: cpu_s - before_s.get(pid, -math.inf) for pid, cpu_s in self._clocks().items()}
        worked_s = sum(used_s.values())
        often = self._late_charges.exceeded(seen=worked_s > STOPPED_CPU_S)
        if (often or worked_s > LATE_CPU_S) and not self._reaches(os.WEXITED):
            pid = max(used_s, key=lambda pid: used_s[pid])
            new = math.isinf(worked_s)
            did = "appeared while all were stopped" if new else "worked while it should have stood still"
            raise Fault("forbidden", f"its process {pid} {did}")

    def resume(self) -> None:
        """Continue all processes, if they were stopped."""
        if self._stopped_at is not None:
            self._stopped_at, self._resumed_at = None, time.perf_counter()
            os.killpg(self._leader, signal.SIGCONT)

    @contextmanager
    def avoid_core(self) -> Iterator[None]:
        """Keep the calling thread off the core on which the worker ran last.

        A question to another core takes longer, because that core must be woken. If the scheduler chose by chance
        whether they share a core, the times of two workers would differ by as much.
        """
        if sys.platform != "linux":
            yield
            return
        cores = os.sched_getaffinity(0)
        with suppress(OSError):  # the worker has ended
            if others := cores - {_stat(f"/proc/{self._leader}/stat").core}:
                os.sched_setaffinity(0, others)
        try:
            yield
        finally:
            os.sched_setaffinity(0, cores)

    def _reaches(self, states: int) -> bool:
        """Whether the worker, with all its threads, reaches one of these os.waitid states within STOP_S."""
        if sys.platform != "linux":
            return False
        deadline = time.monotonic() + STOP_S
        while os.waitid(os.P_PID, self._leader, states | os.WNOHANG | os.WNOWAIT) is None:
            if time.monotonic() > deadline:
                return False
            signal.sigtimedwait(CHILD_SIGNALS, PAUSE_S)
        return True

    def check_limits(self) -> None:
        """Raises Fault if the processes are too many, or fill the machine's memory or disk."""
        tasks, self._newest = 0, 0
        for pid in self._pids():
            with suppress(OSError):
                tasks += _stat(f"/proc/{pid}/stat").threads
        if tasks > MOST_TASKS:
            raise Fault("forbidden", f"it runs {tasks} processes and threads; at most {MOST_TASKS} are allowed")
        for what, now in _free(self._folder).items():
            before = self._free_at_start[what]
            if now < MUST_STAY_FREE * before:
                raise Fault("forbidden", f"it fills the machine's {what}: {now:,} of {before:,} are left")


@contextmanager
def _signals_of(signals: Set[signal.Signals]) -> Iterator[None]:
    """Keep these signals for sigtimedwait, which otherwise would only wait."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _pause(deadline: float) -> None:
    """Raises Fault after `deadline` of the monotonic clock."""
    if time.monotonic() > deadline:
        raise Fault("forbidden", "its processes do not stand still when they are stopped")
    time.sleep(PAUSE_S)


@cache
def _has_own_loadavg() -> bool:
    """Whether /proc/loadavg is Linux's own: in some containers another file system shows one that is seconds old."""
    return os.stat("/proc/loadavg").st_dev == os.stat("/proc").st_dev  # noqa: PTH116


def _newest_task() -> int:
    """The id that Linux gave last to a process or thread (proc_loadavg(5)); 0 on systems that do not tell."""
    if not _has_own_loadavg():
        return 0
    with open("/proc/loadavg", encoding="ascii") as file:  # noqa: PTH123 - called hundreds of times a second
        return int(file.read().split()[-1])


def _cpu_s(pid: int) -> float:
    """CPU seconds of a process. The number of its clock: CPUCLOCK_SCHED in Linux's posix-timers_types.h."""
    return time.clock_gettime(~pid << 3 | 2)


def _has_stopped(pid: int) -> bool:
    """Whether all threads of a process have stopped or ended."""
    with suppress(OSError):
        threads = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208
        return all(_stat(f"/proc/{pid}/task/{thread}/stat").state in "TZX" for thread in threads)
    return True


def _stat(path: str) -> Stat:
    with open(path, "rb") as file:  # noqa: PTH123 - called hundreds of times a second
        fields = file.read().rpartition(b")")[2].split()
    return Stat(fields[0].decode(), int(fields[17]), int(fields[36]))


def free_bytes() -> int:
    """Memory that can be used without swapping (MemAvailable of proc_meminfo(5))."""
    with open("/proc/meminfo", encoding="ascii") as file:  # noqa: PTH123 - called hundreds of times a second
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("MemAvailable:"))


def _free(folder: Path) -> dict[str, int]:
    """Bytes of memory, bytes of disk and number of files that can still be allocated."""
    disk = os.statvfs(folder)
    return {"memory": free_bytes(), "disk": disk.f_bavail * disk.f_frsize, "files": disk.f_favail}

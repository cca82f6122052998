"""Detect what this machine has for judging kernels: compilers, accelerators, and means to confine untrusted code."""

import ctypes
import importlib.metadata
import os
import platform
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from kb.types.target import Isa
from kb.types.timing import GpuState

COMPILERS = ("c++", "clang++", "nvcc", "hipcc")
QUERY_SECONDS = 10
ASK_GPUS = ("--query-gpu=index,uuid,compute_cap,power.limit,name", "--format=csv,noheader,nounits")
CHOOSES_GPU = "CUDA_VISIBLE_DEVICES"
"""The variable that says which GPUs a process may use, by uuid or number; HIP reads it too."""
LISTED_USERS = 3

_LANDLOCK_CREATE_RULESET = 444
"""System call number, the same on all architectures (include/uapi/asm-generic/unistd.h)."""
_LANDLOCK_VERSION = 1
"""Flag that asks for the ABI version only (include/uapi/linux/landlock.h)."""


def compilers() -> dict[str, str]:
    """Version line of each compiler on the path, by compiler name."""
    return {name: next(iter(answer_of(name, "--version")), "") for name in COMPILERS if shutil.which(name)}


@cache
def versions() -> dict[str, str]:
    """Versions of the software here that evidence depends on, under the names that its environment has."""
    found = {"compiler" if name == "c++" else name: line for name, line in compilers().items()}
    for package in ("torch", "triton"):
        with suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    return found


def accelerators() -> list[str]:
    """Names of the GPUs as their vendors' tools report them; empty without tools or GPUs."""
    cards = (line for line in answer_of("rocm-smi", "--showproductname") if "Card Series" in line)
    return [
        *answer_of("nvidia-smi", "--query-gpu=name", "--format=csv,noheader"),
        *(card.rpartition(":")[2].strip() for card in cards),
    ]


class Gpu(NamedTuple):
    number: str
    """As its vendor's tool lists it."""
    isa: Isa
    """Without its lanes."""
    kind: str
    """Its name and, where the driver tells it, its power limit: times on GPUs of other kinds do not compare."""


def present_gpu() -> Isa | None:
    """The first GPU as compilers name it, without its lanes; None if there is none that torch can use."""
    return next((gpu.isa for gpu in present_gpus().values()), None)


@cache
def present_gpus() -> dict[str, Gpu]:
    """The GPUs that torch can use here, by what CHOOSES_GPU calls each: a uuid, or on AMD's a number."""
    if "+cpu" in importlib.metadata.version("torch"):
        return {}
    found, answers = {}, (answer.split(", ", 4) for answer in answer_of("nvidia-smi", *ASK_GPUS))
    for number, uuid, capability, limit_w, name in (answer for answer in answers if len(answer) == 5):
        kind = f"{name}, {float(limit_w):g} W" if limit_w[0].isdigit() else name
        found[uuid] = Gpu(number, Isa("cuda", capability.replace(".", "")), kind)
    agents = [name for name in answer_of("rocm_agent_enumerator") if name not in ("", "gfx000")]
    found |= {str(number): Gpu(str(number), Isa("hip", name), name) for number, name in enumerate(agents)}
    chosen = os.environ.get(CHOOSES_GPU)
    if chosen is None or not found:
        return found
    first, uuids = next(iter(found.values())), {gpu.number: uuid for uuid, gpu in found.items()}
    names = [uuids.get(name, name) for name in chosen.split(",") if name]
    return {name: found.get(name, first) for name in names}


def processor() -> str:
    """The CPU's name."""
    return next((value for key, value in cpu_info() if key == "model name"), platform.processor() or platform.machine())


def machine_kind() -> str:
    """The kind of this machine: times on CPUs of other kinds do not compare."""
    return f"{processor()}, {os.cpu_count()} cores"


def processor_in_full() -> str:
    """The CPU's name, how many of its cores kernels may use, and its vector extensions by the system's names."""
    vectors = [flag for flag in cpu_features() if flag.startswith(("avx", "amx", "fma", "asimd", "sve"))]
    return ", ".join([processor(), f"{len(usable_cores())} cores", *([" ".join(vectors)] if vectors else [])])


def cpu_features() -> tuple[str, ...]:
    """Features of the first core, by the system's names."""
    return next((tuple(value.split()) for key, value in cpu_info() if key in ("flags", "Features")), ())


def cpu_info() -> list[tuple[str, str]]:
    """Lines of /proc/cpuinfo as (key, value); empty on systems without it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    return [(key.strip(), value.strip()) for key, _, value in (line.partition(":") for line in lines)]


class CpuUse:
    """Measures, since its construction, how much of this machine's CPU time is not taken by this process and its own.

    Times are counted in clock ticks, of which there are usually 100 a second (proc_stat(5), proc_pid_stat(5)).

    Args:
        cores: Those that count (default: all).
    """

    def __init__(self, cores: Collection[int] | None = None) -> None:
        self._cores = cores
        self._before, self._processes = _cpu_ticks(cores), running_processes()

    def look(self) -> None:
        """Note the state of the machine; called from time to time."""

    def gpu(self) -> GpuState | None:
        """The state of the GPU so far; None if there is none."""
        return None

    def memory_bytes(self, pid: int) -> int:
        """The most memory that a process has had; 0 if that is unknown. See proc_pid_status(5), VmHWM."""
        with suppress(OSError):
            found = re.search(r"^VmHWM:\s*(\d+) kB$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
            return int(found[1]) << 10 if found else 0
        return 0

    def by_others(self) -> tuple[float, tuple[str, ...]]:
        """The share that others took, and what took most of it, each with its share in per cent."""
        now = _cpu_ticks(self._cores)
        busy, stolen, passed = (after - before for after, before in zip(now, self._before, strict=True))
        processes = running_processes()
        ours = _own_ticks(processes) - _own_ticks(self._processes)
        users = Counter({"other machines on this host": stolen})
        for pid in processes.keys() - own_processes(processes):
            users[processes[pid].name] += processes[pid].ticks - self._processes.get(pid, NEW).ticks
        share = 1 / max(passed, 1)
        most = [f"{name} {used * share:.0%}" for name, used in users.most_common(LISTED_USERS) if used * share >= 0.01]
        return max(0.0, (busy - ours) * share), tuple(most)


class Process(NamedTuple):
    name: str
    parent: int
    ticks: int
    """CPU time of the process, without that of its ended children."""
    ended: int
    """CPU time of its children that have ended, and of theirs."""


NEW = Process("", 0, 0, 0)


def own_processes(processes: Mapping[int, Process]) -> set[int]:
    """Ids of this process and its descendants."""
    own = {os.getpid()}
    while found := {pid for pid, process in processes.items() if process.parent in own} - own:
        own |= found
    return own


def _own_ticks(processes: Mapping[int, Process]) -> int:
    """All CPU time so far of this process and its descendants. When one ends, its time becomes part of its parent's."""
    return sum(processes[pid].ticks + processes[pid].ended for pid in own_processes(processes))


def running_processes() -> dict[int, Process]:
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            name, _, rest = path.read_text(encoding="utf-8", errors="replace").partition(" (")[2].rpartition(") ")
            fields = rest.split()
            user, system, users, systems = map(int, fields[11:15])
            found[int(path.parent.name)] = Process(name, int(fields[1]), user + system, users + systems)
    return found


def usable_cores() -> list[int]:
    """The cores on which this thread may run."""
    return sorted(os.sched_getaffinity(0)) if sys.platform == "linux" else []


def _cpu_ticks(cores: Collection[int] | None) -> tuple[int, int, int]:
    """Ticks of cores together: busy, given by the hypervisor to other machines (part of busy), and all.

    They are those of all cores if a container does not list each of these.
    """
    lines = map(str.split, Path("/proc/stat").read_text(encoding="ascii").splitlines())
    counts = {name: [*map(int, ticks[:8])] for name, *ticks in lines if name.startswith("cpu")}
    names = [f"cpu{core}" for core in cores or ()]
    chosen = [counts[name] for name in names if name in counts]
    if not names or len(chosen) < len(names):
        chosen = [counts["cpu"]]
    user, nice, system, idle, iowait, irq, softirq, steal = map(sum, zip(*chosen, strict=True))
    busy = user + nice + system + irq + softirq + steal
    return busy, steal, busy + idle + iowait


def landlock_abi() -> int:
    """Version of the kernel's Landlock ABI; 0 if it has none."""
    if sys.platform != "linux":
        return 0
    return max(0, int(ctypes.CDLL(None).syscall(_LANDLOCK_CREATE_RULESET, None, 0, _LANDLOCK_VERSION)))


def has_seccomp() -> bool:
    """Whether a process may install a system call filter."""
    return Path("/proc/sys/kernel/seccomp/actions_avail").exists() and platform.machine() in ("x86_64", "aarch64")


def sandbox_level() -> int:
    """Confinement possible here without root: 0 none, 1 resource limits, 2 also files and system calls."""
    return 0 if sys.platform == "win32" else 2 if landlock_abi() and has_seccomp() else 1


def answer_of(*command: str) -> list[str]:
    """Lines that a tool on the path prints; empty if there is no such tool or it fails."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=QUERY_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return []
    return done.stdout.strip().splitlines()

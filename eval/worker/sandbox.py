"""Confine this process, then replace it by another program: `python -I sandbox.py LIMITS -- COMMAND...`.

It uses only the standard library and imports nothing of kb, because it runs first and under `python -I`. LIMITS is
JSON, see `SandboxLimits`. Level 1 sets resource limits; level 2 adds Landlock (files, signals, TCP) and seccomp (all
other effects outside the process), and drops root's capabilities. Neither needs root.

System call numbers: include/uapi/asm-generic/unistd.h (aarch64) and arch/x86/entry/syscalls/syscall_64.tbl of the Linux
source; Landlock: include/uapi/linux/landlock.h; the filter: include/uapi/linux/{seccomp,filter,audit}.h.
"""

import ctypes
import json
import os
import platform
import resource
import signal
import struct
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF = 444, 445, 446
LANDLOCK_RULE_PATH_BENEATH = 1
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 1, 4, 22, 38
SECCOMP_MODE_FILTER = 2

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
TRUNCATE, IOCTL_DEV, REFER = 1 << 14, 1 << 15, 1 << 13
MAKE_DEVICES = 1 << 6 | 1 << 11
READ = EXECUTE | READ_FILE | READ_DIR
OF_A_FILE = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
ACCESS_BY_ABI = {1: (1 << 13) - 1, 2: REFER, 3: TRUNCATE, 5: IOCTL_DEV}
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
REFUSED_CALLS = {
    # Calls that reach other processes, the network or kernel internals.
    "socket": (41, 198), "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438), "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "unshare": (272, 97), "setns": (308, 268), "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218),
    "bpf": (321, 280), "perf_event_open": (298, 241), "io_uring_setup": (425, 425), "userfaultfd": (323, 282),
    "kexec_load": (246, 104), "open_by_handle_at": (304, 265),
    # Calls that signal other processes or wake a stopped one.
    "tkill": (200, 130), "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240),
    "pidfd_send_signal": (424, 424), "timer_create": (222, 107),
    # Calls that slow other processes, above all the baseline's.
    "sched_setaffinity": (203, 122), "sched_setscheduler": (144, 119), "sched_setparam": (142, 118),
    "sched_setattr": (314, 274), "setpriority": (141, 140), "ioprio_set": (251, 30),
    # A call that changes a file without opening it, which older versions of Landlock do not see.
    "truncate": (76, 45),
    # Calls that create objects that outlive the process.
    "shmget": (29, 194), "semget": (64, 190), "msgget": (68, 186), "mq_open": (240, 180),
}  # fmt: skip
"""Forbidden system calls, with their numbers on x86_64 and aarch64."""
PRETENDED_CALLS = {
    # The judge stops and kills the whole process group, so nothing may leave it. Some build tools try to.
    "setsid": (112, 157), "setpgid": (109, 154),
    # These work on any file of this user, and Landlock does not see them. Linkers and copy commands use them.
    "chmod": (90, 53), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452),
}  # fmt: skip
"""System calls that do nothing and report success."""
CALLS_ON_ITSELF = {"kill": (62, 129), "tgkill": (234, 131)}
"""System calls whose first argument is a process, which must be the confined one."""
PRLIMIT64, CLONE, PRCTL = (302, 261), (56, 220), (157, 167)
"""Allowed with restrictions: only for the caller; without new namespaces; not to hide its memory from the judge."""
CLONE3 = 435
"""Its number on both. Refused because its flags are in memory, where no filter sees them; libc works without it."""
NEW_NAMESPACES = 0x7E020000
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET (include/uapi/linux/sched.h)."""
LOAD_WORD, JUMP_IF_EQUAL, JUMP_IF_AT_LEAST, JUMP_IF_ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16
"""Offsets in struct seccomp_data; for the argument that of the lower half on little-endian machines."""
ALLOW, KILL, PRETEND, REFUSE_WITH_EPERM, REFUSE_WITH_ENOSYS = 0x7FFF0000, 0x80000000, 0x00050000, 0x00050001, 0x00050026
X32_CALLS = 0x40000000
CAPABILITY_VERSION = 0x20080522

Instruction = tuple[int, int, int, int]


class SandboxLimits(NamedTuple):
    level: int
    listable: Sequence[str]
    """Folders whose entries may be listed but not read."""
    readable: Sequence[str]
    writable: Sequence[str]
    devices: Sequence[str]
    """Device files, and folders of them, that may be read, written and given commands (ioctl)."""
    cpu_s: int
    file_bytes: int


def confine(limits: SandboxLimits) -> None:
    """Restrict this process and its future children permanently. Raises OSError if the kernel refuses."""
    libc = ctypes.CDLL(None, use_errno=True)
    _check(libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl")
    resource.setrlimit(resource.RLIMIT_CPU, (limits.cpu_s, limits.cpu_s + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (limits.file_bytes, limits.file_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")  # if memory runs out, this process is killed first
    if limits.level < 2:
        return
    _check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    _restrict_files(libc, limits)
    _check(libc.capset(struct.pack("Ii", CAPABILITY_VERSION, 0), bytes(24)), "capset")
    _refuse_calls(libc)


def _restrict_files(libc: Any, limits: SandboxLimits) -> None:
    if sys.platform != "linux":
        raise OSError("only Linux has Landlock")
    abi = libc.syscall(LANDLOCK_CREATE_RULESET, None, 0, 1)
    handled = sum(access for since, access in ACCESS_BY_ABI.items() if abi >= since)
    network, scoped = (3 if abi >= 4 else 0), (3 if abi >= 6 else 0)
    attributes = struct.pack("QQQ", handled, network, scoped)[: 8 if abi < 4 else 16 if abi < 6 else 24]
    ruleset = _check(libc.syscall(LANDLOCK_CREATE_RULESET, attributes, len(attributes), 0), "landlock_create_ruleset")

    def allow(path: str, access: int) -> None:
        if not os.path.exists(path):
            return
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
        allowed = access & handled & (-1 if os.path.isdir(path) else OF_A_FILE)
        rule = struct.pack("=QI", allowed, handle)
        _check(libc.syscall(LANDLOCK_ADD_RULE, ruleset, LANDLOCK_RULE_PATH_BENEATH, rule, 0), f"allow {path}")
        os.close(handle)

    for path in limits.listable:
        allow(path, READ_DIR)
    for path in limits.readable:
        allow(path, READ)
    for path in limits.writable:
        allow(path, handled & ~(MAKE_DEVICES | IOCTL_DEV))
    for path in DEVICES:
        allow(path, READ_FILE | WRITE_FILE)
    for path in limits.devices:
        allow(path, READ_FILE | WRITE_FILE | READ_DIR | IOCTL_DEV)
    _check(libc.syscall(LANDLOCK_RESTRICT_SELF, ruleset, 0), "landlock_restrict_self")
    os.close(ruleset)


def _refuse_calls(libc: Any) -> None:
    machine = list(ARCHITECTURES).index(platform.machine())
    allow, refuse = (RETURN, 0, 0, ALLOW), (RETURN, 0, 0, REFUSE_WITH_EPERM)
    load_argument = (LOAD_WORD, 0, 0, FIRST_ARGUMENT)
    program: list[Instruction] = [
        (LOAD_WORD, 0, 0, ARCHITECTURE), (JUMP_IF_EQUAL, 1, 0, ARCHITECTURES[platform.machine()]), (RETURN, 0, 0, KILL),
        (LOAD_WORD, 0, 0, NUMBER), (JUMP_IF_AT_LEAST, 0, 1, X32_CALLS), refuse,
    ]  # fmt: skip

    def when(number: int, *then: Instruction) -> None:
        program.extend([(JUMP_IF_EQUAL, 0, len(then), number), *then])

    for numbers in REFUSED_CALLS.values():
        when(numbers[machine], refuse)
    for numbers in PRETENDED_CALLS.values():
        when(numbers[machine], (RETURN, 0, 0, PRETEND))
    for numbers in CALLS_ON_ITSELF.values():
        when(numbers[machine], load_argument, (JUMP_IF_EQUAL, 0, 1, os.getpid()), allow, refuse)
    when(PRLIMIT64[machine], load_argument, (JUMP_IF_EQUAL, 0, 1, 0), allow, refuse)
    when(CLONE[machine], load_argument, (JUMP_IF_ANY_BIT, 1, 0, NEW_NAMESPACES), allow, refuse)
    when(PRCTL[machine], load_argument, (JUMP_IF_EQUAL, 1, 0, PR_SET_DUMPABLE), allow, refuse)
    when(CLONE3, (RETURN, 0, 0, REFUSE_WITH_ENOSYS))
    program.append(allow)
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *instruction) for instruction in program))

    class Filter(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))

    filter_ = Filter(len(program), ctypes.cast(code, ctypes.c_void_p))
    _check(libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(filter_), 0, 0), "seccomp")


def _check(result: int, what: str) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), what)
    return result


if __name__ == "__main__":
    confine(SandboxLimits(**json.loads(sys.argv[1])))
    os.execv(sys.argv[3], sys.argv[3:])  # noqa: S606 - no shell is needed

"""Confine a process: a worker before it serves, or, as `python -I sandbox.py LIMITS -- COMMAND...`, a compiler or an
author's command.

It uses only the standard library and imports nothing of kb, because it runs first and under `python -I`. LIMITS is
JSON, see `SandboxLimits`. Level 1 sets resource limits; level 2 adds Landlock (files, signals, TCP) and seccomp (all
other effects outside the process), and drops root's capabilities. Neither needs root.

The judge stops its worker between questions. Only SIGCONT wakes a stopped process, and each of its sources is closed:
a call that sends a signal of choice (kill, tgkill; all others, and message queues, timers and handles that do so later,
are refused), the exit signal of a child (clone), the signal at a parent's death (prctl), the signal of a file (fcntl,
ioctl), the exit of a process that leaves a stopped group orphaned (setsid, setpgid, CLONE_PARENT) or loses a terminal
(none can be opened), and a tracer (ptrace).

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
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF = 444, 445, 446
LANDLOCK_RULE_PATH_BENEATH = 1
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 4, 36, 38
SECCOMP_SET_MODE_FILTER = 1

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
TRUNCATE, IOCTL_DEV, REFER = 1 << 14, 1 << 15, 1 << 13
MAKE_DEVICES = 1 << 6 | 1 << 11
READ = EXECUTE | READ_FILE | READ_DIR
OF_A_FILE = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
ACCESS_BY_ABI = {1: (1 << 13) - 1, 2: REFER, 3: TRUNCATE, 5: IOCTL_DEV}
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
Numbers = tuple[int, int | None]
"""Of a system call on x86_64 and aarch64."""
REFUSED_CALLS: dict[str, Numbers] = {
    # Calls that reach other processes, the network or kernel internals.
    "connect": (42, 203), "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438), "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "unshare": (272, 97), "setns": (308, 268), "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218),
    "bpf": (321, 280), "perf_event_open": (298, 241), "io_uring_setup": (425, 425), "userfaultfd": (323, 282),
    "kexec_load": (246, 104), "open_by_handle_at": (304, 265), "syslog": (103, 116),
    "inotify_init": (253, None), "inotify_init1": (294, 26), "fanotify_init": (300, 262),
    # Calls that signal other processes or wake a stopped one.
    "tkill": (200, 130), "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240),
    "pidfd_send_signal": (424, 424), "timer_create": (222, 107), "mq_notify": (244, 184),
    # Calls that slow other processes, above all the baseline's.
    "sched_setaffinity": (203, 122), "sched_setscheduler": (144, 119), "sched_setparam": (142, 118),
    "sched_setattr": (314, 274), "setpriority": (141, 140), "ioprio_set": (251, 30), "io_setup": (206, 0),
    "process_madvise": (440, 440), "timerfd_create": (283, 85),
    # A call that changes a file without opening it, which older versions of Landlock do not see.
    "truncate": (76, 45),
    # Calls that create objects that outlive the process.
    "shmget": (29, 194), "semget": (64, 190), "msgget": (68, 186), "mq_open": (240, 180),
}  # fmt: skip
"""Forbidden system calls."""
REFUSED_ALONE: dict[str, Numbers] = {
    "fork": (57, None), "vfork": (58, None), "execve": (59, 221), "execveat": (322, 281),
}  # fmt: skip
"""Also forbidden to a process that may start no other."""
PRETENDED_CALLS: dict[str, Numbers] = {
    # The judge stops and kills the whole process group, so nothing may leave it. Some build tools try to.
    "setsid": (112, 157), "setpgid": (109, 154),
    # These work on any file of this user, and Landlock does not see them. Linkers and copy commands use them.
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452),
    "chown": (92, None), "fchown": (93, 55), "lchown": (94, None), "fchownat": (260, 54),
    "utime": (132, None), "utimes": (235, None), "futimesat": (261, None), "utimensat": (280, 88),
    "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7), "setxattrat": (463, 463),
    "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16), "removexattrat": (466, 466),
}  # fmt: skip
"""System calls that do nothing and report success."""
MISSING_CALLS: dict[str, Numbers] = {
    # Its flags are in memory, where no filter sees them. The C library uses clone instead.
    "clone3": (435, 435),
    # Memory that belongs to no process, or that the judge cannot read.
    "memfd_create": (319, 279), "memfd_secret": (447, 447),
}  # fmt: skip
"""System calls that this kernel seems to lack."""
SECCOMP: Numbers = (317, 277)
KILL, TGKILL, PRLIMIT64, CLONE, PRCTL, FCNTL, IOCTL, SOCKETPAIR, SOCKET, MADVISE, FALLOCATE = (
    (62, 129), (234, 131), (302, 261), (56, 220), (157, 167), (72, 25), (16, 29), (53, 199), (41, 198), (28, 233),
    (285, 47),
)  # fmt: skip
"""Allowed with restrictions."""
NEW_NAMESPACES, CLONE_PARENT, CLONE_THREAD, EXIT_SIGNAL = 0x7E020000, 0x8000, 0x10000, 0xFF
"""Flags of clone (include/uapi/linux/sched.h). The first are CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID
and NEWNET."""
REFUSED_PRCTL = (PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER, 62)
"""Hide its memory from the judge, adopt orphans, have a core for itself (PR_SCHED_CORE)."""
REFUSED_FCNTL = (8, 10, 15, 1024, 1026)
"""F_SETOWN, F_SETSIG, F_SETOWN_EX, F_SETLEASE, F_NOTIFY: send signals when a file changes, or hold up who opens it."""
REFUSED_IOCTL = (0x5412, 0x541C, 0x8901, 0x8902)
"""TIOCSTI and TIOCLINUX type into a terminal; FIOSETOWN and SIOCSPGRP are F_SETOWN (asm-generic/{ioctls,sockios}.h)."""
REFUSED_ADVICE = (9, 20, 21, 25)
"""MADV_REMOVE, COLD, PAGEOUT and COLLAPSE move pages that others use too (asm-generic/mman-common.h)."""
LOAD_WORD, AND, JUMP_IF_EQUAL, JUMP_IF_AT_LEAST, JUMP_IF_ANY_BIT, RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
NUMBER, ARCHITECTURE, FIRST_ARGUMENT, ARGUMENT_BYTES = 0, 4, 16, 8
"""Offsets in struct seccomp_data; for an argument that of the lower half on little-endian machines."""
X32_CALLS = 0x40000000
SOCKET_TYPE, SOCK_STREAM = 0xF, 1
"""A pair of datagram sockets could also send to others (include/linux/net.h)."""
AF_UNIX, SOCK_SEQPACKET = 1, 5
"""What CUDA's driver opens when it starts; it needs no connection."""
CAPABILITY_VERSION = 0x20080522
PAGE, ADDRESSES = 1 << 12, 1 << 46
"""Size of a page, and of a part of the addresses of a process, in bytes."""
PRIVATE_MEMORY = 0x22
"""MAP_PRIVATE and MAP_ANONYMOUS (asm-generic/mman-common.h)."""

Instruction = tuple[int, int, int, int]
Rule = tuple[Numbers, Sequence[Instruction]]
"""What happens to a system call."""
ALLOW, KILL_PROCESS, PRETEND, REFUSE, SEEM_TO_LACK = (
    (RETURN, 0, 0, action) for action in (0x7FFF0000, 0x80000000, 0x00050000, 0x00050001, 0x00050026)
)
"""The last three return 0, EPERM and ENOSYS."""
ONLY_THREADS: list[Instruction] = [(JUMP_IF_ANY_BIT, 1, 0, CLONE_THREAD), REFUSE, ALLOW]
ONLY_COMMON_CHILDREN: list[Instruction] = [
    (JUMP_IF_ANY_BIT, 0, 1, NEW_NAMESPACES | CLONE_PARENT), REFUSE,
    (AND, 0, 0, EXIT_SIGNAL), (JUMP_IF_EQUAL, 2, 0, 0), (JUMP_IF_EQUAL, 1, 0, signal.SIGCHLD), REFUSE, ALLOW,
]  # fmt: skip
"""Whether clone is allowed with the loaded flags. Children may tell their end to their parent by SIGCHLD only."""


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
    memory_bytes: int
    """Maximum private memory of each process."""
    files: int
    """Maximum number of open files of each process."""
    alone: bool = False
    """Whether it may start no other process."""
    launcher: bool = False
    """Whether it runs no candidate itself, but launches each by `become`, which confines it further."""
    online: bool = False
    """Whether it is no candidate but an author's command. It may use the network and make system calls as it likes; it
    reaches no file that is not allowed and no process of others, and does not leave its process group."""


def confine(limits: SandboxLimits) -> None:
    """Restrict this process and its future children permanently. Raises OSError if the kernel refuses."""
    libc = ctypes.CDLL(None, use_errno=True)
    _check(libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl")
    _limit(resource.RLIMIT_CPU, limits.cpu_s, grace=1)
    _limit(resource.RLIMIT_FSIZE, limits.file_bytes)
    _limit(resource.RLIMIT_DATA, limits.memory_bytes)
    _limit(resource.RLIMIT_NOFILE, limits.files)
    _limit(resource.RLIMIT_CORE, 1)  # 0 would still start a program that collects core dumps: core(5)
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")  # if memory runs out, this process is killed first
    if limits.level < 2:
        return
    _check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    _restrict_files(libc, limits)
    _check(libc.capset(struct.pack("Ii", CAPABILITY_VERSION, 0), bytes(24)), "capset")
    if limits.online:
        _install(libc, [(PRETENDED_CALLS[call], [PRETEND]) for call in ("setsid", "setpgid")])
    else:
        _refuse_calls(libc, limits)


def _limit(number: int, limit: int, *, grace: int = 0) -> None:
    """Set a resource limit of this process, `grace` higher as a hard limit; an existing hard limit stays if lower."""
    hard = resource.getrlimit(number)[1]
    soft, highest = (each if hard == resource.RLIM_INFINITY else min(each, hard) for each in (limit, limit + grace))
    resource.setrlimit(number, (soft, highest))


def _restrict_files(libc: Any, limits: SandboxLimits) -> None:
    if sys.platform != "linux":
        raise OSError("only Linux has Landlock")
    abi = libc.syscall(LANDLOCK_CREATE_RULESET, None, 0, 1)
    handled = sum(access for since, access in ACCESS_BY_ABI.items() if abi >= since)
    network, scoped = (3 if abi >= 4 and not limits.online else 0), (3 if abi >= 6 else 0)
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


def become(command: Sequence[str], limits: Mapping[int, int], *, level: int) -> None:
    """Replace this process by a program; from level 2 on, the program can neither start another nor execute one.

    The filter lets execve pass only with the address at which this function puts the program's name. The address is
    random, and nothing in the program knows it.

    Args:
        limits: Values of resource limits by their numbers.

    Raises:
        OSError: the kernel refuses.
    """
    for number, limit in limits.items():
        _limit(number, limit)
    libc = ctypes.CDLL(None, use_errno=True)
    _check(libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl")
    libc.mmap.restype = ctypes.c_void_p
    program = os.fsencode(command[0]) + b"\0"
    somewhere = int.from_bytes(os.urandom(8)) % ADDRESSES & -PAGE
    pages = libc.mmap(ctypes.c_void_p(somewhere), ctypes.c_size_t(2 * PAGE), 3, PRIVATE_MEMORY, -1, ctypes.c_long(0))
    name = pages + int.from_bytes(os.urandom(2)) % PAGE
    ctypes.memmove(name, program, min(len(program), PAGE))
    if level >= 2:
        _check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
        low, high = name & 0xFFFFFFFF, name >> 32
        only_ours = [
            _load(0), (JUMP_IF_EQUAL, 0, 2, low), (LOAD_WORD, 0, 0, FIRST_ARGUMENT + 4), (JUMP_IF_EQUAL, 1, 0, high),
            REFUSE, ALLOW,
        ]  # fmt: skip
        refused = [(numbers, [REFUSE]) for call, numbers in REFUSED_ALONE.items() if call != "execve"]
        threads = (CLONE, [_load(0), *ONLY_THREADS])
        _install(libc, [*refused, (REFUSED_ALONE["execve"], only_ours), threads, *_signals_to_itself()])
    words = [os.fsencode(word) for word in command]
    variables = [os.fsencode(f"{key}={value}") for key, value in os.environ.items()]
    arrays = [(ctypes.c_char_p * (len(texts) + 1))(*texts, None) for texts in (words, variables)]
    _check(libc.execve(ctypes.c_void_p(name), *arrays), command[0])


def _signals_to_itself() -> list[Rule]:
    """It may signal only itself, and does not outlive its parent."""
    itself, no_wake = (JUMP_IF_EQUAL, 1, 0, os.getpid()), _if_any((signal.SIGCONT,), REFUSE)
    return [
        (KILL, [_load(0), itself, REFUSE, _load(1), *no_wake, ALLOW]),
        (TGKILL, [_load(0), itself, REFUSE, _load(2), *no_wake, ALLOW]),
        (PRCTL, [_load(0), *_if_any((PR_SET_PDEATHSIG,), PRETEND), *_if_any(REFUSED_PRCTL, REFUSE), ALLOW]),
    ]


def _refuse_calls(libc: Any, limits: SandboxLimits) -> None:
    driver_socket = [
        _load(0), (JUMP_IF_EQUAL, 1, 0, AF_UNIX), REFUSE,
        _load(1), (AND, 0, 0, SOCKET_TYPE), (JUMP_IF_EQUAL, 1, 0, SOCK_SEQPACKET), REFUSE, ALLOW,
    ]  # fmt: skip
    sockets = driver_socket if limits.devices else [REFUSE]
    stream = [_load(1), (AND, 0, 0, SOCKET_TYPE), (JUMP_IF_EQUAL, 1, 0, SOCK_STREAM), REFUSE, ALLOW]
    whole = (
        (REFUSED_CALLS, REFUSE), (REFUSED_ALONE if limits.alone else {}, REFUSE), (PRETENDED_CALLS, PRETEND),
        (MISSING_CALLS, SEEM_TO_LACK),
    )  # fmt: skip
    _install(libc, [
        *((numbers, [action]) for calls, action in whole for numbers in calls.values()),
        *([] if limits.launcher else _signals_to_itself()),
        (PRLIMIT64, [_load(0), (JUMP_IF_EQUAL, 1, 0, 0), REFUSE, ALLOW]),
        (MADVISE, [_load(2), *_if_any(REFUSED_ADVICE, REFUSE), ALLOW]),
        (FALLOCATE, [_load(1), (JUMP_IF_EQUAL, 1, 0, 0), REFUSE, ALLOW]),
        (SOCKETPAIR, stream),
        (SOCKET, sockets),
        (CLONE, [_load(0), *(ONLY_THREADS if limits.alone else ONLY_COMMON_CHILDREN)]),
        (FCNTL, [_load(1), *_if_any(REFUSED_FCNTL, REFUSE), ALLOW]),
        (IOCTL, [_load(1), *_if_any(REFUSED_IOCTL, REFUSE), ALLOW]),
    ])  # fmt: skip


def _install(libc: Any, rules: Sequence[Rule]) -> None:
    """Filter the system calls of this thread from now on: each rule decides on one call; all others are allowed."""
    machine = list(ARCHITECTURES).index(platform.machine())
    program: list[Instruction] = [
        (LOAD_WORD, 0, 0, ARCHITECTURE), (JUMP_IF_EQUAL, 1, 0, ARCHITECTURES[platform.machine()]), KILL_PROCESS,
        (LOAD_WORD, 0, 0, NUMBER), (JUMP_IF_AT_LEAST, 0, 1, X32_CALLS), REFUSE,
    ]  # fmt: skip
    for numbers, then in rules:
        if (number := numbers[machine]) is not None:
            program.extend([(JUMP_IF_EQUAL, 0, len(then), number), *then])
    program.append(ALLOW)
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *instruction) for instruction in program))

    class Filter(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))

    filter_ = Filter(len(program), ctypes.cast(code, ctypes.c_void_p))
    _check(libc.syscall(SECCOMP[machine], SECCOMP_SET_MODE_FILTER, 0, ctypes.byref(filter_)), "seccomp")


def _load(argument: int) -> Instruction:
    return (LOAD_WORD, 0, 0, FIRST_ARGUMENT + ARGUMENT_BYTES * argument)


def _if_any(values: Sequence[int], action: Instruction) -> list[Instruction]:
    """Take the action if the loaded argument has one of these values; go on otherwise."""
    return [instruction for value in values for instruction in ((JUMP_IF_EQUAL, 0, 1, value), action)]


def _check(result: int, what: str) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), what)
    return result


def _stay_beside() -> None:
    """Go on in a child, and end with its status. If the process that started this one dies, the whole group does."""
    signal.signal(signal.SIGTERM, lambda *_: os.killpg(0, signal.SIGKILL))
    _check(ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0), "prctl")
    if child := os.fork():
        os._exit(abs(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])))
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


if __name__ == "__main__":
    limits = SandboxLimits(**json.loads(sys.argv[1]))
    confine(limits)
    if limits.online:
        _stay_beside()
    os.execv(sys.argv[3], sys.argv[3:])  # noqa: S606 - no shell is needed

"""Confines the process that runs it and then becomes another program: `python -I sandbox.py LIMITS -- COMMAND...`.

Standard library only, and no import of kb: it runs before anything else does, under `python -I`. LIMITS is JSON, see
`Limits`. Level 1 sets resource limits; level 2 adds Landlock (files, signals, TCP) and seccomp (everything else that
leaves the process). Neither needs root. System call numbers: include/uapi/asm-generic/unistd.h (aarch64) and
arch/x86/entry/syscalls/syscall_64.tbl of the Linux source; Landlock: include/uapi/linux/landlock.h.
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
from typing import Any, NamedTuple

LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF = 444, 445, 446
LANDLOCK_RULE_PATH_BENEATH = 1
PR_SET_PDEATHSIG, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 1, 22, 38
SECCOMP_MODE_FILTER = 2

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
TRUNCATE, IOCTL_DEV, REFER = 1 << 14, 1 << 15, 1 << 13
MAKE_DEVICES = 1 << 6 | 1 << 11
READ = EXECUTE | READ_FILE | READ_DIR
OF_A_FILE = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
ACCESS_BY_ABI = {1: (1 << 13) - 1, 2: REFER, 3: TRUNCATE, 5: IOCTL_DEV}
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")

REFUSED_CALLS = {
    "x86_64": (
        0xC000003E,
        # socket ptrace mount umount2 pivot_root chroot unshare setns keyctl add_key request_key bpf perf_event_open
        (41, 101, 165, 166, 155, 161, 272, 308, 250, 248, 249, 321, 298),
        # io_uring_setup userfaultfd kexec_load process_vm_readv process_vm_writev pidfd_getfd open_by_handle_at
        (425, 323, 246, 310, 311, 438, 304),
    ),
    "aarch64": (
        0xC00000B7,
        (198, 117, 40, 39, 41, 51, 97, 268, 219, 217, 218, 280, 241),
        (425, 282, 104, 270, 271, 438, 265),
    ),
}
LOAD_WORD, JUMP_IF_EQUAL, JUMP_IF_AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
ALLOW, KILL, REFUSE_WITH_EPERM = 0x7FFF0000, 0x80000000, 0x00050001
X32_CALLS = 0x40000000

Instruction = tuple[int, int, int, int]


class Limits(NamedTuple):
    level: int
    listable: Sequence[str]
    """Folders of which only the names may be read."""
    readable: Sequence[str]
    writable: Sequence[str]
    cpu_s: int
    file_bytes: int


def confine(limits: Limits) -> None:
    """Restrict this process and all it will start, for good. Raises OSError when the kernel refuses."""
    libc = ctypes.CDLL(None, use_errno=True)
    _check(libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl")
    resource.setrlimit(resource.RLIMIT_CPU, (limits.cpu_s, limits.cpu_s + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (limits.file_bytes, limits.file_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if limits.level < 2:
        return
    _check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    _restrict_files(libc, limits)
    _refuse_calls(libc)


def _restrict_files(libc: Any, limits: Limits) -> None:
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
    _check(libc.syscall(LANDLOCK_RESTRICT_SELF, ruleset, 0), "landlock_restrict_self")
    os.close(ruleset)


def _refuse_calls(libc: Any) -> None:
    architecture, *groups = REFUSED_CALLS[platform.machine()]
    program: list[Instruction] = [(LOAD_WORD, 0, 0, 4), (JUMP_IF_EQUAL, 1, 0, architecture), (RETURN, 0, 0, KILL)]
    program += [(LOAD_WORD, 0, 0, 0), (JUMP_IF_AT_LEAST, 0, 1, X32_CALLS), (RETURN, 0, 0, REFUSE_WITH_EPERM)]
    for number in (number for group in groups for number in group):
        program += [(JUMP_IF_EQUAL, 0, 1, number), (RETURN, 0, 0, REFUSE_WITH_EPERM)]
    program.append((RETURN, 0, 0, ALLOW))
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
    confine(Limits(**json.loads(sys.argv[1])))
    os.execv(sys.argv[3], sys.argv[3:])  # noqa: S606 - no shell is wanted

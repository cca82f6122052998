"""Try forbidden actions in a confined process: `python -I probes.py FOLDER HOME FILE`. Prints the outcomes as JSON.

FOLDER is writable, HOME belongs to someone else, FILE is a file of this project. No probe does harm if it is not
stopped. Standard library only. System call numbers: see eval/worker/sandbox.py.
"""

import ctypes
import errno
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

FOLDER, HOME, PROJECT_FILE = (Path(p) for p in (sys.argv[1:] if __name__ == "__main__" else ("", "", "")))
SECRET = HOME / "secret"
PARENT = os.getppid()
SIGCHLD, CLONE_NEWUSER = 17, 0x10000000
PTRACE_SEIZE, PR_SET_DUMPABLE = 0x4206, 4
LIBC = ctypes.CDLL(None, use_errno=True)


def system(number: int, *arguments: object) -> int:
    """A system call by its number on x86_64."""
    result = LIBC.syscall(number, *(ctypes.c_long(a) if isinstance(a, int) else a for a in arguments))
    if result < 0:
        raise OSError(ctypes.get_errno(), f"system call {number}")
    return int(result)


def link_and_read() -> None:
    os.link(SECRET, FOLDER / "hard")
    (FOLDER / "hard").read_text()


def follow_symlink() -> None:
    (FOLDER / "soft").symlink_to(SECRET)
    (FOLDER / "soft").read_text()


def climb_out() -> None:
    (FOLDER / ".." / HOME.relative_to(FOLDER.parent) / "secret").read_text()


def move_out() -> None:
    (FOLDER / "mine").write_text("")
    (FOLDER / "mine").rename(HOME / "mine")


def run_from_home() -> None:
    subprocess.run([str(HOME / "program")], check=True)


def read_memory_by_call() -> None:
    class Span(ctypes.Structure):
        _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))

    held = ctypes.create_string_buffer(8)
    here, there = Span(ctypes.addressof(held), 8), Span(id(PARENT), 8)
    try:
        system(310, PARENT, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
    except OSError as error:
        if error.errno != errno.EFAULT:  # EFAULT: the call was allowed, but the address is invalid in the parent
            raise


def new_namespace_by_clone() -> None:
    pid = system(56, CLONE_NEWUSER | SIGCHLD, None, None, None, None)
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def signal_from_child() -> None:
    """Signal the parent from a child, whose process id is not the one in the filter."""
    pid = os.fork()
    if pid == 0:
        with suppress(OSError):
            os.kill(PARENT, 0)
            os._exit(0)
        os._exit(1)
    if os.waitpid(pid, 0)[1]:
        raise OSError(errno.EPERM, "from a child")


def hide_memory() -> None:
    if LIBC.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def set_timer() -> None:
    timer = ctypes.c_int()
    system(222, 1, None, ctypes.byref(timer))
    system(226, timer)


PROBES: dict[str, Callable[[], object]] = {
    "reads someone else's file": SECRET.read_text,
    "reads this project's files": PROJECT_FILE.read_text,
    "reads the system's users": Path("/etc/passwd").read_text,
    "lists someone else's folder": lambda: list(HOME.iterdir()),
    "lists the temporary folder": lambda: list(FOLDER.parent.iterdir()),
    "lists all processes": lambda: list(Path("/proc").iterdir()),
    "reads by a hard link": link_and_read,
    "reads by a symbolic link": follow_symlink,
    "reads by climbing out": climb_out,
    "writes a new file": lambda: (HOME / "new").write_text(""),
    "writes an old file": lambda: SECRET.open("a").close(),
    "moves a file out": move_out,
    "removes a file": lambda: (HOME / "spare").unlink(),
    "truncates a file": lambda: os.truncate(SECRET, SECRET.stat().st_size),
    "makes a folder": lambda: (HOME / "folder").mkdir(),
    "runs someone else's program": run_from_home,
    "reads its parent's environment": lambda: Path(f"/proc/{PARENT}/environ").read_bytes(),
    "reads its parent's memory": lambda: Path(f"/proc/{PARENT}/mem").open("rb").close(),
    "reads its parent's memory by a call": read_memory_by_call,
    "traces its parent": lambda: system(101, PTRACE_SEIZE, PARENT, 0, 0),
    "signals its parent": lambda: os.kill(PARENT, 0),
    "signals its parent from a child": signal_from_child,
    "signals its parent by a handle": lambda: signal.pidfd_send_signal(os.pidfd_open(PARENT), 0),
    "signals its parent's thread": lambda: system(200, PARENT, 0),
    "binds its parent to processors": lambda: os.sched_setaffinity(PARENT, os.sched_getaffinity(PARENT)),
    "schedules its parent": lambda: os.sched_setscheduler(PARENT, os.SCHED_OTHER, os.sched_param(0)),
    "makes its parent nice": lambda: os.setpriority(os.PRIO_PROCESS, PARENT, os.getpriority(os.PRIO_PROCESS, PARENT)),
    "limits its parent": lambda: system(302, PARENT, 7, None, None),
    "hides its memory": hide_memory,
    "opens a TCP socket": lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM).close(),
    "opens a UDP socket": lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).close(),
    "opens a unix socket": lambda: socket.socket(socket.AF_UNIX).close(),
    "opens a netlink socket": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).close(),
    "clones into a namespace": new_namespace_by_clone,
    "sets up an io_uring": lambda: os.close(system(425, 1, ctypes.create_string_buffer(120))),
    "leaves shared memory behind": lambda: system(31, system(29, 0, 4096, 0o600), 0, None),
    "leaves a queue behind": lambda: system(71, system(68, 0, 0o600), 0, None),
    "sets a timer that can wake it": set_timer,
    "unshares its namespace": lambda: system(272, CLONE_NEWUSER),  # last, because afterwards it has no user id
}


NEEDS: dict[str, Callable[[], object]] = {
    "writes in its folder": lambda: (FOLDER / "own").write_text("x"),
    "makes folders there": lambda: (FOLDER / "deep" / "er").mkdir(parents=True),
    "runs a tool": lambda: subprocess.run(["/bin/sh", "-c", "exit 0"], check=True),
    "runs a tool in its own session": lambda: subprocess.run(["/bin/true"], check=True, start_new_session=True),
    "changes a mode": lambda: (FOLDER / "own").chmod(0o700),
    "knows its limits": lambda: system(302, 0, 7, None, ctypes.create_string_buffer(16)),
    "signals itself": lambda: os.kill(os.getpid(), 0),
    "draws random numbers": lambda: Path("/dev/urandom").open("rb").close(),
    "counts processors": lambda: os.sched_getaffinity(0),
}


REFUSALS = (errno.EPERM, errno.EACCES, errno.EXDEV)
"""Landlock refuses links and moves out of a folder with EXDEV."""


def outcome(probe: Callable[[], object]) -> str:
    try:
        probe()
    except OSError as error:
        return "refused" if error.errno in REFUSALS else errno.errorcode.get(error.errno or 0, str(error))
    except subprocess.CalledProcessError as error:
        return str(error)
    return "done"


if __name__ == "__main__":
    print(json.dumps({name: outcome(probe) for name, probe in {**NEEDS, **PROBES}.items()}))

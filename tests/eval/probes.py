"""Try forbidden actions in a confined process: `python -I probes.py FOLDER HOME FILE`. Prints the outcomes as JSON.

FOLDER is writable, HOME belongs to someone else, FILE is a file of this project. No probe does harm if it is not
stopped. Standard library only. System call numbers: see eval/worker/sandbox.py.
"""

import ctypes
import errno
import fcntl
import json
import mmap
import os
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

FOLDER, HOME, PROJECT_FILE = (Path(p) for p in (sys.argv[1:] if __name__ == "__main__" else ("", "", "")))
SECRET = HOME / "secret"
PARENT = os.getppid()
CLONE_NEWUSER, CLONE_PARENT = 0x10000000, 0x8000
PTRACE_SEIZE, PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER, PR_SCHED_CORE = 0x4206, 4, 36, 62
F_SETSIG, F_SETOWN_EX, TIOCSTI, FIOSETOWN, MS_RDONLY = 10, 15, 0x5412, 0x8901, 1
MADV_REMOVE, MADV_PAGEOUT, FALLOC_KEEP_SIZE, FALLOC_PUNCH_HOLE = 9, 21, 1, 2
THREAD_KEYRING, AT_FDCWD, MNT_DETACH = -1, -100, 2
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


def clone_with(flags: int) -> None:
    """Start a child that ends at once."""
    pid = system(56, flags, None, None, None, None)
    if pid == 0:
        os._exit(0)
    with suppress(ChildProcessError):  # with CLONE_PARENT it is no child of this process
        os.waitpid(pid, 0x40000000)  # __WALL: also if its end is told by another signal


def in_child(probe: Callable[[], object]) -> None:
    """Try something in a child, whose process id is not the one in the filter."""
    pid = os.fork()
    if pid == 0:
        try:
            probe()
        except OSError as error:
            os._exit(error.errno or 255)
        os._exit(0)
    if status := os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]):
        raise OSError(status, "in a child")


def control(option: int) -> None:
    if LIBC.prctl(option, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def share_core() -> None:
    try:
        control(PR_SCHED_CORE)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENODEV):  # allowed, but not on this machine
            raise


def command(request: int) -> None:
    """Send a file a command that it does not support."""
    with Path("/dev/null").open("rb") as file, suppress_errno(errno.ENOTTY):
        fcntl.ioctl(file, request, bytes(8))


@contextmanager
def suppress_errno(number: int) -> Iterator[None]:
    """The call was allowed, but failed for a reason of its own."""
    try:
        yield
    except OSError as error:
        if error.errno != number:
            raise


def own_file(operation: int, value: object) -> None:
    read, write = os.pipe()
    try:
        fcntl.fcntl(read, operation, value)  # type: ignore[call-overload]
    finally:
        os.close(read)
        os.close(write)


def lease() -> None:
    (FOLDER / "leased").write_text("")
    with (FOLDER / "leased").open() as file:
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)


def open_by_handle() -> None:
    handle, mount = ctypes.create_string_buffer(struct.pack("Ii", 128, 0), 136), ctypes.c_int()
    system(303, AT_FDCWD, str(SECRET).encode(), handle, ctypes.byref(mount), 0)
    folder = os.open(FOLDER, os.O_RDONLY)
    os.close(system(304, folder, handle, os.O_RDONLY))


def exchange() -> None:
    (FOLDER / "swap").write_text("")
    try:
        system(316, AT_FDCWD, str(FOLDER / "swap").encode(), AT_FDCWD, str(SECRET).encode(), 2)
    finally:
        with suppress(OSError):
            system(316, AT_FDCWD, str(FOLDER / "swap").encode(), AT_FDCWD, str(SECRET).encode(), 2)


def link_into() -> None:
    (FOLDER / "linked").write_text("")
    os.link(FOLDER / "linked", HOME / "linked")


def send_to_anyone() -> None:
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with one, other, suppress_errno(errno.ENOENT), suppress_errno(errno.ECONNREFUSED):
        one.sendto(b"", str(HOME / "socket"))


def mount() -> None:
    (FOLDER / "mounted").mkdir(exist_ok=True)
    target = str(FOLDER / "mounted").encode()
    system(165, b"kb", target, b"tmpfs", MS_RDONLY, None)
    system(166, target, MNT_DETACH)


def load_map() -> None:
    attributes = ctypes.create_string_buffer(struct.pack("IIII", 2, 4, 4, 1), 128)
    os.close(system(321, 0, attributes, 128))


def count_events() -> None:
    attributes = ctypes.create_string_buffer(struct.pack("IIQ", 1, 112, 0), 112)
    os.close(system(298, attributes, 0, -1, -1, 0))


def leave_shared_memory() -> None:
    Path("/dev/shm/kb-probe").write_text("")
    Path("/dev/shm/kb-probe").unlink()


def leave_message_queue() -> None:
    os.close(system(240, b"kb-probe", os.O_CREAT | os.O_RDWR, 0o600, None))
    system(241, b"kb-probe")


def cut_hole() -> None:
    with (FOLDER / "whole").open("wb") as file:
        file.write(bytes(mmap.PAGESIZE))
        system(285, file.fileno(), FALLOC_KEEP_SIZE | FALLOC_PUNCH_HOLE, 0, mmap.PAGESIZE)


def set_timer() -> None:
    timer = ctypes.c_int()
    system(222, 1, None, ctypes.byref(timer))
    system(226, timer)


PROBES: dict[str, Callable[[], object]] = {
    # files
    "reads someone else's file": SECRET.read_text,
    "reads this project's files": PROJECT_FILE.read_text,
    "reads the system's users": Path("/etc/passwd").read_text,
    "reads by another way to the root": lambda: Path(f"/proc/self/root{SECRET}").read_text(),
    "reads by a hard link": link_and_read,
    "reads by a symbolic link": follow_symlink,
    "reads by climbing out": climb_out,
    "reads by a handle": open_by_handle,
    "lists someone else's folder": lambda: list(HOME.iterdir()),
    "lists the temporary folder": lambda: list(FOLDER.parent.iterdir()),
    "lists all processes": lambda: list(Path("/proc").iterdir()),
    "writes a new file": lambda: (HOME / "new").write_text(""),
    "writes an old file": lambda: SECRET.open("a").close(),
    "writes a nameless file": lambda: os.close(os.open(HOME, os.O_TMPFILE | os.O_WRONLY)),
    "moves a file out": move_out,
    "exchanges two files": exchange,
    "links a file out": link_into,
    "removes a file": lambda: (HOME / "spare").unlink(),
    "truncates a file": lambda: os.truncate(SECRET, SECRET.stat().st_size),
    "makes a folder": lambda: (HOME / "folder").mkdir(),
    "makes a link": lambda: (HOME / "link").symlink_to("/"),
    "makes a pipe": lambda: os.mkfifo(HOME / "pipe"),
    "makes a device": lambda: os.mknod(FOLDER / "device", 0o20600, os.makedev(1, 3)),
    "runs someone else's program": run_from_home,
    "runs a program in memory": lambda: os.close(os.memfd_create("program")),
    "watches someone else's folder": lambda: os.close(system(294, 0)),
    "watches all folders": lambda: os.close(system(300, 0x200, 0)),
    "holds a file": lease,
    # other processes
    "reads its parent's environment": lambda: Path(f"/proc/{PARENT}/environ").read_bytes(),
    "reads its parent's memory map": lambda: Path(f"/proc/{PARENT}/maps").read_bytes(),
    "lists its parent's handles": lambda: list(Path(f"/proc/{PARENT}/fd").iterdir()),
    "opens its parent's handle": lambda: Path(f"/proc/{PARENT}/fd/1").open("ab").close(),
    "finds its parent's folder": lambda: Path(f"/proc/{PARENT}/cwd").readlink(),
    "reads its parent's memory": lambda: Path(f"/proc/{PARENT}/mem").open("rb").close(),
    "reads its parent's memory by a call": read_memory_by_call,
    "traces its parent": lambda: system(101, PTRACE_SEIZE, PARENT, 0, 0),
    "takes its parent's handle": lambda: os.close(system(438, os.pidfd_open(PARENT), 1, 0)),
    "signals its parent": lambda: os.kill(PARENT, 0),
    "signals its parent's group": lambda: os.killpg(os.getpgid(PARENT), 0),
    "signals all processes": lambda: os.kill(-1, 0),
    "signals its parent from a child": lambda: in_child(lambda: os.kill(PARENT, 0)),
    "signals its parent by a handle": lambda: signal.pidfd_send_signal(os.pidfd_open(PARENT), 0),
    "signals its parent's thread": lambda: system(200, PARENT, 0),
    "signals its parent by a file": lambda: own_file(fcntl.F_SETOWN, PARENT),
    "signals its parent's thread by a file": lambda: own_file(F_SETOWN_EX, struct.pack("ii", 0, PARENT)),
    "signals its parent by a command": lambda: command(FIOSETOWN),
    "binds its parent to processors": lambda: os.sched_setaffinity(PARENT, os.sched_getaffinity(PARENT)),
    "schedules its parent": lambda: os.sched_setscheduler(PARENT, os.SCHED_OTHER, os.sched_param(0)),
    "makes its parent nice": lambda: os.setpriority(os.PRIO_PROCESS, PARENT, os.getpriority(os.PRIO_PROCESS, PARENT)),
    "frees the pages of shared memory": lambda: mmap.mmap(-1, mmap.PAGESIZE).madvise(MADV_REMOVE),
    "moves the pages of shared memory out": lambda: mmap.mmap(-1, mmap.PAGESIZE).madvise(MADV_PAGEOUT),
    "cuts a hole into a file": cut_hole,
    "limits its parent": lambda: system(302, PARENT, 7, None, None),
    "has a sibling": lambda: clone_with(CLONE_PARENT | signal.SIGCHLD),
    # ways to run while the judge has stopped it, or to hide
    "wakes itself": lambda: os.kill(os.getpid(), signal.SIGCONT),
    "wakes its thread": lambda: system(234, os.getpid(), os.getpid(), int(signal.SIGCONT)),
    "is woken by a child": lambda: clone_with(signal.SIGCONT),
    "is woken by a file": lambda: own_file(F_SETSIG, int(signal.SIGCONT)),
    "is woken by a timer": set_timer,
    "adopts orphans": lambda: control(PR_SET_CHILD_SUBREAPER),
    "hides its memory": lambda: control(PR_SET_DUMPABLE),
    "has a core for itself": share_core,
    # network and terminals
    "opens a TCP socket": lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM).close(),
    "opens a UDP socket": lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).close(),
    "opens a unix socket": lambda: socket.socket(socket.AF_UNIX).close(),
    "opens a netlink socket": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).close(),
    "sends to any unix socket": send_to_anyone,
    "types into a terminal": lambda: command(TIOCSTI),
    "opens a terminal": lambda: os.close(os.open("/dev/ptmx", os.O_RDWR)),
    # the kernel
    "clones into a namespace": lambda: clone_with(CLONE_NEWUSER | signal.SIGCHLD),
    "unshares its namespace": lambda: in_child(lambda: system(272, CLONE_NEWUSER)),
    "mounts a file system": mount,
    "changes its root": lambda: in_child(lambda: os.chroot(FOLDER)),
    "lets the kernel read and write while it is stopped": lambda: system(206, 1, ctypes.byref(ctypes.c_ulong())),
    "sets up an io_uring": lambda: os.close(system(425, 1, ctypes.create_string_buffer(120))),
    "loads a map into the kernel": load_map,
    "counts events of the processor": count_events,
    "keeps a key": lambda: system(248, b"user", b"kb-probe", b"x", 1, THREAD_KEYRING),
    "reads the kernel's log": lambda: system(103, 10, None, 0),
    "handles its own page faults": lambda: os.close(system(323, 1)),
    # things that outlive it
    "leaves a file in memory": leave_shared_memory,
    "leaves shared memory": lambda: system(31, system(29, 0, 4096, 0o600), 0, None),
    "leaves a semaphore": lambda: system(66, system(64, 0, 1, 0o600), 0, 0, None),
    "leaves a queue": lambda: system(71, system(68, 0, 0o600), 0, None),
    "leaves a message queue": leave_message_queue,
}
"""Forbidden actions. All must be refused."""


NEEDS: dict[str, Callable[[], object]] = {
    "writes in its folder": lambda: (FOLDER / "own").write_text("x"),
    "makes folders there": lambda: (FOLDER / "deep" / "er").mkdir(parents=True),
    "runs a tool": lambda: subprocess.run(["/bin/sh", "-c", "exit 0"], check=True),
    "runs a tool in its own session": lambda: subprocess.run(["/bin/true"], check=True, start_new_session=True),
    "starts a child": lambda: in_child(lambda: None),
    "has a pair of sockets": lambda: [end.close() for end in socket.socketpair()],
    "changes a mode": lambda: (FOLDER / "own").chmod(0o700),
    "changes a time": lambda: os.utime(FOLDER / "own", (0, 0)),
    "gives memory back": lambda: mmap.mmap(-1, mmap.PAGESIZE).madvise(mmap.MADV_DONTNEED),
    "knows its limits": lambda: system(302, 0, 7, None, ctypes.create_string_buffer(16)),
    "signals itself": lambda: os.kill(os.getpid(), 0),
    "draws random numbers": lambda: Path("/dev/urandom").open("rb").close(),
    "counts processors": lambda: os.sched_getaffinity(0),
}
"""Actions that a kernel, its compiler or Python needs. None may be refused."""


REFUSALS = (errno.EPERM, errno.EACCES, errno.EXDEV, errno.ENOSYS)
"""Landlock refuses links and moves out of a folder with EXDEV; some calls seem to be missing."""


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

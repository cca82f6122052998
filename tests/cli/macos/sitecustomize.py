"""Python runs this first in each process that has this folder on its path, and is then what it is on macOS.

Gone is what the standard library's documentation offers on Linux but not on macOS, and what Linux tells in files.
"""

import fcntl
import os
import resource
import select
import signal
import sys
import time
import types

ONLY_ON_LINUX = {
    os: ("CLONE_", "EFD_", "MFD_", "O_PATH", "O_TMPFILE", "P_PID", "P_ALL", "P_PGID", "SCHED_", "SPLICE_", "WEXITED",
         "WNOWAIT", "WSTOPPED", "copy_file_range", "eventfd", "fdatasync", "getrandom", "getresgid", "getresuid",
         "getxattr", "listxattr", "memfd_create", "pidfd_open", "pipe2", "posix_fadvise", "posix_fallocate",
         "removexattr", "sched_", "setns", "setresgid", "setresuid", "setxattr", "splice", "unshare", "waitid"),
    fcntl: ("F_ADD_SEALS", "F_GET_SEALS", "F_NOTIFY", "F_SEAL_"),
    resource: ("RLIMIT_MSGQUEUE", "RLIMIT_NICE", "RLIMIT_RTPRIO", "RLIMIT_RTTIME", "RLIMIT_SIGPENDING", "prlimit"),
    select: ("EPOLL", "epoll"),
    signal: ("SIGPWR", "SIGRT", "SIGSTKFLT", "sigtimedwait", "sigwaitinfo"),
    time: ("CLOCK_BOOTTIME",),
}  # fmt: skip
LINUX_FILES = ("/proc/", "/sys/")

# How this Python was built stands in a module that is named by the platform.
os.environ["_PYTHON_SYSCONFIGDATA_NAME"] = f"_sysconfigdata__linux_{sys.implementation._multiarch}"
sys.platform = "darwin"
sys.modules["_scproxy"] = types.ModuleType("_scproxy")  # urllib asks it for macOS's proxies
sys.modules["_scproxy"].__dict__.update(_get_proxies=dict, _get_proxy_settings=dict)
for module, beginnings in ONLY_ON_LINUX.items():
    for name in [name for name in vars(module) if name.startswith(beginnings)]:
        delattr(module, name)


def _refuse_linux_files(event: str, arguments: tuple[object, ...]) -> None:
    if event == "open" and str(arguments[0]).startswith(LINUX_FILES):
        raise FileNotFoundError(2, "No such file or directory", arguments[0])


sys.addaudithook(_refuse_linux_files)

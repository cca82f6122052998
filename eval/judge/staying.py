"""A judge that stays for the next command: it is found by a socket in a folder that only this user can enter."""

import hashlib
import os
import select
import signal
import socket
import stat
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from eval.worker.channel import Channel

LOOK_S = 0.5
"""Time between two looks whether a judge is still wanted."""
CONNECT_S = 2.0
EXIT_S = 5.0


@dataclass(frozen=True)
class Stay:
    """Where a judge stays after a command, and for how long it waits for the next.

    Attributes:
        path: Its socket. There is one for each home, so that no two judges share a GPU's memory.
        waits_s: It ends after this time.
        made_of: A judge serves only commands with the same: the code and the environment that it runs with.
    """

    path: Path
    waits_s: int
    made_of: str = ""


def socket_path(home: Path) -> Path | None:
    """The socket for a home; None if the folder for sockets does not belong to this user alone."""
    folder = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()) / f"kb-{os.getuid()}"
    with suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077:
            return folder / hashlib.sha256(bytes(home)).hexdigest()[:16]
    return None


def connected(path: Path) -> Channel | None:
    """A channel to the judge that stays there; None if there is none."""
    with suppress(OSError), socket.socket(socket.AF_UNIX) as client:
        client.settimeout(CONNECT_S)
        client.connect(str(path))
        return _channel(client)
    return None


def next_clients(path: Path, waits_s: float) -> Iterator[Channel]:
    """A channel to each command that connects; ends when none came for `waits_s` seconds or the socket is another's."""
    own = path.with_name(f"{path.name}.{os.getpid()}")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(own))
        server.listen()
        server.settimeout(LOOK_S)
        mine = own.stat().st_ino
        own.replace(path)
        deadline = time.monotonic() + waits_s
        while time.monotonic() < deadline and _inode(path) == mine:
            with suppress(TimeoutError):
                channel = _channel(server.accept()[0])
                yield channel
                channel.close()
                deadline = time.monotonic() + waits_s
        if _inode(path) == mine:
            path.unlink(missing_ok=True)


@contextmanager
def while_wanted(channel: Channel) -> Iterator[None]:
    """End this process if the other end of a channel is closed before the block has ended."""
    answered = threading.Event()

    def watch() -> None:
        other_end = select.poll()
        other_end.register(channel.read_fd, 0)  # that it is closed is always told
        while not answered.wait(LOOK_S):
            if other_end.poll(0):
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(EXIT_S)
                os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        answered.set()


def _channel(connection: socket.socket) -> Channel:
    connection.settimeout(None)
    handle = connection.detach()
    return Channel(handle, handle)


def _inode(path: Path) -> int | None:
    with suppress(OSError):
        return path.stat().st_ino
    return None

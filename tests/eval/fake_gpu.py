"""A GPU in the host's memory, for tests without one: its driver, and an adapter that calls candidates with it.

A handle is the name of a shared file, or the place of a worker's own memory; opening the latter copies it, and closing
copies it back.
"""

import ctypes
import mmap
import os
from collections.abc import Callable
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import Any

import torch  # noqa: TID253

from eval.worker.adapters.gpu import EventClock, GpuCandidate, Recording
from eval.worker.channel import Message
from eval.worker.gpu_driver import HANDLE_BYTES, DriverError, Exported

MOST_COPIED = 1 << 20
SHARED = "/dev/shm/kb-test-"


class FakeDriver:
    device = "cpu"

    def __init__(self) -> None:
        self.mapped: dict[int, tuple[Any, int]] = {}
        """By its start, each opened or own allocation with its size."""
        self.files: dict[int, str] = {}
        self.numbers = count()
        self.copied: dict[int, tuple[int, int]] = {}
        """By its start here, the process and the start there of copied memory."""

    def allocate(self, size: int) -> int:
        path = f"{SHARED}{os.getpid()}-{id(self)}-{next(self.numbers)}"
        Path(path).write_bytes(bytes(size or 1))
        start = self._map(path)
        self.files[start] = path
        return start

    def free(self, start: int) -> None:
        Path(self.files.pop(start)).unlink()

    def range_of(self, pointer: int) -> tuple[int, int]:
        for start, (_, size) in self.mapped.items():
            if start <= pointer < start + size:
                return start, size
        raise DriverError("no allocation")

    def export(self, pointer: int) -> Exported:
        if pointer in self.files:
            return Exported(_hex(self.files[pointer]), 0)
        start = pointer - pointer % 4096
        return Exported(_hex(f"{os.getpid()}:{start}:{_room(pointer) + pointer - start}"), pointer - start)

    def open(self, handle: str) -> int:
        name = bytes.fromhex(handle).rstrip(b"\0").decode()
        if name.startswith(SHARED) and Path(name).exists():
            return self._map(name)
        if name.count(":") != 2:
            raise DriverError("no such handle")
        pid, there, size = map(int, name.split(":"))
        buffer = ctypes.create_string_buffer(size)
        start = ctypes.addressof(buffer)
        self.mapped[start], self.copied[start] = (buffer, size), (pid, there)
        self._transfer("process_vm_readv", start)
        return start

    def close(self, start: int) -> None:
        self._transfer("process_vm_writev", start)
        del self.mapped[start], self.copied[start]

    def synchronize(self) -> None:
        pass

    def l2_bytes(self) -> int:
        return 1 << 16

    def total_bytes(self) -> int:
        return 1 << 30

    def bytes_at(self, pointer: int, size: int) -> torch.Tensor:
        return torch.frombuffer((ctypes.c_char * size).from_address(pointer), dtype=torch.uint8)

    def _map(self, path: str) -> int:
        with Path(path).open("r+b") as file:
            pages = mmap.mmap(file.fileno(), 0)
        start = ctypes.addressof(ctypes.c_char.from_buffer(pages))
        self.mapped[start] = (pages, len(pages))
        return start

    def _transfer(self, call: str, start: int) -> None:
        (pid, there), size = self.copied[start], self.mapped[start][1]

        class Span(ctypes.Structure):
            _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))

        here, remote = Span(start, size), Span(there, size)
        if getattr(ctypes.CDLL(None), call)(pid, ctypes.byref(here), 1, ctypes.byref(remote), 1, 0) != size:
            raise DriverError("cannot reach it")


class HostClock(EventClock):
    def __init__(self) -> None:
        self.use_stream = lambda: None

    def time(self, run: Callable[[], None], *, everywhere: bool) -> float:
        start = perf_counter()
        run()
        return perf_counter() - start


class FakeGpuCandidate(GpuCandidate):
    def __init__(self, folder: Path, memory: int, question: Message, driver: FakeDriver | None = None) -> None:
        super().__init__(folder, memory, question, driver or FakeDriver())  # type: ignore[arg-type]

    def _new_clock(self) -> EventClock:
        return HostClock()

    def _recorded(self, number: int) -> Recording:
        raise RuntimeError("this is no GPU")


load = FakeGpuCandidate


def warm() -> None:
    """Nothing: torch is there."""


def _hex(name: str) -> str:
    return name.encode().ljust(HANDLE_BYTES, b"\0").hex()


def _room(pointer: int) -> int:
    """Bytes from an address to the end of its mapping and of those that follow without a gap, at most MOST_COPIED.

    What a forked process adds to its heap is a mapping of its own.
    """
    last = None
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        start, end = (int(edge, 16) for edge in line.split()[0].split("-"))
        if start <= pointer < end or start == last:
            last = end
    if last is None:
        raise DriverError("no such address")
    return min(last - pointer, MOST_COPIED)

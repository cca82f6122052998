"""The calls of a GPU's driver that torch lacks, which share memory between processes.

The same code serves CUDA and HIP, whose functions have the same arguments; HIP was not tried on hardware. Sources: CUDA
Driver API, "Memory Management" and "Context Management"; HIP Runtime API, "Memory Management". Both sides use this.
"""

import ctypes
import os
from typing import Any, NamedTuple

SHARE = "KB_GPU_SHARE"
"""The variable with the share of the GPU's memory that a judge may use, from 0 to 1 (default: all)."""
HANDLE_BYTES = 64
"""CU_IPC_HANDLE_SIZE and HIP_IPC_HANDLE_SIZE."""
LAZY_PEER_ACCESS = 1
GRANULE = 2 << 20
"""Allocations smaller than this share a block with others, and whoever opens one sees the whole block."""
LIBRARIES = {"cuda": "libcuda.so.1", "hip": "libamdhip64.so"}
FUNCTIONS = {
    "cuda": ("cuMemAlloc_v2", "cuMemFree_v2", "cuMemGetAddressRange_v2", "cuIpcGetMemHandle", "cuIpcOpenMemHandle_v2",
             "cuIpcCloseMemHandle"),
    "hip": ("hipMalloc", "hipFree", "hipMemGetAddressRange", "hipIpcGetMemHandle", "hipIpcOpenMemHandle",
            "hipIpcCloseMemHandle"),
}  # fmt: skip


class DriverError(ValueError):
    """The driver refused a call, for example to open a handle that no process made."""


class Exported(NamedTuple):
    """An address in this process as other processes may name it."""

    handle: str
    """The handle of its whole allocation, in hexadecimal."""
    offset: int
    """Bytes from the start of the allocation."""


class _Handle(ctypes.Structure):
    _fields_ = (("reserved", ctypes.c_ubyte * HANDLE_BYTES),)


class Driver:
    """The driver of `backend`, used in the context that is current in this thread when it is constructed.

    Raises:
        OSError: there is no such driver.
    """

    device = "cuda"
    """Its name in torch, which is the same for HIP."""

    def __init__(self, backend: str) -> None:
        self._library = ctypes.CDLL(LIBRARIES[backend])
        names = ("allocate", "free", "range", "export", "open", "close")
        self._names = dict(zip(names, FUNCTIONS[backend], strict=True))
        self._context = ctypes.c_void_p()
        self._is_cuda = backend == "cuda"
        if self._is_cuda:
            self._check("cuCtxGetCurrent", self._library.cuCtxGetCurrent(ctypes.byref(self._context)))

    def allocate(self, size: int) -> int:
        """A new allocation that shares its block with no other."""
        pointer = ctypes.c_void_p()
        self._call("allocate", ctypes.byref(pointer), ctypes.c_size_t(max(1, -(-size // GRANULE)) * GRANULE))
        return pointer.value or 0

    def free(self, pointer: int) -> None:
        self._call("free", ctypes.c_void_p(pointer))

    def range_of(self, pointer: int) -> tuple[int, int]:
        """Start and size in bytes of the allocation that contains an address."""
        start, size = ctypes.c_void_p(), ctypes.c_size_t()
        self._call("range", ctypes.byref(start), ctypes.byref(size), ctypes.c_void_p(pointer))
        return start.value or 0, size.value

    def export(self, pointer: int) -> Exported:
        start, _ = self.range_of(pointer)
        handle = _Handle()
        self._call("export", ctypes.byref(handle), ctypes.c_void_p(start))
        return Exported(bytes(handle.reserved).hex(), pointer - start)

    def open(self, handle: str) -> int:
        """Map another process's allocation; return its start here. The same handle gives the same address."""
        pointer = ctypes.c_void_p()
        opened = _Handle.from_buffer_copy(bytes.fromhex(handle))
        self._call("open", ctypes.byref(pointer), opened, ctypes.c_uint(LAZY_PEER_ACCESS))
        return pointer.value or 0

    def close(self, pointer: int) -> None:
        self._call("close", ctypes.c_void_p(pointer))

    def synchronize(self) -> None:
        """Wait until all work of this process is done."""
        import torch

        torch.cuda.synchronize()

    def l2_bytes(self) -> int:
        import torch

        return int(torch.cuda.get_device_properties(0).L2_cache_size)

    def total_bytes(self) -> int:
        """What a judge may use: the GPU's memory, or its SHARE."""
        import torch

        return int(float(os.environ.get(SHARE, 1)) * torch.cuda.get_device_properties(0).total_memory)

    def bytes_at(self, pointer: int, size: int) -> Any:
        """The bytes at an address as a tensor, which does not own them."""
        import torch

        return torch.as_tensor(_Bytes(pointer, size), device="cuda")

    def _call(self, what: str, *arguments: Any) -> None:
        if self._is_cuda:  # another thread has none
            self._check("cuCtxSetCurrent", self._library.cuCtxSetCurrent(self._context))
        name = self._names[what]
        self._check(name, self._library[name](*arguments))

    @staticmethod
    def _check(name: str, code: int) -> None:
        if code:
            raise DriverError(f"{name} failed with error {code}")


class _Bytes:
    """Describes device memory to torch, by the interface that Numba's documentation defines (version 3)."""

    def __init__(self, pointer: int, size: int) -> None:
        self.__cuda_array_interface__ = {"shape": (size,), "typestr": "|u1", "data": (pointer, False), "version": 3}


def installed_driver() -> Driver:
    """The driver of the GPU that torch uses, with torch's context current."""
    import torch

    torch.zeros(1, device="cuda")  # makes the context current in this thread
    return Driver("hip" if torch.version.hip else "cuda")

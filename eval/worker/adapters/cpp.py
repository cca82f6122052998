"""The worker's adapter for `cpp`: loads a compiled candidate and calls it. It does not import torch, so it starts fast.

State and outputs are allocated with `posix_memalign`, as torch's CPU tensors are, so that a candidate and its baseline
differ only in their code.
"""

import ctypes
import math
import mmap
from ctypes import string_at
from pathlib import Path
from time import perf_counter
from typing import Any

from eval.worker.channel import ALL, Message
from eval.worker.fault import Fault
from eval.worker.mapping import end_of, shared_pages, size_bytes

FLAGS = ("-std=c++17", "-O3", "-march=native", "-fopenmp", "-shared", "-fPIC")
LIBRARY = "candidate.so"
ALIGNMENT = 64

_KEPT: list[mmap.mmap] = []
"""Mapped memory, kept for the worker's whole life because it must outlive every pointer into it."""


class Tensor(ctypes.Structure):
    """The struct of kb_tensor.h."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("ndim", ctypes.c_int64),
        ("count", ctypes.c_int64),
    )


class CppCandidate:
    """A candidate, loaded on construction. See `eval.worker.worker.BuiltCandidate`."""

    def __init__(self, folder: Path, memory: int, question: Message) -> None:
        self._memory = memory
        library = ctypes.CDLL(str(folder / LIBRARY))
        if not hasattr(library, "model_new"):
            raise Fault("compile_error", 'it does not define model_new; declare it through kb_tensor.h, extern "C"')
        self._call = library.model_new
        self._call.restype = None
        self._libc = ctypes.CDLL(None)
        self._init = (ctypes.c_double * max(1, len(question["init"])))(*question["init"])
        mapped = _mapped(memory, question["state"])
        self._state = array_of(
            [self._copied(tensor, spec) for tensor, spec in zip(mapped, question["state"], strict=True)]
        )
        if hasattr(library, "load_reference"):
            library.load_reference.restype = None
            library.load_reference(self._state, self._init)
        self._specs: list[Message] = question["outputs"]
        self._inputs: list[Any] = []
        self._outputs: list[Tensor] = []
        self._calls: list[tuple[Any, ...]] = []

    def map_inputs(self, sets: list[list[Message]]) -> None:
        mapped = _mapped(self._memory, [spec for inputs in sets for spec in inputs])
        per_set = len(sets[0])
        self._inputs = [array_of(mapped[i * per_set : (i + 1) * per_set]) for i in range(len(sets))]

    def ready(self, number: int) -> None:
        self.forget_outputs()
        self._calls = []
        for inputs in self._inputs if number == ALL else [self._inputs[number]]:
            fresh = [self._allocated(spec) for spec in self._specs]
            self._outputs += fresh
            self._calls.append((inputs, self._state, self._init, array_of(fresh)))

    def call(self, number: int) -> float:
        start = perf_counter()
        for arguments in self._calls:
            self._call(*arguments)
        return perf_counter() - start

    def places(self) -> list[int]:
        return [tensor.data for tensor in self._outputs]

    def layouts(self) -> list[Message]:
        return row_major(self._specs)

    def forget_outputs(self) -> None:
        for tensor in self._outputs:
            self._libc.free(ctypes.c_void_p(tensor.data))
        self._outputs = []

    def changed(self, state: list[Message]) -> list[str]:
        pairs = zip(self._state, _mapped(self._memory, state), state, strict=False)
        return [spec["name"] for *both, spec in pairs if len({string_at(t.data, size_bytes(spec)) for t in both}) > 1]

    def _allocated(self, spec: Message) -> Tensor:
        pointer = ctypes.c_void_p()
        if self._libc.posix_memalign(ctypes.byref(pointer), ALIGNMENT, max(1, size_bytes(spec))):
            raise MemoryError(spec["shape"])
        return tensor_at(pointer.value or 0, spec["shape"])

    def _copied(self, tensor: Tensor, spec: Message) -> Tensor:
        copy = self._allocated(spec)
        ctypes.memmove(copy.data, tensor.data, size_bytes(spec))
        return copy


load = CppCandidate


def _mapped(memory: int, specs: list[Message]) -> list[Tensor]:
    """Tensors in the memory of a handle; each spec has its `offset` there."""
    pages = shared_pages(memory, end_of(specs))
    _KEPT.append(pages)
    start = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    return [tensor_at(start + spec["offset"], spec["shape"]) for spec in specs]


def tensor_at(pointer: int, shape: list[int]) -> Tensor:
    return Tensor(pointer, (ctypes.c_int64 * max(1, len(shape)))(*shape), len(shape), math.prod(shape))


def array_of(tensors: list[Tensor]) -> Any:
    return (Tensor * max(1, len(tensors)))(*tensors)


def row_major(specs: list[Message]) -> list[Message]:
    """The specs with the strides of contiguous tensors, in elements."""
    return [{**s, "stride": [math.prod(s["shape"][i + 1 :]) for i in range(len(s["shape"]))]} for s in specs]

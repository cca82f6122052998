"""The judge shares memory with a worker and reads the worker's memory, without trusting what the worker reports."""

import ctypes
import mmap
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch  # noqa: TID253 - what is tested computes with it
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from eval.supervisor.memory import (
    ALIGNMENT,
    WITHHELD,
    HostMemory,
    RemoteTensor,
    SharedTensors,
    clear_gaps,
    fill_with_garbage,
    map_in,
    same_bits,
)
from eval.supervisor.shared_pages import new_memory
from eval.worker.adapters.python import mapped
from eval.worker.mapping import with_guard
from kb.errors import JudgeError
from tests.eval.judging import needs_linux

pytestmark = needs_linux

MEMORY = HostMemory()

HOLDER = """
import ctypes, mmap, sys
values = (ctypes.c_float * 24)(*range(24))
shared = mmap.mmap(int(sys.argv[1]), 4096)
place = ctypes.addressof(ctypes.c_char.from_buffer(shared))
print(ctypes.addressof(values), place, flush=True)
sys.stdin.read()
"""


def test_memory_of_a_fixed_size_can_neither_grow_nor_shrink() -> None:
    memory = new_memory(4096)
    try:
        for size in (0, 8192):
            with pytest.raises(PermissionError):
                os.ftruncate(memory, size)
        with pytest.raises(PermissionError):
            os.posix_fallocate(memory, 0, 8192)
    finally:
        os.close(memory)


@dataclass(frozen=True)
class Holder:
    """A process with an array 0, 1, ... 23 of float32 and a mapping of memory shared with it."""

    process: subprocess.Popen[str]
    memory: int
    pointer: int
    shared: int

    @property
    def pid(self) -> int:
        return self.process.pid


@pytest.fixture(scope="module")
def holder() -> Iterator[Holder]:
    memory = new_memory()
    os.ftruncate(memory, 4096)
    process = subprocess.Popen(
        [sys.executable, "-I", "-c", HOLDER, str(memory)], pass_fds=[memory], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout
    pointer, shared = map(int, process.stdout.readline().split())
    found = Holder(process, memory, pointer, shared)
    try:
        MEMORY.read(found, remote(pointer, (1,)))
    except JudgeError:
        process.kill()
        pytest.skip("this system forbids a process from reading its children's memory")
    yield found
    process.kill()
    process.communicate()
    os.close(memory)


def remote(
    pointer: int, shape: tuple[int, ...], stride: tuple[int, ...] | None = None, dtype: str = "float32"
) -> RemoteTensor:
    stride = torch.empty(shape, device="meta").stride() if stride is None else stride
    return RemoteTensor(dtype=dtype, shape=shape, stride=stride, pointer=pointer)


PLACES = {
    "in a row": ((24,), (1,)),
    "a matrix": ((4, 6), (6, 1)),
    "transposed": ((6, 4), (1, 6)),
    "every other column": ((4, 3), (6, 2)),
    "one row many times": ((4, 6), (0, 1)),
    "without dimensions": ((), ()),
    "without elements": ((0, 3), (3, 1)),
}


@pytest.mark.parametrize(("shape", "stride"), PLACES.values(), ids=PLACES)
def test_a_tensor_of_another_process_is_read_with_its_layout(
    holder: Holder, shape: tuple[int, ...], stride: tuple[int, ...]
) -> None:
    found = MEMORY.read(holder, remote(holder.pointer, shape, stride))

    assert torch.equal(found, torch.arange(24, dtype=torch.float32).as_strided(shape, stride))


@pytest.mark.parametrize(("shape", "stride"), PLACES.values(), ids=PLACES)
def test_overwriting_a_tensor_changes_its_elements_and_nothing_else(
    holder: Holder, shape: tuple[int, ...], stride: tuple[int, ...]
) -> None:
    expected = torch.arange(24, dtype=torch.float32)
    expected.as_strided(shape, stride).fill_(float("nan"))
    everything = remote(holder.pointer, (24,))

    MEMORY.overwrite(holder, remote(holder.pointer, shape, stride))

    found = MEMORY.read(holder, everything)
    write_tensor(holder, torch.arange(24, dtype=torch.float32))
    assert torch.equal(found.isnan(), expected.isnan())
    assert torch.equal(found.nan_to_num(), expected.nan_to_num())


@pytest.mark.parametrize("dtype", [torch.bool, torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_what_overwrites_an_output_is_never_a_right_value_if_the_type_has_wrong_ones(dtype: "torch.dtype") -> None:
    flat = torch.zeros(24, dtype=dtype)

    fill_with_garbage(flat, remote(0, (24,), dtype=str(dtype).removeprefix("torch.")))

    wrong = flat.view(torch.uint8) > 1 if dtype is torch.bool else flat.isnan()
    assert bool(wrong.all())


def write_tensor(holder: Holder, values: "torch.Tensor") -> None:
    with Path(f"/proc/{holder.pid}/mem").open("r+b", buffering=0) as file:
        file.seek(holder.pointer)
        file.write(values.numpy().tobytes())


INVALID = {
    "nowhere": (8, (4,), None, "float32"),
    "at nothing": (0, (4,), None, "float32"),
    "beyond all addresses": ((1 << 63) - 64, (4,), None, "float32"),
    "not a dtype": (None, (4,), None, "Tensor"),
    "an empty dtype": (None, (4,), None, ""),
    "a function of torch": (None, (4,), None, "load"),
    "fewer strides than sizes": (None, (4, 4), (1,), "float32"),
    "more strides than sizes": (None, (4,), (4, 1), "float32"),
    "stretched": (None, (4, 4), (1 << 40, 1), "float32"),
}


@pytest.mark.parametrize("access", [MEMORY.read, MEMORY.overwrite])
@pytest.mark.parametrize(("pointer", "shape", "stride", "dtype"), INVALID.values(), ids=INVALID)
def test_an_invalid_address_or_layout_is_an_error(
    holder: Holder,
    pointer: int | None,
    shape: tuple[int, ...],
    stride: tuple[int, ...] | None,
    dtype: str,
    access: Callable[[Holder, RemoteTensor], object],
) -> None:
    with pytest.raises(ValueError, match=r".+"):
        access(holder, remote(holder.pointer if pointer is None else pointer, shape, stride, dtype))


@pytest.mark.parametrize(
    "said",
    [{"dtype": 7}, {"shape": [-1]}, {"shape": "4"}, {"shape": [4], "stride": [-1]}, {"more": 1}, {"pointer": -1},
     {"pointer": 1 << 63}, {"pointer": None},
     {"shape": [1 << 63]}, {"shape": [1], "stride": [1 << 63]}],
)  # fmt: skip
def test_a_malformed_description_of_an_output_is_refused(said: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        RemoteTensor.model_validate({"dtype": "float32", "pointer": 64} | said)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, (1 << 63) - 1),
    st.sampled_from(["float32", "int64", "bool", "bfloat16", "Tensor", "x"]),
    st.lists(st.integers(0, 9), max_size=4),
    st.lists(st.integers(0, 9) | st.integers(0, (1 << 48) - 1), max_size=4),
)
def test_an_arbitrary_address_and_layout_cannot_harm_the_judge(
    holder: Holder, pointer: int, dtype: str, shape: list[int], stride: list[int]
) -> None:
    """Only small shapes are tried: others are refused before anything is read."""
    said = RemoteTensor(dtype=dtype, shape=tuple(shape), stride=tuple(stride), pointer=pointer)

    try:
        tensor = MEMORY.read(holder, said)
    except ValueError:
        return
    assert tuple(tensor.shape) == said.shape


def test_reading_from_a_process_that_has_ended_is_an_error() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()

    with pytest.raises(ProcessLookupError):
        MEMORY.read(process, remote(4096, (1,)))


def test_an_address_in_shared_memory_is_distinguished_from_one_beside_it(holder: Holder) -> None:
    assert MEMORY.lies_in_inputs(holder, remote(holder.shared, (1,)))
    assert MEMORY.lies_in_inputs(holder, remote(holder.shared + 4092, (1,)))
    assert MEMORY.lies_in_inputs(holder, remote(holder.shared - 4, (2,))), "half of the range"
    assert not MEMORY.lies_in_inputs(holder, remote(holder.shared - 4, (1,)))
    assert not MEMORY.lies_in_inputs(holder, remote(holder.shared + 4096, (1,)))
    assert not MEMORY.lies_in_inputs(holder, remote(holder.pointer, (24,)))


@pytest.fixture
def memory() -> Iterator[int]:
    handle = new_memory()
    yield handle
    os.close(handle)


def test_shared_sets_can_be_mapped_by_another_process(memory: int) -> None:
    sets = [[torch.randn(3, 5), 2.5, torch.arange(7)], [torch.randn(3, 5), 2.5, torch.arange(7) + 1]]

    shared = SharedTensors(sets, map_in(memory))

    assert shared.specs[0][1] == {"value": 2.5}
    assert all(spec["offset"] % ALIGNMENT == 0 for specs in shared.specs for spec in specs if "offset" in spec)
    for specs, arguments in zip(shared.specs, sets, strict=True):
        first, last = mapped(memory, [spec for spec in specs if "offset" in spec])
        assert torch.equal(first, arguments[0])
        assert torch.equal(last, arguments[2])


def test_each_side_sees_what_the_other_writes(memory: int) -> None:
    given = [torch.zeros(4)]
    shared = SharedTensors([given], map_in(memory))
    [in_worker] = mapped(memory, shared.specs[0])

    assert shared.unchanged(0, given)
    shared.write(0, [torch.ones(4)])
    assert torch.equal(in_worker, torch.ones(4))
    in_worker[2] = 5
    assert not shared.unchanged(0, [torch.ones(4)])


@pytest.mark.parametrize("value", [0.0, float("nan")])
def test_unchanged_compares_bits(memory: int, value: float) -> None:
    given = [torch.full((4,), value)]
    shared = SharedTensors([given], map_in(memory))

    assert shared.unchanged(0, given)
    shared.write(0, [-given[0]])
    assert not shared.unchanged(0, given)


@pytest.mark.parametrize("sets", [[[]], [[torch.empty(0)]], [[torch.tensor(1.0)]], [[torch.ones(4, 4).t()[::2]]]])
def test_sets_of_any_tensors_can_be_shared(memory: int, sets: list[list[object]]) -> None:
    assert SharedTensors(sets, map_in(memory)).unchanged(0, sets[0])


@given(st.integers(0, 200), st.integers(0, 2**32))
def test_one_run_of_each_withheld_tensor_is_another_s_until_the_rest_is_written(size: int, seed: int) -> None:
    handle = new_memory()
    values = [torch.randn(size, generator=torch.Generator().manual_seed(seed)), torch.randn(3, 7).t(), 2.5]
    shared = SharedTensors([[torch.zeros(size), torch.zeros(7, 3), 2.5]], map_in(handle))

    write_rest = shared.withhold(0, values)

    for page, value in zip(shared.sets[0][:2], values, strict=False):
        other = (page.reshape(-1) != value.reshape(-1)).nonzero().flatten().tolist()
        assert not other or other[-1] - other[0] < -(-value.numel() // WITHHELD)
        assert set(page.flatten().tolist()) <= set(value.flatten().tolist())
    write_rest()
    assert shared.unchanged(0, values)
    os.close(handle)


def test_nothing_stays_in_the_gaps_between_tensors() -> None:
    handle = new_memory(with_guard(1000))
    size = os.fstat(handle).st_size
    os.pwrite(handle, b"x" * size, 0)
    shared = SharedTensors([[torch.ones(3), 2.5], [torch.ones(3), 2.5]], map_in(handle), 64)

    clear_gaps(handle, [spec for specs in shared.specs for spec in specs])

    assert size % mmap.PAGESIZE == 0
    ones = torch.ones(3).numpy().tobytes()
    assert os.pread(handle, size, 0) == (bytes(64) + ones + bytes(52) + ones).ljust(size, b"\0")
    os.close(handle)


def test_shared_memory_cannot_be_shrunk(memory: int) -> None:
    SharedTensors([[torch.ones(5000)]], map_in(memory))

    for size in (0, 4096):
        with pytest.raises(PermissionError):
            os.ftruncate(memory, size)


def test_shared_memory_that_was_enlarged_still_works(memory: int) -> None:
    os.ftruncate(memory, 1 << 50)

    assert SharedTensors([[torch.ones(8)]], map_in(memory)).unchanged(0, [torch.ones(8)])


BITS = [
    (torch.tensor(1.0), torch.tensor(1.0), True),
    (torch.tensor(0.0), torch.tensor(-0.0), False),
    (torch.tensor([float("nan")]), torch.tensor([float("nan")]), True),
    (torch.ones(4, 4).t(), torch.ones(4, 4), True),
    (torch.ones(8)[::2], torch.ones(4), True),
    (torch.empty(0), torch.empty(0), True),
    (torch.tensor([True]), torch.tensor([False]), False),
    (torch.zeros(16), torch.tensor([0.0] * 15 + [-0.0]), False),
    (torch.zeros(17), torch.tensor([0.0] * 16 + [-0.0]), False),
    (torch.zeros(9)[1:], torch.tensor([0.0] * 8 + [-0.0])[1:], False),
    (torch.zeros(9)[1:], torch.zeros(8), True),
]


@pytest.mark.parametrize(("a", "b", "same"), BITS)
def test_bits_are_compared_whatever_the_layout_of_the_tensors(a: "torch.Tensor", b: "torch.Tensor", same: bool) -> None:
    assert same_bits(a, b) is same


def test_shared_memory_is_only_as_large_as_its_contents_need(memory: int) -> None:
    SharedTensors([[torch.ones(3)]], map_in(memory))

    assert ctypes.sizeof(ctypes.c_float) * 3 <= os.fstat(memory).st_size <= with_guard(mmap.PAGESIZE)

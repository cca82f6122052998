"""Runs programs of an unseen chip in tests."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.unseen.builder import Builder, Shape
from benchmarks.unseen.chip import Chip
from benchmarks.unseen.host import Result, simulate
from benchmarks.unseen.instructions import Op
from benchmarks.unseen.schedule import Stream, described, resident
from benchmarks.unseen.toolchain import task_file
from eval.oracle.reference import Reference
from eval.oracle.task import load_task


def text(chip: Chip, *lines: tuple) -> str:
    """A program of operations, each with its operands as they are written."""
    return "\n".join(f"{chip.instructions[op].name} {', '.join(map(str, operands))}" for op, *operands in lines)


@functools.cache
def _case(task: str) -> tuple[list[Any], tuple[float, ...], list[Any]]:
    """Inputs and parameters of a task at its own sizes, the numbers given to the model, and the expected outputs."""
    reference = Reference(load_task(task_file(task)), seed=0)
    inputs = reference.inputs(0)
    tensors = [tensor.numpy() for tensor in (*inputs, *reference.state.values())]
    return tensors, reference.numbers, [output.numpy() for output in reference.native(inputs)]


def run_task(chip: Chip, task: str, program: str) -> tuple[bool, int]:
    """Whether a program is right for a task at its own sizes, and its cycles."""
    tensors, init, (expected,) = _case(task)
    (output,), cycles = simulate(chip, program, tensors, init, [(expected.shape, expected.dtype.name)])
    allowed = 2e-3 if expected.dtype == np.float16 else 1e-4
    return bool(np.allclose(output, expected, rtol=allowed, atol=allowed)), cycles


def run_vectors(
    chip: Chip, emit: Callable[[Builder, str, Sequence[str]], None], *inputs: Sequence[float], active: int | None = None
) -> Any:
    """The first of the inputs, all of one vector, after `emit` has changed it; the others are in further registers."""
    lanes = chip.vectors.lanes
    b = Builder(chip, Shape((1,) * len(inputs), (1,)))
    count, one = b.size(0, 0), b.number(1)
    registers = b.vectors(len(inputs))
    for number, register in enumerate(registers):
        address = b.number(resident(b, Stream(number, count), one, lanes)[0])
        b.emit(Op.LOAD, register, address, 1)
    b.emit(Op.LENGTH, lanes if active is None else active)
    emit(b, registers[0], registers[1:])
    b.emit(Op.LENGTH, lanes)
    put(b, len(inputs), registers[0], count)
    return simulate(chip, b.text(), [np.array(values, np.float32) for values in inputs], [], [((lanes,), "float32")])[
        0
    ][0]


def put(b: Builder, output: int, register: str, count: str) -> None:
    """Write a vector to an output of one row."""
    block = described(b, Stream(output, count))
    b.emit(Op.SET, block["near"], b.memory(b.chip.vectors.lanes))
    b.emit(Op.SET, block["rows"], 1)
    b.emit(Op.STORE, register, block["near"], 1)
    b.transfer(Op.PUT, block, 0)


def run_lines(chip: Chip, *lines: tuple) -> Result:
    """Run operations on one input and one output of 64 float32."""
    return simulate(chip, text(chip, *lines), [np.zeros(64, np.float32)], [], [((64,), "float32")])


def shapes_of(task: str) -> tuple[list[tuple[int, ...]], tuple[int, ...], int]:
    """Shapes of a task's inputs and parameters, that of its output, and the bytes of its smallest element."""
    tensors, _, (expected,) = _case(task)
    return [tensor.shape for tensor in tensors], expected.shape, expected.itemsize

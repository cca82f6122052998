"""Reads a program in a chip's assembly language.

A line holds a label with a colon, or an instruction's name and its operands with commas between them. A semicolon
begins a comment. A register is its kind's letter and a number from 0; numbers are decimal, or hexadecimal after 0x.
"""

import re
import struct
from collections.abc import Iterator
from typing import NamedTuple

from benchmarks.unseen.chip import Chip
from benchmarks.unseen.faults import Fault, FaultKind
from benchmarks.unseen.instructions import Op, Operand

LABEL = re.compile(r"([A-Za-z_]\w*):")
INTEGER = re.compile(r"[+-]?(0[xX][0-9a-fA-F]+|\d+)")
FLOAT = re.compile(r"[+-]?((\d+\.\d*|\.\d+)([eE][+-]?\d+)?|\d+[eE][+-]?\d+)")


class Step(NamedTuple):
    """An instruction that is ready to be executed."""

    op: Op
    operands: tuple[int, ...]
    """Numbers of registers, of steps for labels, and numbers as they are; for `Operand.VALUE` the number of a scalar
    register, or that of a constant, counted from the last scalar register on."""
    line: int


class Program(NamedTuple):
    steps: tuple[Step, ...]
    constants: tuple[int, ...]


def assemble(chip: Chip, text: str) -> Program:
    """The program in a text. Raises Fault if it is none."""
    return _Assembler(chip, text).program()


class _Assembler:
    def __init__(self, chip: Chip, text: str) -> None:
        self._chip = chip
        self._ops = {instruction.name: op for op, instruction in chip.instructions.items()}
        self._constants: dict[int, int] = {}
        self._labels: dict[str, int] = {}
        self._lines: list[tuple[int, str]] = []
        for number, line in _lines(text):
            if label := LABEL.fullmatch(line):
                if label[1] in self._labels:
                    raise Fault(FaultKind.BAD_OPERAND, f"the label {label[1]} is there twice", number)
                self._labels[label[1]] = len(self._lines)
            else:
                self._lines.append((number, line))

    def program(self) -> Program:
        steps = tuple(self._step(number, line) for number, line in self._lines)
        return Program(steps, tuple(self._constants))

    def _step(self, number: int, line: str) -> Step:
        name, _, rest = line.partition(" ")
        if name not in self._ops:
            raise Fault(FaultKind.UNKNOWN_INSTRUCTION, name, number)
        instruction = self._chip.instructions[self._ops[name]]
        texts = [text.strip() for text in rest.split(",")] if rest.strip() else []
        if len(texts) != len(instruction.operands):
            detail = f"{name} has {len(texts)} operands, not {len(instruction.operands)}"
            raise Fault(FaultKind.BAD_OPERAND, detail, number)
        try:
            operands = tuple(map(self._operand, instruction.operands, texts))
        except Fault as fault:
            raise Fault(fault.kind, f"{name}: {fault.detail}", number) from None
        return Step(instruction.op, operands, number)

    def _operand(self, kind: Operand, text: str) -> int:
        names, registers = self._chip.names, self._chip.registers
        match kind:
            case Operand.NUMBER:
                return _number(text)
            case Operand.LABEL:
                if text not in self._labels:
                    raise Fault(FaultKind.BAD_OPERAND, f"there is no label {text}")
                return self._labels[text]
            case Operand.VECTOR:
                return _register(text, names.vector_prefix, registers.vector)
            case Operand.ACCUMULATOR:
                return _register(text, names.accumulator_prefix, registers.accumulators)
            case Operand.TRANSFER:
                return _register(text, names.scalar_prefix, registers.scalar, len(self._chip.transfers.order))
            case Operand.PRODUCT:
                return _register(text, names.scalar_prefix, registers.scalar, len(self._chip.matrix.order))
            case Operand.VALUE if not text.startswith(names.scalar_prefix):
                value = _number(text)
                return registers.scalar + self._constants.setdefault(value, len(self._constants))
            case _:
                return _register(text, names.scalar_prefix, registers.scalar)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines that hold something, with their numbers from 1."""
    for number, line in enumerate(text.splitlines(), 1):
        if found := " ".join(line.partition(";")[0].split()):
            yield number, found


def _number(text: str) -> int:
    """The 32 bits of a number, as a signed integer."""
    if FLOAT.fullmatch(text):
        return int(struct.unpack("<i", struct.pack("<f", float(text)))[0])
    if not INTEGER.fullmatch(text):
        raise Fault(FaultKind.BAD_OPERAND, f"{text!r} is no number")
    return wrapped(int(text, 0 if "x" in text.lower() else 10))


def _register(text: str, prefix: str, count: int, consecutive: int = 1) -> int:
    if not re.fullmatch(re.escape(prefix) + r"\d+", text):
        raise Fault(FaultKind.BAD_OPERAND, f"{text!r} is no register {prefix}0 to {prefix}{count - 1}")
    if int(text[1:]) + consecutive > count:
        last = f"{prefix}{int(text[1:]) + consecutive - 1}"
        raise Fault(FaultKind.REGISTER_RANGE, f"there is no {last}; the last is {prefix}{count - 1}")
    return int(text[1:])


def wrapped(number: int) -> int:
    """A number as a signed integer of 32 bits."""
    return (number + 0x80000000 & 0xFFFFFFFF) - 0x80000000

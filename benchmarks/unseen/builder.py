"""Writes programs for an unseen chip, whatever it is: registers, loops, transfers, and guards against hazards.

Operations are given by what they do; the chip's names, orders of registers and rules are filled in here.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from benchmarks.unseen.chip import Chip, HazardKind
from benchmarks.unseen.guard import Line, guarded
from benchmarks.unseen.host import Places, argument_places
from benchmarks.unseen.instructions import Op

Value = str | int | float
"""A register or a number."""


class Shape(NamedTuple):
    """The numbers of dimensions of a task's tensors."""

    given: tuple[int, ...]
    outputs: tuple[int, ...]


class Builder:
    def __init__(self, chip: Chip, shape: Shape) -> None:
        self.chip = chip
        self.lines: list[Line] = []
        self.places: Places = argument_places(chip, shape.given, shape.outputs)
        self._free = {
            chip.names.scalar_prefix: list(range(chip.registers.scalar)),
            chip.names.vector_prefix: list(range(chip.registers.vector)),
        }
        self._labels = 0
        self._words = 0
        self.zero = self.number(0)

    def text(self, ignoring: Iterable[HazardKind] = ()) -> str:
        """The program, with fences and idle cycles for all hazards but some."""
        return "\n".join(str(line) for line in guarded(self.chip, self.lines, ignoring)) + "\n"

    # Registers and memory

    def scalar(self) -> str:
        return self._register(self.chip.names.scalar_prefix)

    def vector(self) -> str:
        return self._register(self.chip.names.vector_prefix)

    def vectors(self, count: int) -> list[str]:
        return [self.vector() for _ in range(count)]

    def accumulator(self, number: int) -> str:
        return f"{self.chip.names.accumulator_prefix}{number}"

    def _register(self, prefix: str) -> str:
        return f"{prefix}{self._free[prefix].pop(0)}"

    def block(self, order: Sequence[str]) -> dict[str, str]:
        """Consecutive scalar registers for the fields of a transfer or a product, by name."""
        return {name: self.scalar() for name in order}

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Registers taken within are free again afterwards."""
        before = {prefix: list(free) for prefix, free in self._free.items()}
        yield
        self._free = before

    def memory(self, words: int) -> int:
        """The address of so many words of the scratchpad, or a few more, where a transfer may begin."""
        line, address = self.chip.scratchpad.line_words, self._words
        self._words += -(-words // line) * line
        if self._words > self.chip.scratchpad.words:
            raise ValueError(f"{self._words} words do not fit into the scratchpad")
        return address

    @property
    def free_words(self) -> int:
        return self.chip.scratchpad.words - self._words

    # Instructions

    def emit(self, op: Op, *operands: Value, region: str = "") -> None:
        """Add an instruction.

        Args:
            region: A name for the part of the scratchpad that it touches. Those with other names do not overlap.
        """
        self.lines.append(Line(self.chip.instructions[op].name, op, tuple(map(str, operands)), region))

    def number(self, value: Value) -> str:
        """A new register with a number."""
        register = self.scalar()
        self.emit(Op.SET, register, value)
        return register

    def argument(self, place: int) -> str:
        register = self.scalar()
        self.emit(Op.ARGUMENT, register, place)
        return register

    def address(self, register: str, tensor: int) -> None:
        """Inputs, parameters and outputs are numbered in this order from 0."""
        self.emit(Op.ARGUMENT, register, self.places.addresses[tensor])

    def size(self, tensor: int, dimension: int) -> str:
        return self.argument(self.places.sizes[tensor][dimension])

    def copy(self, to: str, value: str | int) -> None:
        if isinstance(value, int):
            self.emit(Op.SET, to, value)
        else:
            self.emit(Op.ADD, to, value, 0)

    def difference(self, to: str, a: Value, b: str) -> None:
        """to = a - b, where `to` is not `a`."""
        self.emit(Op.MULTIPLY, to, b, -1)
        self.emit(Op.ADD, to, to, a)

    def rounded_up(self, to: str, value: str, multiple: int) -> None:
        self.emit(Op.ADD, to, value, multiple - 1)
        self.emit(Op.DIVIDE, to, to, multiple)
        self.emit(Op.MULTIPLY, to, to, multiple)

    def spread_pitch(self, to: str, words: str) -> None:
        """A pitch for rows of so many words at which words below each other lie in as many banks as there are.

        It is a number of lines that has no factor in common with that of the banks.
        """
        line, banks = self.chip.scratchpad.line_words, self.chip.scratchpad.banks
        head = self.label()
        self.emit(Op.ADD, to, words, line - 1)
        self.emit(Op.DIVIDE, to, to, line)
        self.place(head)
        with self.scope():
            multiple = self.scalar()
            for factor in (n for n in range(2, banks + 1) if banks % n == 0 and all(n % m for m in range(2, n))):
                fits = self.label()
                self.emit(Op.DIVIDE, multiple, to, factor)
                self.emit(Op.MULTIPLY, multiple, multiple, factor)
                self.emit(Op.BRANCH, multiple, to, fits)
                self.emit(Op.ADD, to, to, 1)
                self.emit(Op.BRANCH, self.zero, to, head)
                self.place(fits)
        self.emit(Op.MULTIPLY, to, to, line)

    # Control

    def label(self) -> str:
        self._labels += 1
        return f"L{self._labels}"

    def place(self, label: str) -> None:
        self.lines.append(Line(label))

    @contextmanager
    def while_positive(self, register: str) -> Iterator[None]:
        """Repeat while a register is positive. It is positive at first."""
        head = self.label()
        self.place(head)
        yield
        self.emit(Op.BRANCH, self.zero, register, head)

    @contextmanager
    def chunks(self, count: str, pointers: Sequence[str], steps: Sequence[int] = ()) -> Iterator[None]:
        """Do something with `count` words, a vector at a time, with as many lanes as there are words left.

        Args:
            pointers: Registers that advance.
            steps: By how many words for each lane: 1 if nothing is given.
        """
        lanes = self.chip.vectors.lanes
        left = self.scalar()
        self.copy(left, count)
        with self.while_positive(left):
            self.emit(Op.LENGTH, left)
            self.emit(Op.ADD, left, left, -lanes)
            yield
            for pointer, step in zip(pointers, steps or [1] * len(pointers), strict=True):
                self.emit(Op.ADD, pointer, pointer, step * lanes)
        self.emit(Op.LENGTH, lanes)

    @contextmanager
    def unless(self, a: str, b: Value) -> Iterator[None]:
        """Do something unless a < b."""
        end = self.label()
        self.emit(Op.BRANCH, a, b, end)
        yield
        self.place(end)

    # Vectors

    def rotate(self, d: str, a: str, by: int) -> None:
        """d = a, rotated by any number of lanes."""
        most = self.chip.vectors.rotate_most
        for done in range(0, by, most):
            self.emit(Op.ROTATE, d, d if done else a, min(most, by - done))

    def exponential(self, rows: Sequence[str], base_2: str) -> None:
        """Each vector = e to the power of itself; `base_2` holds the binary logarithm of e."""
        if self.chip.vectors.exponent_base == "2":
            for row in rows:
                self.emit(Op.VECTOR_MULTIPLY, row, row, base_2)
        for row in rows:
            self.emit(Op.EXPONENTIAL, row, row)

    def totals(self, op: Op, vectors: Sequence[str], temporaries: Sequence[str]) -> None:
        """Lane 0 of each vector = the sum or the greatest value of its lanes. All lanes are active."""
        combine = Op.VECTOR_ADD if op is Op.SUM else Op.VECTOR_MAXIMUM
        shape = self.chip.vectors
        pairs = list(zip(vectors, temporaries, strict=True))
        for vector, other in pairs:
            self.emit(op, other, vector)
        for vector, other in pairs:
            self.rotate(vector, other, shape.group_lanes)
        for last in range(1, shape.groups):
            for vector, other in pairs:
                self.emit(combine, other, other, vector)
            if last < shape.groups - 1:
                for vector, _ in pairs:
                    self.rotate(vector, vector, shape.group_lanes)
        for vector, other in pairs:
            if shape.result_lane:
                self.rotate(vector, other, shape.result_lane)
            else:
                self.emit(Op.VECTOR_MAXIMUM, vector, other, other)

    def broadcast(self, vectors: Sequence[str], addresses: Sequence[str], region: str) -> None:
        """All lanes of each vector = its lane 0, by way of a word of the scratchpad. All lanes become active."""
        self.emit(Op.LENGTH, 1)
        for vector, address in zip(vectors, addresses, strict=True):
            self.emit(Op.STORE, vector, address, 1, region=region)
        self.emit(Op.LENGTH, self.chip.vectors.lanes)
        for vector, address in zip(vectors, addresses, strict=True):
            self.emit(Op.LOAD, vector, address, 0, region=region)

    def transfer(self, op: Op, block: dict[str, str], token: Value, region: str = "") -> None:
        first = min(block.values(), key=lambda register: int(register[1:]))
        self.emit(op, first, token, region=region)

    def product(self, op: Op, accumulator: str, block: dict[str, str]) -> None:
        self.emit(op, accumulator, min(block.values(), key=lambda register: int(register[1:])))

"""Runs a program of an unseen chip: outputs and cycles, or a typed fault.

Instructions issue in order. One issues as soon as the instruction before it has taken its issue cycles, its unit is
free and its operands are there. Whatever a chip's documents say of time and of hazards happens here, and nothing else.
"""

import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from benchmarks.unseen.assembly import assemble, wrapped
from benchmarks.unseen.chip import Chip, HazardKind
from benchmarks.unseen.engines import Engines
from benchmarks.unseen.faults import Fault, FaultKind
from benchmarks.unseen.instructions import Op, Unit
from benchmarks.unseen.matrix import MatrixUnit
from benchmarks.unseen.scratchpad import Late, ScratchpadMemory

MOST_STEPS = 2_000_000
SHADOWS = {
    Unit.PORT: HazardKind.LOAD_SHADOW,
    Unit.CROSS: HazardKind.CROSS_SHADOW,
    Unit.SPECIAL: HazardKind.SPECIAL_SHADOW,
}
STALE = {HazardKind.STALE_LOAD: "load", HazardKind.STALE_PUT: "put"}
"""The readers that find old words for a while after a write."""
SCALAR: dict[Op, Callable[[int, int], int]] = {
    Op.ADD: operator.add, Op.MULTIPLY: operator.mul, Op.DIVIDE: operator.floordiv, Op.MINIMUM: min,
}  # fmt: skip
LANEWISE: dict[Op, Callable[..., Any]] = {
    Op.VECTOR_ADD: np.add, Op.VECTOR_SUBTRACT: np.subtract, Op.VECTOR_MULTIPLY: np.multiply,
    Op.VECTOR_MAXIMUM: np.maximum, Op.INVERSE_ROOT: lambda a: np.float32(1) / np.sqrt(a),
}  # fmt: skip
POWERS = {"2": np.exp2, "e": np.exp}


class Machine:
    """One run. `outer` is the outer memory, an array of bytes; `arguments` are the words of the argument table."""

    def __init__(self, chip: Chip, outer: Any, arguments: Sequence[int]) -> None:
        self._chip, self._arguments, self._costs = chip, arguments, chip.instructions
        hazards = {hazard.kind: hazard.cycles for hazard in chip.hazards}
        self._shadowed = {unit for unit, kind in SHADOWS.items() if kind in hazards}
        self._stale = {reader: hazards[kind] for kind, reader in STALE.items() if kind in hazards}
        self._branch_slot, self._length_slot = HazardKind.BRANCH_SLOT in hazards, HazardKind.LENGTH_SLOT in hazards
        self._pad = ScratchpadMemory(chip)
        self._engines = Engines(chip, outer, self._pad)
        self._matrix = MatrixUnit(chip, self._pad)
        self._time = 0
        self._free = dict.fromkeys(Unit, 0)
        self._scalars = [0] * chip.registers.scalar
        self._scalar_ready: list[int] = []
        self._vectors = np.full((chip.registers.vector, chip.vectors.lanes), np.nan, np.float32)
        self._vector_ready = [0] * chip.registers.vector
        self._shadows: dict[int, tuple[int, Any]] = {}
        """Of vector registers: until when they hold old values, and these."""
        self._active = chip.vectors.lanes
        self._next_active: int | None = None
        lanewise = LANEWISE | {Op.EXPONENTIAL: POWERS[chip.vectors.exponent_base]}
        self._handlers: dict[Op, Callable[..., int | None]] = {
            **{op: partial(self._scalar, op, compute) for op, compute in SCALAR.items()},
            **{op: partial(self._lanewise, op, compute) for op, compute in lanewise.items()},
            **{op: partial(self._transfer, op) for op in (Op.GET, Op.GET_HALF, Op.PUT, Op.PUT_HALF)},
            **{op: partial(self._product, op) for op in (Op.PRODUCT_NARROW, Op.PRODUCT_FULL)},
            Op.SUM: partial(self._reduce, Op.SUM, lambda groups: np.add.accumulate(groups, 1)[:, -1], 0),
            Op.GREATEST: partial(self._reduce, Op.GREATEST, lambda groups: groups.max(1), -np.inf),
        }

    def run(self, text: str) -> int:
        """The cycles after which a program and all its transfers are done. Raises Fault."""
        program = assemble(self._chip, text)
        self._scalars += program.constants
        self._scalar_ready = [0] * len(self._scalars)
        place, target = 0, None
        with np.errstate(all="ignore"):
            for _ in range(MOST_STEPS):
                if place >= len(program.steps):
                    return max(self._settled(), self._engines.done())
                op, operands, line = program.steps[place]
                active = self._next_active
                try:
                    found = self._handler(op)(*operands)
                except Fault as fault:
                    raise Fault(fault.kind, fault.detail, line) from None
                if active is not None:
                    self._active, self._next_active = active, self._next_active if op is Op.LENGTH else None
                if target is not None and op is Op.BRANCH:
                    raise Fault(FaultKind.BAD_OPERAND, "this branch follows a branch that is taken", line)
                place, target = (place + 1 if target is None else target), None
                if found is not None and self._branch_slot:
                    target = found
                elif found is not None:
                    place = found
        raise Fault(FaultKind.RUNAWAY, f"{MOST_STEPS:,} were executed")

    def _handler(self, op: Op) -> Callable[..., int | None]:
        if op not in self._handlers:
            self._handlers[op] = getattr(self, f"_{op}")
        return self._handlers[op]

    def _settled(self) -> int:
        """When all results but those of transfers are there."""
        shadows = [until for until, _ in self._shadows.values()]
        registers = max(self._time, *self._scalar_ready, *self._vector_ready, *shadows)
        return max(registers, self._pad.settled(self._time), self._matrix.settled())

    def _start(self, op: Op, ready: int = 0, busy: int = 0) -> int:
        """Issue an instruction as soon as possible, and not before its operands are `ready`.

        Args:
            busy: For how many cycles its unit is; 0 if it is as the specification of the instruction says.

        Returns:
            The time of issue.
        """
        cost = self._costs[op]
        start = max(self._time, self._free[cost.unit], ready)
        self._free[cost.unit] = start + (busy or cost.busy)
        self._time = start + cost.issue
        return start

    def _result_time(self, op: Op, start: int, busy: int = 0) -> int:
        cost = self._costs[op]
        return start + cost.latency + max(0, busy - cost.busy)

    # Scalars and control

    def _write_scalar(self, op: Op, d: int, value: int, ready: int = 0) -> None:
        self._scalar_ready[d] = self._result_time(op, self._start(op, ready))
        self._scalars[d] = wrapped(value)

    def _scalar(self, op: Op, compute: Callable[[int, int], int], d: int, a: int, b: int) -> None:
        if op is Op.DIVIDE and not self._scalars[b]:
            raise Fault(FaultKind.DIVISION, f"{self._scalars[a]} / 0")
        value = compute(self._scalars[a], self._scalars[b])
        self._write_scalar(op, d, value, max(self._scalar_ready[a], self._scalar_ready[b]))

    def _set(self, d: int, number: int) -> None:
        self._write_scalar(Op.SET, d, number)

    def _argument(self, d: int, number: int) -> None:
        if not 0 <= number < len(self._arguments):
            raise Fault(FaultKind.BAD_OPERAND, f"word {number}; the argument table has {len(self._arguments)}")
        self._write_scalar(Op.ARGUMENT, d, self._arguments[number])

    def _branch(self, a: int, b: int, label: int) -> int | None:
        self._start(Op.BRANCH, max(self._scalar_ready[a], self._scalar_ready[b]))
        return label if self._scalars[a] < self._scalars[b] else None

    def _idle(self, cycles: int) -> None:
        if cycles < 1:
            raise Fault(FaultKind.BAD_OPERAND, f"{cycles} cycles")
        self._time = self._start(Op.IDLE) + cycles

    def _fence(self) -> None:
        self._start(Op.FENCE, self._settled())

    def _length(self, value: int) -> None:
        if self._scalars[value] < 0:
            raise Fault(FaultKind.BAD_OPERAND, f"{self._scalars[value]} lanes")
        self._start(Op.LENGTH, self._scalar_ready[value])
        active = min(self._scalars[value], self._chip.vectors.lanes)
        if self._length_slot:
            self._next_active = active
        else:
            self._active = active

    # Transfers

    def _transfer(self, op: Op, block: int, token: int) -> None:
        registers = slice(block, block + len(self._chip.transfers.order))
        transfer = self._engines.described(op, self._scalars[registers], self._scalars[token])
        ready = max(self._time, self._scalar_ready[token], *self._scalar_ready[registers])
        if not transfer.gets and "put" not in self._stale:
            ready = self._pad.ready(ready, transfer.first, transfer.last)
        self._engines.begin(transfer, self._start(op, self._engines.accepts(transfer, ready)))

    def _wait(self, token: int) -> None:
        ready = max(self._scalar_ready[token], self._engines.token_done(self._scalars[token]))
        self._start(Op.WAIT, ready)

    # Vectors

    def _interlock(self, *registers: int) -> int:
        return max(self._vector_ready[register] for register in registers)

    def _read(self, register: int, time: int) -> Any:
        """The lanes of a register, as an instruction finds them that issues at this time."""
        if register in self._shadows:
            until, old = self._shadows[register]
            if time < until:
                return old
        return self._vectors[register]

    def _write(self, op: Op, d: int, active: Any, values: Any, ready: int) -> None:
        """Write those lanes of a register that are `active`, an index."""
        if self._costs[op].unit in self._shadowed:
            self._shadows[d] = (ready, self._vectors[d].copy())
        else:
            self._shadows.pop(d, None)
            self._vector_ready[d] = ready
        self._vectors[d, active] = values

    def _lanewise(self, op: Op, compute: Callable[..., Any], d: int, *sources: int) -> None:
        start = self._start(op, self._interlock(*sources))
        lanes = slice(self._active)
        values = compute(*(self._read(source, start)[lanes] for source in sources))
        self._write(op, d, lanes, values, self._result_time(op, start))

    def _multiply_add(self, d: int, a: int, b: int) -> None:
        self._lanewise(Op.MULTIPLY_ADD, lambda d, a, b: d + a * b, d, d, a, b)

    def _fill(self, d: int, value: int) -> None:
        start = self._start(Op.FILL, self._scalar_ready[value])
        bits = np.array(self._scalars[value], np.int32).view(np.float32)
        self._write(Op.FILL, d, slice(self._active), bits, self._result_time(Op.FILL, start))

    def _fill_integer(self, d: int, value: int) -> None:
        start = self._start(Op.FILL_INTEGER, self._scalar_ready[value])
        number = np.float32(self._scalars[value])
        self._write(Op.FILL_INTEGER, d, slice(self._active), number, self._result_time(Op.FILL_INTEGER, start))

    def _reduce(self, op: Op, reduce: Callable[[Any], Any], neutral: float, d: int, a: int) -> None:
        shape = self._chip.vectors
        start = self._start(op, self._interlock(a))
        lanes = self._read(a, start).copy()
        places = np.arange(shape.groups) * shape.group_lanes + shape.result_lane
        if not shape.inactive_count:
            lanes[self._active :] = neutral
        results = reduce(lanes.reshape(shape.groups, shape.group_lanes))
        written = np.full(shape.groups, True) if shape.inactive_count else places < self._active
        self._write(op, d, places[written], results[written], self._result_time(op, start))

    def _rotate(self, d: int, a: int, by: int) -> None:
        if not 1 <= by <= self._chip.vectors.rotate_most:
            detail = f"a rotation by {by}; the least is 1, the most {self._chip.vectors.rotate_most}"
            raise Fault(FaultKind.LIMIT, detail)
        start = self._start(Op.ROTATE, self._interlock(a))
        values = np.roll(self._read(a, start), -by)[: self._active]
        self._write(Op.ROTATE, d, slice(self._active), values, self._result_time(Op.ROTATE, start))

    # The scratchpad

    def _strided(self, op: Op, base: int, step: int) -> tuple[Any, tuple[int, int], int]:
        """The words of the active lanes: their index, the first and the last of them, and how long the port is busy."""
        first, stride, count = self._scalars[base], self._scalars[step], self._active
        if stride < (op is Op.STORE):
            raise Fault(FaultKind.BAD_OPERAND, f"a stride of {stride}")
        last = first + stride * max(0, count - 1)
        place: Any = slice(first, last + 1 if count else first, stride) if stride else np.full(count, first)
        return place, (first, last), self._costs[op].busy * self._pad.conflict_cycles(first, stride, count)

    def _load(self, d: int, base: int, step: int) -> None:
        ready = max(self._scalar_ready[base], self._scalar_ready[step])
        self._loaded(Op.LOAD, d, *self._strided(Op.LOAD, base, step), ready)

    def _load_indexed(self, d: int, base: int, index: int) -> None:
        ready = max(self._scalar_ready[base], self._vector_ready[index])
        time = max(self._time, self._free[Unit.PORT], ready)
        places = self._scalars[base] + self._read(index, time)[: self._active].view(np.int32).astype(np.int64)
        within = (int(places.min()), int(places.max())) if len(places) else (0, 0)
        busy = self._costs[Op.LOAD_INDEXED].busy * self._pad.conflicts_of(places)
        self._loaded(Op.LOAD_INDEXED, d, places, within, busy, ready)

    def _loaded(self, op: Op, d: int, place: Any, within: tuple[int, int], busy: int, ready: int) -> None:
        self._pad.check(*within)
        if "load" not in self._stale:
            ready = self._pad.ready(max(self._time, ready), *within)
        start = self._start(op, ready, busy)
        self._pad.claim(start, *within, writes=False)
        values = np.zeros(self._chip.vectors.lanes, np.float32)
        values[: self._active] = self._pad.seen("load", start, *within)[place]
        lanes = slice(None if self._chip.vectors.load_clears else self._active)
        self._write(op, d, lanes, values[lanes], self._result_time(op, start, busy))

    def _store(self, source: int, base: int, step: int) -> None:
        ready = max(self._scalar_ready[base], self._scalar_ready[step], self._vector_ready[source])
        place, within, busy = self._strided(Op.STORE, base, step)
        start = self._start(Op.STORE, ready, busy)
        values = self._read(source, start)[: self._active]
        self._write_words(start, self._result_time(Op.STORE, start, busy), within, place, values)

    def _write_words(self, start: int, done: int, within: tuple[int, int], place: Any, values: Any) -> None:
        self._pad.check(*within)
        self._pad.claim(start, *within, writes=True)
        for reader, cycles in self._stale.items():
            self._pad.late(Late(start, start + cycles, (reader,), *within, place, self._pad.words[place].copy()))
        self._pad.written(done, *within)
        self._pad.words[place] = values

    # The matrix unit

    def _clear(self, accumulator: int) -> None:
        start = self._start(Op.CLEAR)
        self._matrix.clear(accumulator, self._result_time(Op.CLEAR, start))

    def _product(self, op: Op, accumulator: int, block: int) -> None:
        registers = slice(block, block + len(self._chip.matrix.order))
        product = self._matrix.described(self._scalars[registers])
        ready = max(self._time, self._matrix.cleared(accumulator), *self._scalar_ready[registers])
        for within in product.ranges:
            ready = self._pad.ready(ready, *within)
        busy = self._costs[op].busy * product.steps
        start = self._start(op, ready, busy)
        self._matrix.add(
            accumulator, product, start, self._result_time(op, start, busy), narrow=op is Op.PRODUCT_NARROW
        )

    def _drain(self, accumulator: int, base: int, pitch: int) -> None:
        ready = max(self._scalar_ready[base], self._scalar_ready[pitch], self._matrix.drainable(accumulator))
        start = self._start(Op.DRAIN, ready)
        place = self._matrix.rows_at(self._scalars[base], self._scalars[pitch])
        within = (int(place[0, 0]), int(place[-1, -1]))
        self._write_words(
            start, self._result_time(Op.DRAIN, start), within, place, self._matrix.drained(accumulator, start)
        )

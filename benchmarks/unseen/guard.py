"""Puts fences and idle cycles into a program where a chip's hazards ask for them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from benchmarks.unseen.chip import Chip, HazardKind
from benchmarks.unseen.instructions import Op, Unit

LOADS = (Op.LOAD, Op.LOAD_INDEXED)
WRITES = (Op.STORE, Op.DRAIN)
PUTS = (Op.PUT, Op.PUT_HALF)
PRODUCTS = (Op.PRODUCT_NARROW, Op.PRODUCT_FULL)
SHADOWED = {
    HazardKind.LOAD_SHADOW: Unit.PORT, HazardKind.CROSS_SHADOW: Unit.CROSS, HazardKind.SPECIAL_SHADOW: Unit.SPECIAL,
}  # fmt: skip
Pending = Mapping[str, float]
"""What is not settled, with the cycles until it surely is."""


class Line(NamedTuple):
    """An instruction, or a label if it has no operation."""

    name: str
    op: Op | None = None
    operands: tuple[str, ...] = ()
    region: str = ""
    """Of the scratchpad; empty: any."""

    def __str__(self) -> str:
        if self.op is None:
            return f"{self.name}:"
        return f"    {self.name} {', '.join(self.operands)}".rstrip()


def guarded(chip: Chip, lines: Sequence[Line], ignoring: Iterable[HazardKind] = ()) -> list[Line]:
    """The program with a fence before each instruction that would find something unsettled, and with filled slots."""
    guard = _Guard(chip, set(HazardKind) - {hazard.kind for hazard in chip.hazards} | set(ignoring))
    labels: dict[str, dict[str, float]] = {line.name: {} for line in lines if line.op is None}
    while True:
        before = {label: dict(pending) for label, pending in labels.items()}
        found = list(guard.walk(lines, labels))
        if labels == before:
            return found


class _Guard:
    def __init__(self, chip: Chip, ignored: set[HazardKind]) -> None:
        self._chip, self._ignored = chip, ignored
        self._cycles = {hazard.kind: hazard.cycles for hazard in chip.hazards}
        self._slots = {
            op: Line(chip.instructions[Op.IDLE].name, Op.IDLE, ("1",))
            for kind, op in ((HazardKind.BRANCH_SLOT, Op.BRANCH), (HazardKind.LENGTH_SLOT, Op.LENGTH))
            if kind not in ignored
        }

    def walk(self, lines: Sequence[Line], labels: dict[str, dict[str, float]]) -> Iterator[Line]:
        """The guarded lines. `labels` says what is pending there, and gets what is pending at branches to them."""
        pending: dict[str, float] = {}
        for line in lines:
            if line.op is None:
                _join(pending, labels[line.name])
            elif any(need in pending for need in self._needs(line, pending)):
                yield Line(self._chip.instructions[Op.FENCE].name, Op.FENCE)
                pending = {}
            yield line
            if line.op is None:
                continue
            passed = int(line.operands[0]) if line.op is Op.IDLE else self._chip.instructions[line.op].issue
            pending = {key: cycles - passed for key, cycles in pending.items() if cycles > passed}
            _join(pending, self._makes(line))
            if line.op in self._slots:
                yield self._slots[line.op]
            if line.op is Op.BRANCH:
                _join(labels[line.operands[-1]], pending)

    def _makes(self, line: Line) -> dict[str, float]:
        """What an instruction leaves unsettled, with the cycles from its issue on."""
        op = line.op
        made: dict[str, float] = {}
        for kind, unit in SHADOWED.items():
            if kind not in self._ignored and op is not Op.STORE and op and self._chip.instructions[op].unit is unit:
                made[line.operands[0]] = self._latency(line)
        if op in PRODUCTS and HazardKind.LATE_PRODUCT not in self._ignored:
            made[line.operands[0]] = self._cycles[HazardKind.LATE_PRODUCT]
        if op in WRITES:
            for kind, reader in ((HazardKind.STALE_LOAD, "load"), (HazardKind.STALE_PUT, "put")):
                if kind not in self._ignored:
                    made[f"{reader} {line.region}"] = self._cycles[kind]
        if op is Op.WAIT and HazardKind.LATE_GET not in self._ignored:
            made["got"] = self._cycles[HazardKind.LATE_GET]
        return made

    def _latency(self, line: Line) -> float:
        """The longest time after which a vector is there."""
        cost = self._chip.instructions[line.op or Op.IDLE]
        shape, lanes = self._chip.scratchpad, self._chip.vectors.lanes
        if cost.unit is not Unit.PORT or line.operands[-1] == "0":
            return cost.latency
        lines = lanes if line.operands[-1] != "1" else -(-(lanes // shape.line_words + 1) // shape.banks)
        return cost.latency + cost.busy * (lines - 1)

    def _needs(self, line: Line, pending: Pending) -> Iterator[str]:
        """What must be settled before an instruction."""
        op = line.op or Op.IDLE
        yield from (name for place, name in enumerate(line.operands) if place or op in (*WRITES, Op.MULTIPLY_ADD))
        reader = "load" if op in LOADS else "put" if op in PUTS else ""
        if reader:
            regions = [key for key in pending if key.startswith(f"{reader} ")]
            yield from (key for key in regions if not line.region or key in (f"{reader} ", f"{reader} {line.region}"))
        if reader or op in PRODUCTS:
            yield "got"


def _join(pending: dict[str, float], other: Pending) -> None:
    for key, cycles in other.items():
        pending[key] = max(cycles, pending.get(key, 0))

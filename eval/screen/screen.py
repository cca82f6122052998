"""Compares compiled kernels with the cited facts of their target, without the chip.

This runs in the judge: the files come from a worker that may be hostile, so they are only read as text. Every limit is
a fact; if no document states it, the finding is `unknown`.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field

from eval.regular_file import regular_text
from eval.screen.amd import AMD
from eval.screen.nvidia import NVIDIA
from eval.screen.occupancy import ComputeUnit, occupancy
from eval.screen.vendor import Key, Usage, Vendor
from eval.worker.fault import Fault
from kb.facts.select import one_value
from kb.types.base import Frozen
from kb.types.evidence import Finding, KernelScreen, Outcome
from kb.types.fact import Fact
from kb.types.records import Trust
from kb.types.target import Isa

MAX_ASSEMBLY_BYTES = 1 << 25
MAX_KINDS = 100
"""Most kinds of instructions to keep, the most frequent first."""
MAX_KERNELS = 50
"""Most kernels in one file of assembly."""

Count = Annotated[int, Field(ge=0, lt=1 << 31)]
Positive = Annotated[int, Field(ge=1, lt=1 << 31)]


class Record(Frozen, strict=True):
    """The record that eval.worker.adapters.cross_compile makes of a kernel, passed on by a worker."""

    kernel: str = Field(pattern=r"^[A-Za-z0-9_]+$", max_length=1000)
    num_warps: Positive
    scratchpad_bytes: Count
    """Bytes per workgroup at launch."""
    uses_dot: bool
    configuration: str = Field(default="", max_length=200)
    """Options of an autotuned kernel in which it was compiled."""
    assembly: str = Field(pattern=r"^[A-Za-z0-9_-]+\.(amdgcn|sass)$", max_length=200)
    """Name of the assembly file."""


VENDORS = {"hip": AMD, "cuda": NVIDIA}
"""Vendors by Triton's name of the backend."""


def screen_kernel(kernel: Record, folder: Path, isa: Isa, facts: Sequence[Fact]) -> KernelScreen:
    """Compare one compiled Triton kernel with the documented limits.

    Args:
        folder: Folder of the assembly that the record names.
        isa: ISA of the assembly; see kb.types.target.Target.isa.
        facts: Facts that hold for the target.

    Raises:
        Fault: the assembly does not come from a compiler.
    """
    text = _read(folder / kernel.assembly)
    usage = _usage(text, kernel.kernel, isa)
    usage = usage._replace(
        scratchpad_bytes=max(usage.scratchpad_bytes, kernel.scratchpad_bytes),
        workgroup_size=kernel.num_warps * (isa.lanes or 1),
    )
    name = f"{kernel.kernel} ({kernel.configuration})" if kernel.configuration else kernel.kernel
    return _screened(name, text, usage, isa, facts, uses_dot=kernel.uses_dot)


def screen_file(path: Path, isa: Isa, facts: Sequence[Fact]) -> tuple[KernelScreen, ...]:
    """Compare all kernels in a file of assembly, which a worker wrote, with the documented limits.

    Raises:
        Fault: no kernel in the file writes to the GPU's memory, or the assembly does not come from a compiler.
    """
    vendor, text = VENDORS[isa.backend], _read(path)
    names = tuple(dict.fromkeys(m[1] for m in vendor.kernels.finditer(text)))
    if len(names) > MAX_KERNELS:
        raise Fault(Outcome.OVER_LIMIT, f"it has {len(names)} kernels; at most {MAX_KERNELS} are compared with limits")
    if not names or not any(vendor.writes.match(m[1]) for m in vendor.instruction.finditer(text)):
        raise Fault(Outcome.NO_KERNEL, "it has no kernel that writes to the GPU's memory")
    return tuple(
        _screened(name, vendor.code(text, name), _usage(text, name, isa), isa, facts, uses_dot=False) for name in names
    )


def excess(screens: Sequence[KernelScreen]) -> str:
    """What kernels need more of than their target has; empty if that is nothing."""
    return "; ".join(f.message for screen in screens for f in screen.findings if f.state == "over")


def _usage(text: str, kernel: str, isa: Isa) -> Usage:
    if (usage := VENDORS[isa.backend].usage(text, kernel)) is None:
        raise Fault(Outcome.FORGED, f"the assembly does not state the resources of {kernel}")
    return usage


def _screened(kernel: str, code: str, usage: Usage, isa: Isa, facts: Sequence[Fact], *, uses_dot: bool) -> KernelScreen:
    vendor, lanes = VENDORS[isa.backend], isa.lanes or 1
    instructions = Counter(m[1] for m in vendor.instruction.finditer(code))
    matrix, memory = _kept(instructions, vendor.matrix), _kept(instructions, vendor.memory)
    num_warps = -(-usage.workgroup_size // lanes) if usage.workgroup_size else None
    resident, occupancy_finding = _occupancy(usage, num_warps, lanes, vendor, facts)
    return KernelScreen(
        kernel=kernel,
        isa=isa,
        num_warps=num_warps,
        registers=usage.vector_registers,
        spills=usage.spills,
        scratchpad_bytes=usage.scratchpad_bytes,
        occupancy=resident,
        matrix_instructions=matrix,
        memory_instructions=memory,
        findings=(
            _scratchpad(usage, vendor, facts),
            _workgroup(usage, facts),
            _limit("registers", usage.vector_registers, "", facts, vendor.registers),
            _spills(usage),
            occupancy_finding,
            *_loads(memory, vendor, facts),
            *_matrix(matrix, uses_dot=uses_dot),
        ),
    )


def _read(path: Path) -> str:
    """The text of a file. The worker may have put anything in its place."""
    try:
        return regular_text(path, most=MAX_ASSEMBLY_BYTES)
    except (OSError, ValueError) as error:
        raise Fault(Outcome.FORGED, f"{path.name} is not an assembly file: {error}") from error


def _kept(instructions: Counter[str], wanted: re.Pattern[str]) -> dict[str, int]:
    return dict(Counter({i: n for i, n in instructions.items() if wanted.fullmatch(i)}).most_common(MAX_KINDS))


def _limit(check: str, amount: int, unit: str, facts: Sequence[Fact], key: Key) -> Finding:
    """Compare an amount with the limit that a fact states."""
    if (limit := one_value(facts, *key)) is None:
        return _unknown(check, key)
    most, fact = limit
    message = f"{check} {amount:,}{unit} {'>' if amount > most else '<='} {most:,.0f}{unit}"
    said = ", ".join(filter(None, (fact.condition, "measured" if fact.trust is Trust.MEASURED else "")))
    message += f" ({said})" if said else ""
    return Finding(check=check, state="over" if amount > most else "ok", message=message, citation=fact.citation.id)


def _unknown(check: str, *keys: Key) -> Finding:
    named = "; ".join(f"{quantity} ({', '.join(phrases)})" if phrases else quantity for quantity, *phrases in keys)
    return Finding(check=check, state="unknown", message=f"{check}: no document states one value of {named}")


def _scratchpad(usage: Usage, vendor: Vendor, facts: Sequence[Fact]) -> Finding:
    found = _limit("scratchpad", usage.scratchpad_bytes, " B", facts, vendor.scratchpad)
    if found.state == "over" or not usage.asks_at_launch:
        return found
    message = f"scratchpad {usage.scratchpad_bytes:,} B and what the launch asks for, which is not known"
    return Finding(check="scratchpad", state="unknown", message=message)


def _workgroup(usage: Usage, facts: Sequence[Fact]) -> Finding:
    if usage.workgroup_size is None:
        message = "workgroup size: the kernel does not state it with `__launch_bounds__`"
        return Finding(check="workgroup size", state="unknown", message=message)
    return _limit("workgroup size", usage.workgroup_size, "", facts, ("max_workgroup_size",))


def _spills(usage: Usage) -> Finding:
    message = f"{usage.spills:,} registers spilled per lane" if usage.spills else "no spills"
    return Finding(check="spills", state="warn" if usage.spills else "ok", message=message)


def _occupancy(
    usage: Usage, num_warps: int | None, lanes: int, vendor: Vendor, facts: Sequence[Fact]
) -> tuple[int | None, Finding]:
    if num_warps is None or usage.asks_at_launch:
        message = "occupancy: it depends on what the launch asks for, which is not known"
        return None, Finding(check="occupancy", state="unknown", message=message)
    found = {name: one_value(facts, name, condition) for name, condition in vendor.compute_unit.items()}
    known = {name: value for name, value in found.items() if value and (value[0] > 0 or name == "lds_reserved")}
    if missing := [key for key in vendor.compute_unit.items() if key[0] not in known]:
        return None, _unknown("occupancy", *missing)
    unit = ComputeUnit(lanes, **{name: int(number) for name, (number, _) in known.items()})
    wavefronts, limit = occupancy(usage, num_warps, unit)
    shared_by, place = (unit.simd_units, "SIMD unit") if vendor.occupancy_per_simd else (1, "compute unit")
    resident = -(-wavefronts // shared_by)
    return resident, Finding(
        check="occupancy",
        state="ok" if resident else "over",
        message=f"{resident} of {unit.max_wavefronts // shared_by} wavefronts per {place}, limited by {limit}",
        citation=known[limit][1].citation.id,
    )


def _loads(memory: Mapping[str, int], vendor: Vendor, facts: Sequence[Fact]) -> list[Finding]:
    """The width of global loads; no finding if lanes load nothing from global memory, or whole tiles are copied."""
    widest = max(map(vendor.load_bytes, memory), default=0)
    if not widest or any(name.startswith(vendor.tile_copies) for name in memory):
        return []
    key = ("global_access_width", "widest load")
    if (documented := one_value(facts, *key)) is None:
        return [_unknown("global loads", key)]
    most, fact = documented
    state = "warn" if widest < most else "ok"
    message = f"widest global load {widest} B of {most:.0f} B per lane"
    return [Finding(check="global loads", state=state, message=message, citation=fact.citation.id)]


def _matrix(matrix: Mapping[str, int], *, uses_dot: bool) -> list[Finding]:
    if matrix:
        return [Finding(check="matrix", state="ok", message=f"matrix instructions {', '.join(matrix)}")]
    message = "the dot products use no matrix instruction"
    return [Finding(check="matrix", state="warn", message=message)] if uses_dot else []

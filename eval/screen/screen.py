"""Compares a compiled Triton kernel with the cited facts of its target, without the chip.

This runs in the judge: the files come from a worker that may be hostile, so they are only read as text. Every limit is
a fact; if no document states it, the finding is `unknown`.
"""

import os
import re
import stat
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field, ValidationError

from eval.fault import Fault
from eval.screen.amd import AMD
from eval.screen.nvidia import NVIDIA
from eval.screen.occupancy import ComputeUnit, Needs, occupancy
from eval.screen.vendor import Key, Usage, Vendor
from kb.facts.select import one_value
from kb.model.base import Frozen
from kb.model.evidence import Finding, KernelScreen, Outcome
from kb.model.fact import Fact
from kb.model.records import Trust
from kb.model.target import Isa

MAX_ASSEMBLY_BYTES = 1 << 25
MAX_KINDS = 100
"""Most kinds of instructions to keep, the most frequent first."""

Count = Annotated[int, Field(ge=0, lt=1 << 31)]
Positive = Annotated[int, Field(ge=1, lt=1 << 31)]


class Record(Frozen):
    """The record that eval.languages.cross_compile makes of a kernel."""

    model_config = ConfigDict(strict=True)

    kernel: str = Field(pattern=r"^[A-Za-z0-9_]+$", max_length=1000)
    num_warps: Positive
    num_stages: Count
    num_ctas: Positive
    scratchpad_bytes: Count
    """Bytes per workgroup at launch."""
    uses_dot: bool
    configurations: Positive
    """Number of autotuning configurations, 1 without autotuning. The first one that pruning leaves was compiled."""
    launches: Positive
    """Launches per forward call."""
    assembly: str = Field(pattern=r"^[A-Za-z0-9_-]+\.(amdgcn|sass)$", max_length=200)
    """Name of the assembly file."""


VENDORS = {"hip": AMD, "cuda": NVIDIA}
"""Vendors by Triton's name of the backend."""


def screen_kernel(record: Mapping[str, Any], folder: Path, isa: Isa, facts: Sequence[Fact]) -> KernelScreen:
    """Compare one compiled kernel with the documented limits.

    Args:
        record: A record of eval.languages.cross_compile, passed on by a worker.
        folder: Folder of the assembly that the record names.
        isa: ISA of the assembly; see kb.model.target.Target.isa.
        facts: Facts that hold for the target.

    Raises:
        Fault: the record or the assembly does not come from a compiler.
    """
    try:
        kernel = Record.model_validate(record)
    except ValidationError as error:
        wrong = error.errors()[0]
        raise Fault(
            Outcome.FORGED, f"not a record of a kernel: {'.'.join(map(str, wrong['loc']))}: {wrong['msg']}"
        ) from error
    vendor, lanes = VENDORS[isa.backend], isa.lanes or 1
    text = _read(folder / kernel.assembly)
    if (usage := vendor.usage(text, kernel.kernel)) is None:
        raise Fault(Outcome.FORGED, f"{kernel.assembly} does not state the resources of {kernel.kernel}")
    scratchpad_bytes = max(usage.scratchpad_bytes, kernel.scratchpad_bytes)
    instructions = Counter(m[1] for m in vendor.instruction.finditer(text))
    matrix, memory = _kept(instructions, vendor.matrix), _kept(instructions, vendor.memory)
    needs = Needs(kernel.num_warps, usage.vector_registers, usage.scalar_registers, scratchpad_bytes)
    resident, occupancy_finding = _occupancy(needs, lanes, vendor, facts)
    findings = (
        _limit("scratchpad", scratchpad_bytes, " B", facts, vendor.scratchpad),
        _limit("workgroup size", kernel.num_warps * lanes, "", facts, ("max_workgroup_size",)),
        _limit("registers", usage.vector_registers, "", facts, vendor.registers),
        _spills(usage),
        occupancy_finding,
        *_loads(memory, vendor, facts),
        *_matrix(kernel, matrix),
        *_autotuning(kernel),
    )
    return KernelScreen(
        kernel=kernel.kernel,
        isa=isa,
        num_warps=kernel.num_warps,
        registers=usage.vector_registers,
        spills=usage.spills,
        scratchpad_bytes=scratchpad_bytes,
        occupancy=resident,
        matrix_instructions=matrix,
        memory_instructions=memory,
        findings=findings,
    )


def _read(path: Path) -> str:
    """The text of a file. The worker may have put anything in its place."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise Fault(Outcome.FORGED, f"{path.name}: {error.strerror}") from error
    try:
        regular = stat.S_ISREG(os.fstat(handle).st_mode)
        data = os.read(handle, MAX_ASSEMBLY_BYTES + 1) if regular else b""
    finally:
        os.close(handle)
    if not regular or len(data) > MAX_ASSEMBLY_BYTES:
        raise Fault(Outcome.FORGED, f"{path.name} is not an assembly file")
    return data.decode("utf-8", errors="replace")


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


def _spills(usage: Usage) -> Finding:
    message = f"{usage.spills:,} registers spilled per lane" if usage.spills else "no spills"
    return Finding(check="spills", state="warn" if usage.spills else "ok", message=message)


def _occupancy(needs: Needs, lanes: int, vendor: Vendor, facts: Sequence[Fact]) -> tuple[int | None, Finding]:
    found = {name: one_value(facts, name, condition) for name, condition in vendor.compute_unit.items()}
    known = {name: value for name, value in found.items() if value is not None}
    if missing := [key for key in vendor.compute_unit.items() if key[0] not in known]:
        return None, _unknown("occupancy", *missing)
    unit = ComputeUnit(lanes, **{name: int(number) for name, (number, _) in known.items()})
    wavefronts, limit = occupancy(needs, unit)
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


def _matrix(kernel: Record, matrix: Mapping[str, int]) -> list[Finding]:
    if not kernel.uses_dot:
        return []
    if not matrix:
        return [Finding(check="matrix", state="warn", message="the dot products use no matrix instruction")]
    return [Finding(check="matrix", state="ok", message=f"matrix instructions {', '.join(matrix)}")]


def _autotuning(kernel: Record) -> list[Finding]:
    if kernel.configurations == 1:
        return []
    message = f"compiled in the first of {kernel.configurations} configurations; the others were not checked"
    return [Finding(check="autotuning", state="warn", message=message)]

"""Holds a compiled Triton kernel against the cited facts of its target. No chip is needed, and no time is told.

The judge's side: a worker that may be hostile left the files, so they are only ever read as text. Every limit is a fact;
one that no document states makes its finding `unknown`.
"""

import os
import re
import stat
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import ConfigDict, Field, ValidationError

from eval.fault import Fault
from eval.occupancy import REGISTER_BYTES, ComputeUnit, Needs, occupancy
from kb.evidence import Finding, KernelScreen, Outcome
from kb.model import Fact, Frozen

UNIT_SCALE = {"1": 1, "lane": 1, "thread": 1, "byte": 1, "KiB": 1 << 10, "MiB": 1 << 20}
MAX_ASSEMBLY_BYTES = 1 << 26
MAX_KINDS = 100
"""Kinds of instructions that are kept of each sort, the most frequent first."""

Count = Annotated[int, Field(ge=0, lt=1 << 31)]
Positive = Annotated[int, Field(ge=1, lt=1 << 31)]
Key = tuple[str, ...]
"""A quantity, then phrases that its condition must hold."""


class Record(Frozen):
    """What eval.cross_compile says of a kernel."""

    model_config = ConfigDict(strict=True)

    kernel: str = Field(pattern=r"^\w{1,1000}$")
    num_warps: Positive
    num_stages: Count
    num_ctas: Positive
    scratchpad_bytes: Count
    """Per workgroup, as it is launched."""
    uses_dot: bool
    configurations: Positive
    """How many the kernel declares for autotuning; it was compiled in the first that pruning leaves. 1: not autotuned."""
    launches: Positive
    """How often it was launched in one forward."""
    assembly: str = Field(pattern=r"^[\w-]{1,200}\.(amdgcn|sass)$")
    """Name of a file."""


class _Usage(NamedTuple):
    """As the compiler states it in the assembly."""

    vector_registers: int
    scalar_registers: int
    spills: int
    scratchpad_bytes: int


_EVERYWHERE: dict[str, Key] = {
    "wavefront_size": ("wavefront_size",),
    "simd_units": ("simd_units", "per compute unit"),
    "max_wavefronts": ("max_wavefronts", "per compute unit"),
    "vgpr_file_size": ("vgpr_file_size", "per compute unit"),
    "vgpr_granule": ("vgpr_granule", "allocation"),
    "lds_size": ("lds_size", "per compute unit"),
    "lds_granule": ("lds_granule", "per workgroup"),
}
COMPUTE_UNIT: dict[str, dict[str, Key]] = {
    "hip": _EVERYWHERE
    | {"sgpr_file_size": ("sgpr_file_size", "per compute unit"), "sgpr_granule": ("sgpr_granule", "allocation")},
    "cuda": _EVERYWHERE
    | {"lds_reserved": ("lds_reserved", "per workgroup"), "max_workgroups": ("max_workgroups", "per compute unit")},
}
SCRATCHPAD: dict[str, Key] = {"hip": ("lds_size", "per workgroup"), "cuda": ("lds_size", "per workgroup", "opt-in")}
REGISTERS: dict[str, Key] = {
    "hip": ("vgprs_max", "per lane", "architected plus accumulation"),
    "cuda": ("vgprs_max", "per thread"),
}
OCCUPANCY_UNIT = {"hip": "wavefronts per SIMD unit", "cuda": "warps per compute unit"}

INSTRUCTION = {
    "hip": re.compile(r"^\s+([a-z]\w+)", re.M | re.A),
    "cuda": re.compile(r"^\s+/\*[0-9a-f]{4,8}\*/\s+(?:@!?\w+\s+)?([A-Z][\w.]+)", re.M | re.A),
}
MATRIX = {"hip": re.compile(r"v_(?:s?mfma|smfmac|wmma|swmmac)\w*"), "cuda": re.compile(r"[A-Z]*MMA(?:\..*)?")}
MEMORY = {
    "hip": re.compile(r"(?:global|buffer|flat|scratch)_(?:load|store|atomic)\w*|ds_(?:read|write|load|store)\w*"),
    "cuda": re.compile(r"(?:(?:LD|ST)(?:[GSL]|SM|TM)?|LDGSTS|UTMA(?:LDG|STG|REDG)|UBLKCP|ATOM[GS]?|REDG?)(?:\..*)?"),
}
LOAD = {
    "hip": re.compile(r"(?:global|buffer|flat)_load_(?:lds_)?(?:[su]?(byte|short|dword)(?:x(\d))?|[bui](\d{1,3}))"),
    "cuda": re.compile(r"(?:LDG|LDGSTS)(?:\.|$)"),
}
BYTES = {"byte": 1, "short": 2, "dword": 4}


def screen_kernel(record: Mapping[str, Any], folder: Path, isa: str, facts: Sequence[Fact]) -> KernelScreen:
    """What `folder` holds of one compiled kernel, beside what the documents allow.

    Args:
        record: From eval.cross_compile, by way of a worker.
        isa: What it was compiled for; see kb.model.Target.isa.
        facts: Of the target.

    Raises:
        Fault: record or assembly are not what a compiler left.
    """
    try:
        kernel = Record.model_validate(record)
    except ValidationError as error:
        raise Fault(Outcome.FORGED, f"not the record of a kernel: {error.errors()[0]['msg']}") from error
    backend = isa.split()[0]
    text = _read(folder / kernel.assembly)
    usage = _usage(text, kernel, backend)
    instructions = Counter(m[1] for m in INSTRUCTION[backend].finditer(text))
    matrix = _kept(instructions, MATRIX[backend])
    memory = _kept(instructions, MEMORY[backend])
    resident, occupancy_finding = _occupancy(kernel, usage, backend, facts)
    findings = [
        _limit("scratchpad", usage.scratchpad_bytes, " B", facts, SCRATCHPAD[backend]),
        _workgroup_size(kernel, facts),
        _limit("registers", usage.vector_registers, "", facts, REGISTERS[backend]),
        _spills(usage),
        occupancy_finding,
        *_loads(memory, backend, facts),
        *_matrix(kernel, matrix),
        *_autotuning(kernel),
    ]
    return KernelScreen(
        kernel=kernel.kernel,
        isa=isa,
        num_warps=kernel.num_warps,
        registers=usage.vector_registers,
        spills=usage.spills,
        scratchpad_bytes=usage.scratchpad_bytes,
        occupancy=resident,
        matrix_instructions=matrix,
        memory_instructions=memory,
        findings=tuple(findings),
    )


def fact_value(facts: Sequence[Fact], quantity: str, *phrases: str) -> tuple[float, Fact] | None:
    """A fact and its value in bytes or pieces; None where none is stated, or several that differ.

    Args:
        phrases: What the condition must hold, each as a whole between commas: `per workgroup` is not `per compute unit`.
    """
    found = [
        (fact.number * UNIT_SCALE[fact.unit], fact)
        for fact in facts
        if fact.quantity == quantity and fact.number is not None and fact.unit in UNIT_SCALE
        if set(phrases) <= {phrase.strip() for phrase in fact.condition.split(",")}
    ]
    return found[0] if len({value for value, _ in found}) == 1 else None


def _read(path: Path) -> str:
    """The text of a file in whose place the worker may have put anything."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise Fault(Outcome.FORGED, f"{path.name}: {error.strerror}") from error
    with open(handle, "rb") as file:
        regular = stat.S_ISREG(os.fstat(handle).st_mode)
        data = file.read(MAX_ASSEMBLY_BYTES + 1) if regular else b""
    if not regular or len(data) > MAX_ASSEMBLY_BYTES:
        raise Fault(Outcome.FORGED, f"{path.name} is no assembly")
    return data.decode("utf-8", errors="replace")


def _usage(text: str, kernel: Record, backend: str) -> _Usage:
    """Fault when the compiler's account of the kernel is not there."""
    if backend == "hip":
        names = ("vgpr_count", "sgpr_count", "vgpr_spill_count", "group_segment_fixed_size")
        stated = [re.search(rf"^\s+\.{name}:\s+(\d{{1,9}})$", text, re.M) for name in names]
        numbers = [int(m[1]) for m in stated if m]
        if len(numbers) == len(names):
            return _Usage(*numbers[:3], max(kernel.scratchpad_bytes, numbers[3]))
    elif m := re.search(rf"Function {kernel.kernel}:\s+REG:(\d{{1,9}}) STACK:(\d{{1,9}}) ", text):
        # Triton counts spills so too: the stack frame, in registers (n_spills in its backends/nvidia/driver.c).
        return _Usage(int(m[1]), 0, int(m[2]) // REGISTER_BYTES, kernel.scratchpad_bytes)
    raise Fault(Outcome.FORGED, f"{kernel.assembly} does not say what {kernel.kernel} uses")


def _kept(instructions: Counter[str], wanted: re.Pattern[str]) -> dict[str, int]:
    return dict(Counter({i: n for i, n in instructions.items() if wanted.fullmatch(i)}).most_common(MAX_KINDS))


def _limit(check: str, amount: int, unit: str, facts: Sequence[Fact], key: Key) -> Finding:
    """Whether an amount keeps to what a fact allows."""
    if (limit := fact_value(facts, *key)) is None:
        return _unknown(check, [key])
    most, fact = limit
    over = amount > most
    message = f"{check} {amount:,}{unit} {'>' if over else '<='} {most:,.0f}{unit}"
    message += f" ({fact.condition})" if fact.condition else ""
    return Finding(check=check, state="over" if over else "ok", message=message, citation=fact.citation.id)


def _unknown(check: str, keys: Sequence[Key]) -> Finding:
    named = "; ".join(f"{quantity} ({', '.join(phrases)})" if phrases else quantity for quantity, *phrases in keys)
    return Finding(check=check, state="unknown", message=f"{check}: no document states one value of {named}")


def _workgroup_size(kernel: Record, facts: Sequence[Fact]) -> Finding:
    key = _EVERYWHERE["wavefront_size"]
    if (lanes := fact_value(facts, *key)) is None:
        return _unknown("workgroup size", [key])
    return _limit("workgroup size", kernel.num_warps * int(lanes[0]), "", facts, ("max_workgroup_size",))


def _spills(usage: _Usage) -> Finding:
    state, message = ("warn", f"{usage.spills:,} registers spilled per lane") if usage.spills else ("ok", "no spills")
    return Finding(check="spills", state=state, message=message)


def _occupancy(kernel: Record, usage: _Usage, backend: str, facts: Sequence[Fact]) -> tuple[int | None, Finding]:
    keys = COMPUTE_UNIT[backend]
    found = {name: value for name, key in keys.items() if (value := fact_value(facts, *key))}
    if missing := [key for name, key in keys.items() if name not in found]:
        return None, _unknown("occupancy", missing)
    unit = ComputeUnit(**{name: int(value) for name, (value, _) in found.items()})
    needs = Needs(kernel.num_warps, usage.vector_registers, usage.scalar_registers, usage.scratchpad_bytes)
    wavefronts, limit = occupancy(needs, unit)
    resident = -(-wavefronts // unit.simd_units) if backend == "hip" else wavefronts
    return resident, Finding(
        check="occupancy",
        state="ok" if resident else "over",
        message=f"occupancy {resident} {OCCUPANCY_UNIT[backend]}, limited by {limit}",
        citation=found[limit][1].citation.id,
    )


def _loads(memory: Mapping[str, int], backend: str, facts: Sequence[Fact]) -> list[Finding]:
    """One finding when the kernel loads from global memory lane by lane; tiles that are copied whole have no such width."""
    widths = [width for name in memory if (width := _load_bytes(name, backend))]
    if not widths or any(name.startswith(("UTMALDG", "UBLKCP")) for name in memory):
        return []
    key = ("global_access_width", "widest load")
    if (widest := fact_value(facts, *key)) is None:
        return [_unknown("global loads", [key])]
    most, fact = widest
    message = f"widest global load {max(widths)} B of {most:.0f} B per lane"
    state = "warn" if max(widths) < most else "ok"
    return [Finding(check="global loads", state=state, message=message, citation=fact.citation.id)]


def _load_bytes(instruction: str, backend: str) -> int:
    """Bytes per lane of a load from global memory; 0 for other instructions."""
    match = LOAD[backend].match(instruction)
    if match is None:
        return 0
    if backend == "cuda":
        sizes = [m[1] for part in instruction.split(".") if (m := re.fullmatch(r"[SU]?(8|16|32|64|128|256)", part))]
        return int(sizes[0]) // 8 if sizes else REGISTER_BYTES
    kind, times, bits = match.groups()
    return BYTES[kind] * int(times or 1) if kind else int(bits) // 8


def _matrix(kernel: Record, matrix: Mapping[str, int]) -> list[Finding]:
    if not kernel.uses_dot:
        return []
    if matrix:
        return [Finding(check="matrix", state="ok", message=f"matrix instructions {', '.join(matrix)}")]
    return [Finding(check="matrix", state="warn", message="its dot products use no matrix instruction")]


def _autotuning(kernel: Record) -> list[Finding]:
    if kernel.configurations == 1:
        return []
    message = f"compiled in the first of {kernel.configurations} configurations; nothing is known of the others"
    return [Finding(check="autotuning", state="warn", message=message)]

"""Holds a compiled Triton kernel against the cited facts of its target. No chip is needed, and no time is told.

The judge's side: a worker that may be hostile left the files, so they are read as text and nothing more. Every limit is
a fact; where no document states one, the finding is `unknown`.
"""

import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import ConfigDict, Field, ValidationError

from eval.fault import Fault
from eval.screen.occupancy import REGISTER_BYTES, ComputeUnit, Needs, occupancy
from kb.model.base import Frozen
from kb.model.evidence import Finding, KernelScreen, Outcome
from kb.model.fact import Fact
from kb.model.records import Form, Trust
from kb.model.target import Isa

MAX_ASSEMBLY_BYTES = 1 << 25
MAX_KINDS = 100
"""Kinds of instructions that are kept, the most frequent first."""

Count = Annotated[int, Field(ge=0, lt=1 << 31)]
Positive = Annotated[int, Field(ge=1, lt=1 << 31)]
Key = tuple[str, ...]
"""A quantity, then phrases that its condition must hold."""


class Record(Frozen):
    """What eval.languages.cross_compile says of a kernel."""

    model_config = ConfigDict(strict=True)

    kernel: str = Field(pattern=r"^[A-Za-z0-9_]+$", max_length=1000)
    num_warps: Positive
    num_stages: Count
    num_ctas: Positive
    scratchpad_bytes: Count
    """Per workgroup, as it is launched."""
    uses_dot: bool
    configurations: Positive
    """How many it declares for autotuning; the first that pruning leaves was compiled. 1 when it is not autotuned."""
    launches: Positive
    """How often one forward launches it."""
    assembly: str = Field(pattern=r"^[A-Za-z0-9_-]+\.(amdgcn|sass)$", max_length=200)
    """Name of the file."""


class Usage(NamedTuple):
    """What a kernel uses, as its assembly states it."""

    vector_registers: int
    """Per lane."""
    scalar_registers: int
    """Per wavefront; 0 where they are not taken from a pool."""
    spills: int
    """Vector registers per lane."""
    scratchpad_bytes: int
    """Per workgroup, besides what is asked for at launch or again."""


class Vendor(NamedTuple):
    """How a vendor's compiler writes, and which facts hold for the vendor's chips."""

    usage: Callable[[str, str], Usage | None]
    """Of a kernel, from the assembly and its name."""
    instruction: re.Pattern[str]
    """The name of the instruction on a line of assembly is the first group."""
    matrix: re.Pattern[str]
    memory: re.Pattern[str]
    load_bytes: Callable[[str], int]
    """Bytes per lane that an instruction loads from global memory; 0 for one that does not."""
    scratchpad: Key
    registers: Key
    compute_unit: Mapping[str, Key]
    """Facts that occupancy needs, by field of eval.screen.occupancy.ComputeUnit."""
    occupancy_per_simd: bool
    """Count wavefronts per SIMD unit; per compute unit otherwise."""


def screen_kernel(record: Mapping[str, Any], folder: Path, isa: Isa, facts: Sequence[Fact]) -> KernelScreen:
    """What the compiler made of one kernel, beside what the documents allow.

    Args:
        record: From eval.languages.cross_compile, by way of a worker.
        folder: Holds the assembly that the record names.
        isa: What it was compiled for; see kb.model.target.Target.isa.
        facts: Of the target.

    Raises:
        Fault: record or assembly are not what a compiler leaves.
    """
    try:
        kernel = Record.model_validate(record)
    except ValidationError as error:
        wrong = error.errors()[0]
        raise Fault(
            Outcome.FORGED, f"no record of a kernel, {'.'.join(map(str, wrong['loc']))}: {wrong['msg']}"
        ) from error
    vendor, lanes = VENDORS[isa.backend], isa.lanes or 1
    text = _read(folder / kernel.assembly)
    if (usage := vendor.usage(text, kernel.kernel)) is None:
        raise Fault(Outcome.FORGED, f"{kernel.assembly} does not say what {kernel.kernel} uses")
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


def fact_value(facts: Sequence[Fact], quantity: str, *phrases: str) -> tuple[float, Fact] | None:
    """A fact and its value, in bytes or pieces; None where none is stated, or several that differ.

    What was measured goes before what is stated, and a fact table before what kb read off other texts.

    Args:
        phrases: What the condition must hold between its commas, word for word: `per workgroup` alone does not match
            `per compute unit`, nor `opt-in` match `without opt-in`.
    """
    found = [
        (fact.amount, fact)
        for fact in facts
        if fact.quantity == quantity and fact.amount is not None and fact.conditions >= set(phrases)
    ]
    best = min(map(_rank, found), default=None)
    found = [pair for pair in found if _rank(pair) == best]
    return found[0] if len({value for value, _ in found}) == 1 else None


def _rank(found: tuple[float, Fact]) -> tuple[bool, bool]:
    _, fact = found
    return fact.trust is not Trust.MEASURED, fact.form is not Form.STATED


def _read(path: Path) -> str:
    """The text of a file, in whose place the worker may have put anything."""
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
        raise Fault(Outcome.FORGED, f"{path.name} is no assembly")
    return data.decode("utf-8", errors="replace")


def _kept(instructions: Counter[str], wanted: re.Pattern[str]) -> dict[str, int]:
    return dict(Counter({i: n for i, n in instructions.items() if wanted.fullmatch(i)}).most_common(MAX_KINDS))


def _limit(check: str, amount: int, unit: str, facts: Sequence[Fact], key: Key) -> Finding:
    """Whether an amount keeps to what a fact allows."""
    if (limit := fact_value(facts, *key)) is None:
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
    if usage.spills:
        return Finding(check="spills", state="warn", message=f"{usage.spills:,} registers spilled per lane")
    return Finding(check="spills", state="ok", message="no spills")


def _occupancy(needs: Needs, lanes: int, vendor: Vendor, facts: Sequence[Fact]) -> tuple[int | None, Finding]:
    found = {name: fact_value(facts, *key) for name, key in vendor.compute_unit.items()}
    known = {name: value for name, value in found.items() if value is not None}
    if missing := [key for name, key in vendor.compute_unit.items() if name not in known]:
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
    """No finding where lanes load nothing from global memory, or whole tiles are copied."""
    widest = max(map(vendor.load_bytes, memory), default=0)
    if not widest or any(name.startswith(_TILE_COPIES) for name in memory):
        return []
    key = ("global_access_width", "widest load")
    if (documented := fact_value(facts, *key)) is None:
        return [_unknown("global loads", key)]
    most, fact = documented
    state = "warn" if widest < most else "ok"
    message = f"widest global load {widest} B of {most:.0f} B per lane"
    return [Finding(check="global loads", state=state, message=message, citation=fact.citation.id)]


def _matrix(kernel: Record, matrix: Mapping[str, int]) -> list[Finding]:
    if not kernel.uses_dot:
        return []
    if not matrix:
        return [Finding(check="matrix", state="warn", message="its dot products use no matrix instruction")]
    return [Finding(check="matrix", state="ok", message=f"matrix instructions {', '.join(matrix)}")]


def _autotuning(kernel: Record) -> list[Finding]:
    if kernel.configurations == 1:
        return []
    message = f"compiled in the first of {kernel.configurations} configurations; the others were not looked at"
    return [Finding(check="autotuning", state="warn", message=message)]


def _amd_usage(text: str, kernel: str) -> Usage | None:
    """From the metadata, which states architected and accumulation registers as one sum."""
    names = ("vgpr_count", "sgpr_count", "vgpr_spill_count", "group_segment_fixed_size")
    stated = [re.search(rf"^[ -]+\.{name}: +(\d{{1,9}})$", text, re.M) for name in names]
    numbers = [int(m[1]) for m in stated if m]
    return Usage(*numbers) if len(numbers) == len(names) else None


def _nvidia_usage(text: str, kernel: str) -> Usage | None:
    """From cuobjdump's account. Spills are the stack frame in registers, as in Triton's own `n_spills` (driver.c)."""
    m = re.search(rf"Function {kernel}:\s+REG:(\d{{1,9}}) STACK:(\d{{1,9}}) ", text)
    return Usage(int(m[1]), 0, int(m[2]) // REGISTER_BYTES, 0) if m else None


_AMD_LOAD = re.compile(r"(?:global|buffer|flat)_load_(?:lds_)?(?:[su]?(byte|short|dword)(?:x(\d))?|[bui](\d{1,3}))")
_AMD_BYTES = {"byte": 1, "short": 2, "dword": 4}


def _amd_load_bytes(instruction: str) -> int:
    if (m := _AMD_LOAD.match(instruction)) is None:
        return 0
    return _AMD_BYTES[m[1]] * int(m[2] or 1) if m[1] else int(m[3]) // 8


_TILE_COPIES = ("UTMALDG", "UBLKCP")


def _nvidia_load_bytes(instruction: str) -> int:
    name, *parts = instruction.split(".")
    if name not in ("LDG", "LDGSTS"):
        return 0
    bits = [int(m[1]) for part in parts if (m := re.fullmatch(r"[SU]?(8|16|32|64|128|256)", part))]
    return bits[0] // 8 if bits else REGISTER_BYTES


_COMPUTE_UNIT: dict[str, Key] = {
    "simd_units": ("simd_units", "per compute unit"),
    "max_wavefronts": ("max_wavefronts", "per compute unit"),
    "vgpr_file_size": ("vgpr_file_size", "per compute unit"),
    "vgpr_granule": ("vgpr_granule", "allocation"),
    "lds_size": ("lds_size", "per compute unit"),
    "lds_granule": ("lds_granule", "per workgroup"),
}
VENDORS = {
    "hip": Vendor(
        usage=_amd_usage,
        instruction=re.compile(r"^[ \t]+([a-z]\w+)", re.M | re.A),
        matrix=re.compile(r"v_(?:mfma|smfmac|wmma|swmmac)\w*"),
        memory=re.compile(r"(?:global|buffer|flat|scratch)_(?:load|store|atomic)\w*|ds_(?:read|write|load|store)\w*"),
        load_bytes=_amd_load_bytes,
        scratchpad=("lds_size", "per workgroup"),
        registers=("vgprs_max", "per lane", "architected plus accumulation"),
        compute_unit=_COMPUTE_UNIT
        | {"sgpr_file_size": ("sgpr_file_size", "per compute unit"), "sgpr_granule": ("sgpr_granule", "allocation")},
        occupancy_per_simd=True,
    ),
    "cuda": Vendor(
        usage=_nvidia_usage,
        instruction=re.compile(r"^[ \t]+/\*[0-9a-f]{4,8}\*/ +(?:@!?\w+ +)?([A-Z][\w.]+)", re.M | re.A),
        matrix=re.compile(r"[A-Z]*MMA(?:\..*)?"),
        memory=re.compile(r"(?:(?:LD|ST)(?:[GSL]|SM|TM)?|LDGSTS|UTMA(?:LDG|STG)|UBLKCP|ATOM[GS]?|REDG?)(?:\..*)?"),
        load_bytes=_nvidia_load_bytes,
        scratchpad=("lds_size", "per workgroup", "opt-in"),
        registers=("vgprs_max", "per thread"),
        compute_unit=_COMPUTE_UNIT
        | {"lds_reserved": ("lds_reserved", "per workgroup"), "max_workgroups": ("max_workgroups", "per compute unit")},
        occupancy_per_simd=False,
    ),
}
"""By what Triton calls the backend."""

"""Reads NVIDIA's assembly as cuobjdump writes it, and what ptxas and PTX say of a kernel."""

import math
import re

from eval.screen.occupancy import REGISTER_BYTES
from eval.screen.vendor import COMPUTE_UNIT, Usage, Vendor


def _code(text: str, kernel: str) -> str:
    _, _, following = text.partition(f"\t\tFunction : {kernel}\n")
    return following.partition("\t\tFunction : ")[0]


def _usage(text: str, kernel: str) -> Usage | None:
    """From cuobjdump's summary, whose scratchpad includes what the chip reserves, so that only ptxas states its bytes.

    Without ptxas' words, spills are the stack frame in registers, as in Triton's `n_spills` (driver.c).
    """
    if (m := re.search(rf"Function {kernel}:\s+REG:(\d{{1,9}}) STACK:(\d{{1,9}}) ", text)) is None:
        return None
    _, _, said = text.partition(f"entry function '{kernel}' for ")
    said = said.partition("entry function")[0]
    spilled, scratchpad = (re.search(rf"(\d{{1,9}}) bytes {what}", said) for what in ("spill stores", "smem"))
    _, _, ptx = text.partition(f".entry {kernel}(")
    head, _, body = ptx.partition(".entry ")[0].partition("{")
    bounds = re.search(r"\.(?:max|req)ntid (\d{1,9}(?:, \d{1,9}){0,2})", head)
    unsized = re.findall(r"^\.extern \.shared [^;]*?(\w+)\[\]", text, re.M | re.A)
    return Usage(
        vector_registers=int(m[1]),
        scalar_registers=0,
        spills=int(spilled[1] if spilled else m[2]) // REGISTER_BYTES,
        scratchpad_bytes=int(scratchpad[1]) if scratchpad else 0,
        workgroup_size=math.prod(map(int, bounds[1].split(", "))) if bounds else None,
        asks_at_launch=any(re.search(rf"\b{name}\b", body) for name in unsized),
    )


def _load_bytes(instruction: str) -> int:
    name, *parts = instruction.split(".")
    if name not in ("LDG", "LDGSTS"):
        return 0
    bits = [int(m[1]) for part in parts if (m := re.fullmatch(r"[SU]?(8|16|32|64|128|256)", part))]
    return bits[0] // 8 if bits else REGISTER_BYTES


NVIDIA = Vendor(
    kernels=re.compile(r"^\t\tFunction : (\w+)$", re.M | re.A),
    code=_code,
    usage=_usage,
    instruction=re.compile(r"^[ \t]+/\*[0-9a-f]{4,8}\*/ +(?:@!?\w+ +)?([A-Z][\w.]+)", re.M | re.A),
    matrix=re.compile(r"[A-Z]*MMA(?:\..*)?"),
    memory=re.compile(r"(?:(?:LD|ST)(?:[GSL]|SM|TM)?|LDGSTS|UTMA(?:LDG|STG)|UBLKCP|ATOM[GS]?|REDG?)(?:\..*)?"),
    writes=re.compile(r"ST(?:G|\b)|UTMASTG|UBLKCP|ATOM|RED[.G]"),
    load_bytes=_load_bytes,
    scratchpad=("lds_size", "per workgroup", "opt-in"),
    registers=("vgprs_max", "per thread"),
    compute_unit=COMPUTE_UNIT | {"lds_reserved": "per workgroup", "max_workgroups": "per compute unit"},
    occupancy_per_simd=False,
    tile_copies=("UTMALDG", "UBLKCP"),
)

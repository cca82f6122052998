"""Reads NVIDIA's assembly as cuobjdump writes it."""

import re

from eval.screen.occupancy import REGISTER_BYTES
from eval.screen.vendor import COMPUTE_UNIT, Usage, Vendor


def _usage(text: str, kernel: str) -> Usage | None:
    """From cuobjdump's summary. Spills are the stack frame in registers, as in Triton's `n_spills` (driver.c)."""
    m = re.search(rf"Function {kernel}:\s+REG:(\d{{1,9}}) STACK:(\d{{1,9}}) ", text)
    return Usage(int(m[1]), 0, int(m[2]) // REGISTER_BYTES, 0) if m else None


def _load_bytes(instruction: str) -> int:
    name, *parts = instruction.split(".")
    if name not in ("LDG", "LDGSTS"):
        return 0
    bits = [int(m[1]) for part in parts if (m := re.fullmatch(r"[SU]?(8|16|32|64|128|256)", part))]
    return bits[0] // 8 if bits else REGISTER_BYTES


NVIDIA = Vendor(
    usage=_usage,
    instruction=re.compile(r"^[ \t]+/\*[0-9a-f]{4,8}\*/ +(?:@!?\w+ +)?([A-Z][\w.]+)", re.M | re.A),
    matrix=re.compile(r"[A-Z]*MMA(?:\..*)?"),
    memory=re.compile(r"(?:(?:LD|ST)(?:[GSL]|SM|TM)?|LDGSTS|UTMA(?:LDG|STG)|UBLKCP|ATOM[GS]?|REDG?)(?:\..*)?"),
    load_bytes=_load_bytes,
    scratchpad=("lds_size", "per workgroup", "opt-in"),
    registers=("vgprs_max", "per thread"),
    compute_unit=COMPUTE_UNIT | {"lds_reserved": "per workgroup", "max_workgroups": "per compute unit"},
    occupancy_per_simd=False,
    tile_copies=("UTMALDG", "UBLKCP"),
)

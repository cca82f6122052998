"""Describes a vendor for the screen: the format of its assembly, and the facts of its limits."""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

Key = tuple[str, ...]
"""A quantity, then phrases that its condition must contain."""


class Usage(NamedTuple):
    """The resources of a kernel, as stated in its assembly."""

    vector_registers: int
    """Vector registers per lane."""
    scalar_registers: int
    """Scalar registers per wavefront; 0 if they do not come from a pool."""
    spills: int
    """Spilled vector registers per lane."""
    scratchpad_bytes: int
    """Bytes per workgroup; the launch may ask for more, or for the same bytes."""
    workgroup_size: int | None = None
    """The largest that the kernel says it is launched with, in lanes."""
    asks_at_launch: bool = False
    """Whether it has scratchpad whose size only the launch states."""


class Vendor(NamedTuple):
    """The format of a vendor's assembly, and the facts that limit kernels on its chips."""

    kernels: re.Pattern[str]
    """Pattern of a place in the assembly that names a kernel."""
    code: Callable[[str, str], str]
    """The instructions of a kernel, from the text of the assembly and the kernel's name."""
    usage: Callable[[str, str], Usage | None]
    """Usage of a kernel, from the text of the assembly and the kernel's name."""
    instruction: re.Pattern[str]
    """Pattern of a line of assembly; its first group is the name of the instruction."""
    matrix: re.Pattern[str]
    memory: re.Pattern[str]
    writes: re.Pattern[str]
    """Pattern of the beginning of an instruction that writes to global memory."""
    load_bytes: Callable[[str], int]
    """Bytes per lane that an instruction loads from global memory; 0 for other instructions."""
    scratchpad: Key
    registers: Key
    compute_unit: Mapping[str, str]
    """Facts for occupancy, named as the fields of eval.screen.occupancy.ComputeUnit, each with its condition."""
    occupancy_per_simd: bool
    """Whether to report wavefronts per SIMD unit instead of per compute unit."""
    tile_copies: tuple[str, ...] = ()
    """Prefixes of instructions that copy whole tiles from global memory."""


COMPUTE_UNIT = {
    **dict.fromkeys(("simd_units", "max_wavefronts", "vgpr_file_size", "lds_size"), "per compute unit"),
    "vgpr_granule": "allocation",
    "lds_granule": "per workgroup",
}
"""Facts for occupancy that all vendors need."""

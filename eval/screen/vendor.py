"""What a screen must know of a vendor: how its compiler writes, and which facts hold for its chips."""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

Key = tuple[str, ...]
"""A quantity, then phrases that its condition must hold."""


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
    compute_unit: Mapping[str, str]
    """Facts that occupancy needs, named as the fields of eval.screen.occupancy.ComputeUnit, each with its condition."""
    occupancy_per_simd: bool
    """Count wavefronts per SIMD unit; per compute unit otherwise."""
    tile_copies: tuple[str, ...] = ()
    """How instructions begin that copy whole tiles from global memory."""


COMPUTE_UNIT = {
    **dict.fromkeys(("simd_units", "max_wavefronts", "vgpr_file_size", "lds_size"), "per compute unit"),
    "vgpr_granule": "allocation",
    "lds_granule": "per workgroup",
}
"""Facts that occupancy needs of every vendor."""

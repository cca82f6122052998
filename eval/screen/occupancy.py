"""Compute how many wavefronts of a kernel fit on a compute unit at once, and which limit decides.

A workgroup is resident as a whole or not at all. Registers come from the SIMD unit that runs the wavefront, so the
remainders of several SIMD units cannot be combined; scratchpad comes from the compute unit.

For NVIDIA this is cudaOccMaxActiveBlocksPerMultiprocessor of cuda_occupancy.h (CUDA runtime 13.0.88). For AMD the
limits are those of ROCm FlyDSL's Kernel tuning guide (2026-08-21), Register budget and occupancy, rounded as in the
LLVM 22.1 User Guide for AMDGPU Backend, compute_pgm_rsrc1 and 2. Named barriers and clusters, which can only lower the
result, are ignored.
"""

from typing import NamedTuple

from eval.screen.vendor import Usage

REGISTER_BYTES = 4
"""A register is 32 bits wide; a vector register has 32 bits for each lane."""


class ComputeUnit(NamedTuple):
    """The resources of a compute unit, named after the facts. Sizes are in bytes, register granules in registers."""

    lanes: int
    """Lanes of a wavefront."""
    simd_units: int
    max_wavefronts: int
    vgpr_file_size: int
    vgpr_granule: int
    lds_size: int
    lds_granule: int
    lds_reserved: int = 0
    """Scratchpad reserved for each workgroup in addition to its own."""
    sgpr_file_size: int | None = None
    sgpr_granule: int = 1
    max_workgroups: int | None = None


def occupancy(usage: Usage, wavefronts: int, unit: ComputeUnit) -> tuple[int, str]:
    """Wavefronts per compute unit (0 if no workgroup fits), and the fact that limits them.

    All of `unit` but its reserve is positive, and so is the number of wavefronts per workgroup.
    """
    fitting = _workgroups(usage, wavefronts, unit)
    limit = min(fitting, key=fitting.__getitem__)
    return fitting[limit] * wavefronts, limit


def _workgroups(usage: Usage, wavefronts: int, unit: ComputeUnit) -> dict[str, int]:
    """For each fact, the number of workgroups that would fit if it were the only limit."""
    vector_bytes = _round_up(usage.vector_registers, unit.vgpr_granule) * unit.lanes * REGISTER_BYTES
    scalar_bytes = _round_up(usage.scalar_registers, unit.sgpr_granule) * REGISTER_BYTES
    scratchpad_bytes = _round_up(usage.scratchpad_bytes + unit.lds_reserved, unit.lds_granule)
    fitting = {"max_wavefronts": unit.max_wavefronts // wavefronts}
    if unit.max_workgroups is not None:
        fitting["max_workgroups"] = unit.max_workgroups
    if vector_bytes:
        fitting["vgpr_file_size"] = _wavefronts(unit.vgpr_file_size, vector_bytes, unit) // wavefronts
    if scalar_bytes and unit.sgpr_file_size is not None:
        fitting["sgpr_file_size"] = _wavefronts(unit.sgpr_file_size, scalar_bytes, unit) // wavefronts
    if scratchpad_bytes:
        fitting["lds_size"] = unit.lds_size // scratchpad_bytes
    return fitting


def _wavefronts(file_bytes: int, wavefront_bytes: int, unit: ComputeUnit) -> int:
    """Number of wavefronts whose registers fit into a register file divided evenly among the SIMD units."""
    return file_bytes // unit.simd_units // wavefront_bytes * unit.simd_units


def _round_up(amount: int, granule: int) -> int:
    return -(-amount // granule) * granule

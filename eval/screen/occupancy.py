"""How many wavefronts of a kernel fit on a compute unit at once, and what keeps the next workgroup out.

A workgroup is resident whole or not at all. Registers are taken on the SIMD unit that runs a wavefront, so what is left
over on each of them cannot be put together; scratchpad is taken from the compute unit.

For NVIDIA this is cudaOccMaxActiveBlocksPerMultiprocessor of cuda_occupancy.h (CUDA runtime 13.0.88). For AMD the
limits are those of ROCm FlyDSL's Kernel tuning guide (2026-08-21), Register budget and occupancy, rounded as the LLVM
22.1 User Guide for AMDGPU Backend says under compute_pgm_rsrc1 and 2. Named barriers and clusters are left out: they
can only lower it.
"""

from typing import NamedTuple

REGISTER_BYTES = 4
"""A register is 32 bits wide; a vector register is that for each lane."""


class Needs(NamedTuple):
    """What a kernel takes."""

    wavefronts: int
    """Per workgroup."""
    vector_registers: int
    """Per lane."""
    scalar_registers: int
    """Per wavefront; 0 where they are not taken from a pool."""
    scratchpad_bytes: int
    """Per workgroup."""


class ComputeUnit(NamedTuple):
    """What a compute unit has, by the names of the facts. Sizes are in bytes, granules of registers in registers."""

    lanes: int
    """Of a wavefront."""
    simd_units: int
    max_wavefronts: int
    vgpr_file_size: int
    vgpr_granule: int
    lds_size: int
    lds_granule: int
    lds_reserved: int = 0
    """Taken for each workgroup besides what it asks for."""
    sgpr_file_size: int | None = None
    sgpr_granule: int = 1
    max_workgroups: int | None = None


def occupancy(needs: Needs, unit: ComputeUnit) -> tuple[int, str]:
    """Wavefronts per compute unit, and the fact that allows no more; 0 when not one workgroup fits."""
    fitting = _workgroups(needs, unit)
    limit = min(fitting, key=fitting.__getitem__)
    return fitting[limit] * needs.wavefronts, limit


def _workgroups(needs: Needs, unit: ComputeUnit) -> dict[str, int]:
    """Workgroups that fit, were the named fact the only limit."""
    vector_bytes = _round_up(needs.vector_registers, unit.vgpr_granule) * unit.lanes * REGISTER_BYTES
    scalar_bytes = _round_up(needs.scalar_registers, unit.sgpr_granule) * REGISTER_BYTES
    scratchpad_bytes = _round_up(needs.scratchpad_bytes + unit.lds_reserved, unit.lds_granule)
    fitting = {"max_wavefronts": unit.max_wavefronts // needs.wavefronts}
    if unit.max_workgroups is not None:
        fitting["max_workgroups"] = unit.max_workgroups
    if vector_bytes:
        fitting["vgpr_file_size"] = _wavefronts(unit.vgpr_file_size, vector_bytes, unit) // needs.wavefronts
    if scalar_bytes and unit.sgpr_file_size is not None:
        fitting["sgpr_file_size"] = _wavefronts(unit.sgpr_file_size, scalar_bytes, unit) // needs.wavefronts
    if scratchpad_bytes:
        fitting["lds_size"] = unit.lds_size // scratchpad_bytes
    return fitting


def _wavefronts(file_bytes: int, wavefront_bytes: int, unit: ComputeUnit) -> int:
    """Wavefronts whose registers fit into a file that the SIMD units share out evenly."""
    return file_bytes // unit.simd_units // wavefront_bytes * unit.simd_units


def _round_up(amount: int, granule: int) -> int:
    return -(-amount // granule) * granule

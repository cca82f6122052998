"""Reads AMD's assembly as LLVM writes it."""

import re

from eval.screen.vendor import COMPUTE_UNIT, Usage, Vendor

_LOAD = re.compile(r"(?:global|buffer|flat)_load_(?:lds_)?(?:[su]?(byte|short|dword)(?:x(\d))?|[bui](\d{1,3}))")
_BYTES = {"byte": 1, "short": 2, "dword": 4}
_STATED = ("vgpr_count", "sgpr_count", "vgpr_spill_count", "group_segment_fixed_size", "max_flat_workgroup_size")


def _code(text: str, kernel: str) -> str:
    _, _, following = text.partition(f"\n{kernel}:")
    return following.partition("\t.amdhsa_kernel ")[0]


def _usage(text: str, kernel: str) -> Usage | None:
    """From the kernel's metadata, which state architected and accumulation registers as one sum.

    The compiler writes them at the end; what looks like them before may be a candidate's own text in inline assembly. A
    kernel without launch bounds is compiled for the largest workgroup, which is then stated.
    """
    _, _, metadata = text.rpartition("\t.amdgpu_metadata\n")
    about = next((part for part in metadata.split("\n  - ") if re.search(rf"\.symbol: +{kernel}\.kd$", part, re.M)), "")
    stated = [re.search(rf"^ *\.{name}: +(\d{{1,9}})$", about, re.M) for name in _STATED]
    numbers = [int(m[1]) for m in stated if m]
    return Usage._make((*numbers, False)) if len(numbers) == len(_STATED) else None


def _load_bytes(instruction: str) -> int:
    if (m := _LOAD.match(instruction)) is None:
        return 0
    return _BYTES[m[1]] * int(m[2] or 1) if m[1] else int(m[3]) // 8


AMD = Vendor(
    kernels=re.compile(r"^ +\.symbol: +(\w+)\.kd$", re.M | re.A),
    code=_code,
    usage=_usage,
    instruction=re.compile(r"^[ \t]+([a-z]\w+)", re.M | re.A),
    matrix=re.compile(r"v_(?:mfma|smfmac|wmma|swmmac)\w*"),
    memory=re.compile(r"(?:global|buffer|flat|scratch)_(?:load|store|atomic)\w*|ds_(?:read|write|load|store)\w*"),
    writes=re.compile(r"(?:global|buffer|flat)_(?:store|atomic)"),
    load_bytes=_load_bytes,
    scratchpad=("lds_size", "per workgroup"),
    registers=("vgprs_max", "per lane", "architected plus accumulation"),
    compute_unit=COMPUTE_UNIT | {"sgpr_file_size": "per compute unit", "sgpr_granule": "allocation"},
    occupancy_per_simd=True,
)

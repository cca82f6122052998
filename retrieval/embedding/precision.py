"""The precision in which texts are embedded: int8 where this CPU is fast at it, float32 elsewhere."""

from enum import StrEnum
from pathlib import Path

from retrieval.embedding.gpu import has_driver

CPU = Path("/proc/cpuinfo")
_FAST_AT_INT8 = {"avx512_vnni", "avx_vnni", "amx_int8"}
"""Flags of CPUs that multiply and add bytes in one instruction, without an intermediate sum that could overflow."""


class Precision(StrEnum):
    """Vectors of different precisions are never compared; each fingerprint ends with its precision."""

    FLOAT32 = "float32"
    INT8 = "int8"


def fastest() -> Precision:
    """The precision to embed in on this machine. A GPU embeds in float32, so its vectors need queries in float32."""
    return Precision.INT8 if is_fast_at_int8() and not has_driver() else Precision.FLOAT32


def is_fast_at_int8() -> bool:
    """Whether this CPU has VNNI or AMX; known on Linux only."""
    try:
        return any(flag in _FAST_AT_INT8 for flag in CPU.read_text(encoding="utf-8").split())
    except OSError:
        return False

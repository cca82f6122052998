"""Read the shapes of matrix instructions from their names: `v_mfma_f32_32x32x8_f16`, `wgmma...m64n{N}k16...f16`.

The forms are those of the LLVM 22 User Guide for AMDGPU Backend and of the PTX ISA 9.0, Matrix Multiply-Accumulate.
"""

import re
from collections.abc import Iterator

from ingest.extract.cells import read_fact
from ingest.extract.subjects import UNKNOWN, Subjects
from kb.facts.quantities import SHAPE
from kb.types.records import FactRecord

_MFMA = re.compile(
    r"\bv_(?P<kind>s?mfmac?)_(?:scale_)?[a-z]\d+_(?P<shape>\d+x\d+x\d+)_?(?:\d+b_)?(?P<type>f16|bf16|f32|xf32|f64|i8|fp8|bf8|f8f6f4)\w*"
)
_MMA = re.compile(r"(?<![a-z])m(?P<m>\d+)n(?P<n>\d+|\{?N\}?)k(?P<k>\d+)(?!\d)(?P<rest>[\w.{|}*]*)")
_TYPES = {
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    **dict.fromkeys(("xf32", "tf32"), "tf32"),
    **dict.fromkeys(("i8", "s8", "u8"), "int8"),
    **dict.fromkeys(("fp8", "bf8", "e4m3", "e5m2"), "float8"),
}
_TYPE = re.compile(r"(?<![a-z0-9])(?:tf32|bf16|f16|f64|[su]8|e4m3|e5m2)(?![0-9])")
"""Types of operands; f32 alone is the type of the accumulator."""
_LONGEST_NAME = 80
"""Characters of an instruction's name that are kept as a condition."""


def instruction_shapes(text: str, at: int, around: tuple[str, ...], subjects: Subjects) -> Iterator[FactRecord]:
    """Yield one fact for each shape and operand type that instructions name in `text`, which begins at `at`."""
    seen: set[tuple[str, str]] = set()
    for match in (*_MFMA.finditer(text), *_MMA.finditer(text)):
        start, end = text.rfind("\n", 0, match.start()) + 1, text.find("\n", match.end())
        line = text[start : end if end >= 0 else len(text)]
        for shape, dtype in _spelt(match, line):
            if (shape, dtype) in seen:
                continue
            seen.add((shape, dtype))
            sparse = match["kind"].startswith("s") if match.re is _MFMA else ".sp" in match["rest"]
            density = "sparse" if sparse else "dense"
            named = subjects.most_specific(n.name for n in subjects.named(line)) or around
            for target in () if UNKNOWN in named else named:
                conditions = (dtype, density, "matrix", match.group().rstrip(".").split()[0][:_LONGEST_NAME])
                yield read_fact(target, "matrix_shape", shape, SHAPE, conditions, at + start, at + start + len(line))


def _spelt(match: re.Match[str], line: str) -> Iterator[tuple[str, str]]:
    if match.re is _MFMA:
        if dtype := _TYPES.get(match["type"]):
            yield match["shape"], dtype
        return
    shape = f"{match['m']}x{match['n'].strip('{}')}x{match['k']}"
    types = _TYPE.findall(match["rest"]) or _TYPE.findall(line)
    for dtype in dict.fromkeys(_TYPES[t] for t in types):
        yield shape, dtype

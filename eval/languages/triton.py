"""The language `triton`: Python that launches Triton kernels."""

import importlib.metadata
import re
from pathlib import Path

from eval.languages.torch import MODEL_NEW, Torch

RULES = f"""\
Write one Python file that imports `torch`, `triton` and `triton.language as tl`.
{MODEL_NEW}
- All computation on tensor values happens in `@triton.jit` kernels; torch allocates and reshapes around them.
- It must also work in Triton's interpreter on CPU tensors: no inline assembly, no device queries.
- Code outside the kernels may use shapes, strides and dtypes but not values: no `.item()`, no branch on data.
- Mask every tail: no size is a multiple of any block.
- Use 64-bit integers for offsets into tensors that may exceed 2**31 elements: `pid.to(tl.int64)`.
- Do not use `triton.autotune`: declare tunable constants as described below, and pass them to the kernel as
  `tl.constexpr`."""


class Triton(Torch):
    """Python that defines `ModelNew` and launches Triton kernels."""

    name: str = "triton"
    searched: tuple[str, ...] = ("Triton kernel options num_warps num_stages", "Triton kernel tuning autotune")
    fences: tuple[str, ...] = ("python", "py", "triton")
    rules: str = RULES
    adapter: Path = Path(__file__).with_name("triton_model.py")

    def claims(self, source: str) -> bool:
        return re.search(r"^\s*(import|from)\b[^#\n]*\btriton\b", source, re.M) is not None

    def versions(self) -> dict[str, str]:
        return {"triton": importlib.metadata.version("triton")}

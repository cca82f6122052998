"""The language `triton`: Python that launches Triton kernels."""

import importlib.metadata
import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from eval.languages.torch import MODEL_NEW, Torch
from eval.supervisor.language import ADAPTERS
from kb.types.target import Isa

RULES = f"""\
Write one Python file that imports `torch`, `triton` and `triton.language as tl`.
{MODEL_NEW}
- `forward` launches `@triton.jit` kernels that do the work. Operations of torch around them are allowed, and so are
  `triton.autotune`, `libdevice` and inline assembly.
- Where the target's GPU is not present, the file runs on the CPU in Triton's interpreter at small sizes, and its
  kernels are compiled for the target at the task's own sizes. So ask no device for its properties: write constants.
- Mask every tail: no size is a multiple of any block. A masked load without `other` gives any value where its mask is
  false.
- Use 64-bit integers for offsets into tensors that may exceed 2**31 elements: `pid.to(tl.int64)`.
- Rather than with `triton.autotune`, declare tunable constants as described below, and pass them to the kernel as
  `tl.constexpr`: then kb searches them."""


class Triton(Torch):
    """Python that defines `ModelNew` and launches Triton kernels."""

    name: str = "triton"
    searched: tuple[str, ...] = ("Triton kernel options num_warps num_stages", "Triton kernel tuning autotune")
    fences: tuple[str, ...] = ("python", "py", "triton")
    rules: str = RULES
    preload: tuple[str, ...] = ("torch", "triton", "eval.worker.adapters.triton")
    adapter: Path = ADAPTERS / "triton.py"
    isa: Isa | None = None
    """The target, if its chip is not present: kernels are interpreted and compiled for it."""

    def build_options(self) -> Mapping[str, Any]:
        return {"isa": asdict(self.isa)} if self.isa else {}

    def claims(self, source: str) -> bool:
        return re.search(r"^\s*(import|from)\b[^#\n]*\btriton\b", source, re.M) is not None

    def versions(self) -> dict[str, str]:
        return {"triton": importlib.metadata.version("triton")}

"""The language `triton`: Python that launches Triton kernels."""

import importlib.metadata
import re
from pathlib import Path

from eval.languages.torch import MODEL_NEW, Torch
from eval.supervisor.language import ADAPTERS

RULES = f"""\
Write one Python file that imports `torch`, `triton` and `triton.language as tl`.
{MODEL_NEW}
- All computation in `forward` happens in `@triton.jit` kernels. Outside of them it may allocate, fill with a number
  (`torch.zeros`, `y.fill_(1)`), take views and launch; it never sees the values of its inputs. Refused are all other
  operations of torch, also copies and casts of tensors: no `.item()`, `.to(dtype)`, `.clone()`, `torch.cat`.
- The constructor and `load_reference` may use any of torch, for example to transpose or pack weights, but no kernel.
- Kernels are functions at the top level of the file. They use only `tl`, each other, and constants at the top level:
  numbers and `tl.constexpr(...)`. No `isinstance`, f-strings, lambdas or device queries; `and`, `or`, `not` only in
  conditions.
- Kernels must also work in Triton's interpreter: no inline assembly, no `libdevice`. Launch the same at every size.
- Mask every tail: no size is a multiple of any block. A masked load without `other` gives any value where its mask is
  false.
- Use 64-bit integers for offsets into tensors that may exceed 2**31 elements: `pid.to(tl.int64)`.
- Do not use `triton.autotune`: declare tunable constants as described below, and pass them to the kernel as
  `tl.constexpr`."""


class Triton(Torch):
    """Python that defines `ModelNew` and launches Triton kernels."""

    name: str = "triton"
    searched: tuple[str, ...] = ("Triton kernel options num_warps num_stages", "Triton kernel tuning autotune")
    fences: tuple[str, ...] = ("python", "py", "triton")
    rules: str = RULES
    preload: tuple[str, ...] = ("torch", "triton", "eval.worker.adapters.triton")
    adapter: Path = ADAPTERS / "triton.py"

    def claims(self, source: str) -> bool:
        return re.search(r"^\s*(import|from)\b[^#\n]*\btriton\b", source, re.M) is not None

    def versions(self) -> dict[str, str]:
        return {"triton": importlib.metadata.version("triton")}

"""The language `triton`: Python that launches Triton kernels."""

import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from eval.languages.rules import rules_of
from eval.languages.torch import MODEL_NEW, Torch
from eval.supervisor.language import ADAPTERS
from kb.types.target import Isa


class Triton(Torch):
    """Python that defines `ModelNew` and launches Triton kernels."""

    name: str = "triton"
    searched: tuple[str, ...] = ("Triton kernel options num_warps num_stages", "Triton kernel tuning autotune")
    fences: tuple[str, ...] = ("python", "py", "triton")
    rules: str = rules_of("triton", MODEL_NEW)
    preload: tuple[str, ...] = ("torch", "triton", "eval.worker.adapters.triton")
    adapter: Path = ADAPTERS / "triton.py"
    gpu_adapter: Path | None = ADAPTERS / "triton_gpu.py"
    tools: tuple[str, ...] = ("triton",)
    isa: Isa | None = None
    """The target, if its chip is not present: kernels are interpreted and compiled for it."""

    def build_options(self) -> Mapping[str, Any]:
        return {"isa": asdict(self.isa)} if self.isa else {}

    def claims(self, source: str) -> bool:
        return re.search(r"^\s*(import|from)\b[^#\n]*\btriton\b", source, re.M) is not None

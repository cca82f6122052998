"""The language `torch`: Python that uses only torch."""

from pathlib import Path

from eval.languages.rules import rules_of
from eval.supervisor.language import ADAPTERS, WAIT, JudgedLanguage

MODEL_NEW = rules_of("python.contract")
"""The rules for every language in which a candidate is a Python class."""

IDLE = f"""
import pathlib
import time


class ModelNew(Model):
    def forward(self, *inputs):
        start = time.perf_counter()
        outputs = super().forward(*inputs)
        wait_s = float(pathlib.Path("{WAIT}").read_text()) * 1e-6
        while time.perf_counter() - start < wait_s:
            pass
        return outputs
"""
"""It works at first, because a call by several threads, or of much memory, is followed by a later answer."""


class Torch(JudgedLanguage):
    """Python that defines `ModelNew` with only torch, including `load_inline`."""

    name: str = "torch"
    suffix: str = ".py"
    fences: tuple[str, ...] = ("python", "py")
    rules: str = rules_of("torch", MODEL_NEW)
    strided: bool = True
    preload: tuple[str, ...] = ("torch", "eval.worker.adapters.python")
    tunable: str = "BLOCK = 1024  # tune: 256, 512, 1024"
    adapter: Path = ADAPTERS / "python.py"
    gpu_adapter: Path | None = ADAPTERS / "gpu.py"

    def idle(self, reference: str) -> str:
        return f"{reference}\n{IDLE}"

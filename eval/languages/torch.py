"""The language `torch`: Python that uses only torch."""

from pathlib import Path

from eval.supervisor.language import ADAPTERS, WAIT, JudgedLanguage

MODEL_NEW = """\
- Define `class ModelNew(torch.nn.Module)`. It is built as `ModelNew(*get_init_inputs())`, so its constructor takes the
  arguments of `Model`'s, and called as `forward(*inputs)` with the arguments of `Model.forward`.
- Parameters: either its `state_dict` has the names and shapes listed above (it is loaded strictly), or it defines
  `load_reference(self, state)`, which is called once, untimed, with a dict from name to tensor.
- Return fresh tensors of the listed number, order and dtype: never an input, a view of one, or a tensor kept from an
  earlier call. Change no input.
- Allocate on the device of the inputs, as `torch.empty_like(x)` or `x.new_empty(...)` do; do not name a device.
- Sizes vary between builds: take them from the tensors."""
"""The rules for every language in which a candidate is a Python class."""

RULES = f"""\
Write one Python file that uses only `torch`, which includes `torch.utils.cpp_extension.load_inline`.
{MODEL_NEW}"""


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
    rules: str = RULES
    preload: tuple[str, ...] = ("torch", "eval.worker.adapters.python")
    tunable: str = "BLOCK = 1024  # tune: 256, 512, 1024"
    adapter: Path = ADAPTERS / "python.py"
    gpu_adapter: Path | None = ADAPTERS / "gpu.py"

    def idle(self, reference: str) -> str:
        return f"{reference}\n{IDLE}"

"""What the baselines of a task are, and what their workers are started with. This module does not load torch.

On a GPU they are what torch offers to make the reference fast, and what the task itself names.
"""

import ast
import os
from collections.abc import Mapping
from typing import Any

from eval.supervisor.settings import ALL_GUARDS, Guard
from kb.types.kernels import Interface, Precision, Task

EAGER, COMPILED = "eager", "torch.compile"
SOURCES: Mapping[str, str] = {
    EAGER: "ModelNew = Model",
    COMPILED: """
class ModelNew(Model):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.forward = torch.compile(super().forward, dynamic=False)
""",
}
"""What makes a candidate of a reference, by the name of the baseline."""
AUTOTUNED = SOURCES[COMPILED].replace("dynamic=False", 'dynamic=False, mode="max-autotune-no-cudagraphs"')
IEEE = "torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False\n"
IN_TF32 = ", TF32"
"""How the names of the baselines in TF32 end."""
TF32 = "torch.set_float32_matmul_precision('high')\ntorch.backends.cudnn.allow_tf32 = True\n"
CHANNELS_LAST = """
class ModelNew(Model):
    def load_reference(self, state):
        self.load_state_dict(state)
        self.to(memory_format=torch.channels_last)

    def forward(self, *inputs):
        return super().forward(*(
            x.contiguous(memory_format=torch.channels_last) if isinstance(x, torch.Tensor) and x.dim() == 4 else x
            for x in inputs
        ))
"""
IMAGE_DIMENSIONS = 4
LIBRARY = "Baseline"
"""A class that a task's file may define beside Model, with the same parameters: the same operation by a library."""

GUARDS = ALL_GUARDS - {Guard.ALIASING, Guard.REST}
"""A reference is not suspected; it may return a part of its input, and what runs beside it is not its own."""
INDUCTOR_PREFIXES = ("TORCHINDUCTOR_", "TORCHDYNAMO_")
CACHE, TRITON_CACHE = "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"
"""How the environment names settings of torch.compile, the folder of what it has compiled, and that of its kernels."""
ONE_PROCESS = {
    "TORCHINDUCTOR_COMPILE_THREADS": "1",
    "TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS": "0",
    "TORCHINDUCTOR_VEC_ISA_OK": "1",
}
"""Makes it compile without other processes. It compiles neither all headers first, which it would not keep for the next
worker, nor a program that uses the CPU's vector units, because it knows these by their names."""
COMPILE_S = 300.0
"""Time limit for a call, of which the first compiles: a network of 120 layers takes more than a minute."""
COMPILER = ("torch._inductor.compile_fx",)
"""To import this module loads most of what torch.compile needs."""


def gpu_sources(task: Task, interface: Interface) -> dict[str, str]:
    """As SOURCES, for a GPU.

    They compute in the precision of the task. Variants in TF32 are among them: they count if their outputs are within
    the tolerance of the task.
    """
    sources = {**SOURCES, "torch.compile max-autotune": AUTOTUNED}
    if any(len(tensor.shape) == IMAGE_DIMENSIONS for tensor in interface.inputs):
        sources["channels-last"] = CHANNELS_LAST
    more = interface.products or task.precision is Precision.IEEE  # by default, torch convolves in TF32 by itself
    multiplies = interface.matrix_operations and any(tensor.dtype == "float32" for tensor in interface.inputs)
    in_tf32 = {f"{name}{IN_TF32}": TF32 + source for name, source in sources.items()} if more and multiplies else {}
    if task.precision is Precision.IEEE:
        sources = {name: IEEE + source for name, source in sources.items()}
    sources |= in_tf32
    if any(isinstance(node, ast.ClassDef) and node.name == LIBRARY for node in ast.parse(task.source).body):
        sources["library"] = f"ModelNew = {LIBRARY}"
    return sources


def compiles() -> bool:
    """Whether torch.compile is on. Where the user has switched it off, no baseline is called compiled."""
    return os.environ.get("TORCHDYNAMO_DISABLE") != "1"


def worker_settings() -> dict[str, Any]:
    """The fields of WorkerSettings for what compiles by torch: it keeps what it has compiled."""
    if not compiles():
        return {"guards": GUARDS, "environment": {}, "writable": (), "preload": ()}
    inherited = {name: value for name, value in os.environ.items() if name.startswith(INDUCTOR_PREFIXES)}
    environment = ONE_PROCESS | inherited
    cache = environment.get(CACHE)
    if cache:
        environment[TRITON_CACHE] = f"{cache}/triton"
    return {
        "guards": GUARDS, "environment": environment, "writable": (cache,) if cache else (), "preload": COMPILER
    }  # fmt: skip


def settings_for(source: str) -> dict[str, Any]:
    """The fields of WorkerSettings for a baseline: one that compiles nothing starts as a candidate does.

    Otherwise the two would be timed in processes that have loaded different modules.
    """
    return {**worker_settings(), "call_s": COMPILE_S} if "torch.compile" in source else {"guards": GUARDS}

"""The baselines of a task on a GPU: what torch offers to make the reference fast, and what the task itself names."""

import ast

from eval.clock.baselines import SOURCES
from kb.types.kernels import Interface, Task

LIBRARY = "Baseline"
"""A class that a task's file may define beside Model, with the same parameters: the same operation by a library."""
AUTOTUNED = """
class ModelNew(Model):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.forward = torch.compile(super().forward, dynamic=False, mode="max-autotune-no-cudagraphs")
"""
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


def gpu_sources(task: Task, interface: Interface) -> dict[str, str]:
    """What makes a candidate of the reference, by the name of the baseline.

    Variants in TF32 are among them: they count if their outputs are within the tolerance of the task.
    """
    sources = {**SOURCES, "torch.compile max-autotune": AUTOTUNED}
    if any(len(tensor.shape) == IMAGE_DIMENSIONS for tensor in interface.inputs):
        sources["channels-last"] = CHANNELS_LAST
    if interface.matrix_operations and any(tensor.dtype == "float32" for tensor in interface.inputs):
        sources |= {f"{name}, TF32": TF32 + source for name, source in sources.items()}
    if any(isinstance(node, ast.ClassDef) and node.name == LIBRARY for node in ast.parse(task.source).body):
        sources["library"] = f"ModelNew = {LIBRARY}"
    return sources

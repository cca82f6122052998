"""The worker's adapter for `triton`: plans the calls of a candidate, interprets its kernels, or compiles them.

For the last two `candidate.py` is what eval.devices.triton_source left of the file, and a plan, see
eval.devices.triton_plan, says what to launch: the host code of the candidate does not run in that process.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from eval.languages.cross_compile import Compilation, compile_kernels
from eval.languages.interpreter import agree_with_compiler, confine_to
from eval.languages.python_model import PythonModel, import_candidate
from eval.languages.triton_host import plan
from eval.worker.channel import Message

__all__ = ["compile_only", "load", "plan"]


class KernelModel(PythonModel):
    """Kernels in Triton's interpreter, which the environment must have chosen; the state are the plans' constants."""

    def _built(self, folder: Path, question: Message, state: dict[str, Any]) -> Any:
        kernels = vars(import_candidate(folder))
        agree_with_compiler(kernels)
        planned = Planned(kernels, list(state.values()), question["plans"])
        confine_to(planned.memory)
        return planned


load = KernelModel


def compile_only(folder: Path, question: Message) -> list[Message]:
    """Compile the kernels that a plan launches, without values; see eval.languages.cross_compile."""
    import torch

    def on_meta(sizes: Sequence[int]) -> list[Any]:
        return [torch.empty(size, dtype=torch.uint8, device="meta") for size in sizes]

    plan, kernels = question["plan"], vars(import_candidate(folder))
    constants = on_meta([constant["size"] for constant in plan["constants"]])
    memory = {"inputs": on_meta(question["inputs"]), "constants": constants, "buffers": on_meta(plan["buffers"])}
    launches = [step["launch"] for step in plan["steps"] if step["launch"]]
    compilations = [
        Compilation(
            kernels[launch["kernel"]],
            {name: argument(value, memory, kernels) for name, value in launch["arguments"].items()},
            launch["options"],
            launch["configurations"],
        )
        for launch in launches
    ]
    return compile_kernels(question["isa"], compilations, folder)


class Planned:
    """Calls kernels as plans say.

    Args:
        kernels: Kernels by name.
        constants: The memory of the constants of all plans, in order.
        plans: Each with the specs of the `inputs` that it is for.
    """

    def __init__(self, kernels: dict[str, Any], constants: list[Any], plans: list[Message]) -> None:
        self._kernels = kernels
        self._plans: dict[str, tuple[Message, list[Any]]] = {}
        rest = iter(constants)
        for known in plans:
            self._plans[json.dumps(known["inputs"])] = known, [next(rest) for _ in known["constants"]]
        self._memory: dict[str, list[Any]] = {}

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        import torch

        plan, constants = self._plans[json.dumps([_spec(value) for value in inputs])]
        given = [value.reshape(-1).view(torch.uint8) for value in inputs if isinstance(value, torch.Tensor)]
        buffers = [torch.empty(size, dtype=torch.uint8) for size in plan["buffers"]]
        self._memory = {"inputs": given, "constants": constants, "buffers": buffers}
        for step in plan["steps"]:
            if fill := step["fill"]:
                tensor(fill["view"], self._memory).fill_(fill["number"])
            else:
                self._launch(step["launch"])
        return tuple(tensor(view, self._memory) for view in plan["outputs"])

    def memory(self) -> Iterator[tuple[int, int]]:
        """Start and end of each piece of memory of the current call."""
        for piece in (piece for pieces in self._memory.values() for piece in pieces):
            yield piece.data_ptr(), piece.data_ptr() + piece.numel()

    def _launch(self, launch: Message) -> None:
        arguments = {name: argument(value, self._memory, self._kernels) for name, value in launch["arguments"].items()}
        self._kernels[launch["kernel"]][tuple(launch["grid"])](**arguments)


def argument(described: Message, memory: dict[str, list[Any]], kernels: dict[str, Any]) -> Any:
    """The value that a plan's argument describes."""
    if (view := described["view"]) is not None:
        return tensor(view, memory)
    if (descriptor := described["descriptor"]) is not None:
        from triton.tools.tensor_descriptor import TensorDescriptor

        return TensorDescriptor(**{**descriptor, "base": tensor(descriptor["base"], memory)})
    if (dtype := described["dtype"]) is not None:
        from triton.language import dtype as language_dtype

        return language_dtype(dtype)
    if (kernel := described["kernel"]) is not None:
        return kernels[kernel]
    if (items := described["items"]) is not None:
        return tuple(argument(item, memory, kernels) for item in items)
    return described["value"]


def tensor(view: Message, memory: dict[str, list[Any]]) -> Any:
    """The tensor that a plan's view describes, in memory given as bytes."""
    import torch

    whole, dtype = memory[view["of"]][view["number"]], getattr(torch, view["dtype"])
    typed = whole[: whole.numel() // dtype.itemsize * dtype.itemsize].view(dtype)
    return typed.as_strided(view["shape"], view["stride"], typed.storage_offset() + view["offset"])


def _spec(value: Any) -> Message:
    import torch

    if not isinstance(value, torch.Tensor):
        return {"value": value}
    return {"shape": list(value.shape), "dtype": str(value.dtype).removeprefix("torch.")}

"""The worker's adapter for `triton`: plans a candidate's calls, interprets its kernels, or compiles them.

For all but the first `candidate.py` is what eval.devices.triton_source left of the file, and a plan, see
eval.devices.triton_plan, says what to launch: the host code of the candidate does not run in that process.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from eval.fault import Fault
from eval.worker.adapters.cross_compile import Compilation, compile_kernels, dot_precisions
from eval.worker.adapters.interpreter import agree_with_compiler, confine_to, one_program
from eval.worker.adapters.python import PythonCandidate, import_candidate
from eval.worker.adapters.triton_host import plan
from eval.worker.channel import Message
from eval.worker.mapping import spec_of

__all__ = ["compile_only", "load", "plan"]

POISON = 0xFF
"""Byte of memory that nothing has written: NaN in all floating-point types."""


class KernelModel(PythonCandidate):
    """Kernels in Triton's interpreter, which the environment must have chosen; the state are the plans' constants."""

    def _built(self, folder: Path, question: Message, state: dict[str, Any]) -> Any:
        kernels = vars(import_candidate(folder))
        agree_with_compiler(kernels, dot_precisions(question["isa"]))
        constants = list(state.values())
        if drawn := question["drawn"]:
            return Sampled(kernels, constants, question["plans"][0], **drawn)
        return Planned(kernels, constants, question["plans"])


load = KernelModel


def compile_only(folder: Path, question: Message) -> list[Message]:
    """Compile the kernels that a plan launches, without values; see eval.worker.adapters.cross_compile."""
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
        confine_to(self.memory, self.touched)

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        plan = self._prepared(inputs)
        for step in plan["steps"]:
            if fill := step["fill"]:
                self._fill(fill)
            else:
                self._launch(step["launch"])
        return self._outputs(plan)

    def touched(self, what: str, addresses: Any) -> None:
        """Learn what a kernel is about to do; see eval.worker.adapters.interpreter.confine_to."""

    def memory(self) -> Iterator[tuple[int, int]]:
        """Start and end of each piece of memory of the current call."""
        for piece in (piece for pieces in self._memory.values() for piece in pieces):
            yield piece.data_ptr(), piece.data_ptr() + piece.numel()

    def _prepared(self, inputs: Sequence[Any]) -> Message:
        """The plan for some inputs, whose memory is now that of the call."""
        import torch

        plan, constants = self._plans[json.dumps([spec_of(value) for value in inputs])]
        given = [value.reshape(-1).view(torch.uint8) for value in inputs if isinstance(value, torch.Tensor)]
        buffers = [torch.empty(size, dtype=torch.uint8) for size in plan["buffers"]]
        self._memory = {"inputs": given, "constants": constants, "buffers": buffers}
        return plan

    def _outputs(self, plan: Message) -> tuple[Any, ...]:
        return tuple(tensor(view, self._memory) for view in plan["outputs"])

    def _fill(self, fill: Message) -> None:
        tensor(fill["view"], self._memory).fill_(fill["number"])

    def _launch(self, launch: Message) -> None:
        arguments = {name: argument(value, self._memory, self._kernels) for name, value in launch["arguments"].items()}
        self._kernels[launch["kernel"]][tuple(launch["grid"])](**arguments)


class Sampled(Planned):
    """Runs programs of one launch of a plan, one in each call after the first, which only prepares the memory.

    Other launches do not run. What a program writes is final nevertheless if it reads nothing that others may have
    written, and no later step writes there.

    Args:
        constants: The memory of the constants of the plan.
        plan: With the specs of its `inputs`.
        step: Number of the launch among the plan's steps.
        programs: Their places in the grid, which has three dimensions.
    """

    def __init__(
        self, kernels: dict[str, Any], constants: list[Any], plan: Message, step: int, programs: list[list[int]]
    ) -> None:
        super().__init__(kernels, constants, [plan])
        self._before, self._launched = plan["steps"][:step], plan["steps"][step]["launch"]
        self._plan: Message = {}
        self._programs = iter(programs)
        self._unknown: dict[str, list[Any]] = {}
        """For each byte of the constants and buffers whether other programs may have written it."""

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        if self._plan:
            grid = (*self._launched["grid"], 1, 1)[:3]
            with one_program(tuple(next(self._programs)), grid):
                self._launch({**self._launched, "grid": (1,)})
        else:
            self._plan = self._prepared(inputs)
            self._forget_launches()
        return self._outputs(self._plan)

    def touched(self, what: str, addresses: Any) -> None:
        """Raise Fault if a program depends on others, or others on it in a later call."""
        if what == "updates":
            raise Fault("untried", "its programs add to memory with atomics")
        for kind, pieces in self._unknown.items():
            for piece, unknown in zip(self._memory[kind], pieces, strict=True):
                start = piece.data_ptr()
                inside = addresses[(addresses >= start) & (addresses < start + piece.numel())] - start
                if what == "loads" and unknown[inside].any():
                    raise Fault("untried", "its programs read what others wrote")
                if what == "stores" and kind == "constants" and inside.size:
                    raise Fault("untried", "its programs keep results for later calls")
                if what == "stores":
                    unknown[inside] = 0

    def _forget_launches(self) -> None:
        """Do what the plan does before the launch, except launches, whose results are unknown."""
        import torch

        for buffer in self._memory["buffers"]:
            buffer.fill_(POISON)
        marks = {
            "constants": [torch.zeros_like(piece) for piece in self._memory["constants"]],
            "buffers": [torch.ones_like(piece) for piece in self._memory["buffers"]],
        }
        for step in self._before:
            if fill := step["fill"]:
                self._fill(fill)
                if fill["view"]["of"] in marks:
                    _bytes(fill["view"], marks).fill_(0)
            else:
                for view in views_of(step["launch"]["arguments"].values()):
                    if view["of"] in marks:
                        marks[view["of"]][view["number"]].fill_(1)
        self._unknown = {kind: [mark.numpy() for mark in pieces] for kind, pieces in marks.items()}


def views_of(arguments: Iterable[Message]) -> Iterator[Message]:
    """The views among described arguments."""
    for described in arguments:
        if view := described["view"] or (described["descriptor"] or {}).get("base"):
            yield view
        yield from views_of(described["items"] or ())


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


def _bytes(view: Message, memory: dict[str, list[Any]]) -> Any:
    """The bytes of the tensor that a plan's view describes."""
    import torch

    size = getattr(torch, view["dtype"]).itemsize
    shape, stride = (*view["shape"], size), (*(size * step for step in view["stride"]), 1)
    return memory[view["of"]][view["number"]].as_strided(shape, stride, size * view["offset"])

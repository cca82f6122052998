"""What a Triton candidate's host code would do, as data that the judge checks before it is done."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import torch
from pydantic import Field, ValidationError

from eval.fault import Fault
from eval.supervisor.memory import RemoteTensor
from kb.types.base import Frozen
from kb.types.evidence import Outcome

MOST_DIMENSIONS = 64
MOST_STEPS = 10_000
MOST_BYTES = 1 << 40

Name = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=200)]
Count = Annotated[int, Field(ge=0, lt=1 << 31)]
Size = Annotated[int, Field(ge=0, le=MOST_BYTES)]
Plain = bool | int | float | str | None


class Constant(Frozen):
    """Memory that the host code filled before it was called, such as packed weights."""

    size: Size
    """Bytes."""
    pointer: Annotated[int, Field(ge=0, lt=1 << 63)]
    """Where it lies in the memory of the process that made the plan."""

    @property
    def bytes_(self) -> RemoteTensor:
        return RemoteTensor(dtype="uint8", shape=(self.size,), stride=(1,), pointer=self.pointer)


class View(Frozen):
    """A tensor: a part of an input, of a constant, or of a buffer, which is memory that the call allocates."""

    of: Literal["inputs", "constants", "buffers"]
    number: Count
    dtype: str = Field(max_length=20)
    """Name as in torch, without the prefix."""
    offset: Size
    shape: Annotated[tuple[Size, ...], Field(max_length=MOST_DIMENSIONS)]
    stride: Annotated[tuple[Size, ...], Field(max_length=MOST_DIMENSIONS)]
    """Offset and strides in elements."""


class Descriptor(Frozen):
    """A host-side tensor descriptor."""

    base: View
    shape: tuple[Size, ...]
    strides: tuple[Size, ...]
    block_shape: tuple[Count, ...]
    padding: Literal["zero", "nan"]


class Argument(Frozen):
    """An argument of a kernel: exactly one of the fields is set, or none for the value None."""

    value: Plain = None
    view: View | None = None
    descriptor: Descriptor | None = None
    dtype: Name | None = None
    """A type of Triton's language."""
    kernel: Name | None = None
    """Another kernel, which this one calls."""
    items: tuple["Argument", ...] | None = None


class Launch(Frozen):
    """The launch of a kernel."""

    kernel: Name
    grid: Annotated[tuple[Count, ...], Field(min_length=1, max_length=3)]
    arguments: dict[Name, Argument]
    options: dict[Name, bool | int | None]
    """`num_warps`, `num_stages` and others of the compiler; none that names a file or another target."""
    configurations: Annotated[int, Field(ge=1, le=MOST_STEPS)] = 1
    """Number of autotuning configurations, of which the first was chosen."""


class Fill(Frozen):
    """Writing one number into all of a tensor."""

    view: View
    number: bool | int | float


class Step(Frozen):
    """One of the two."""

    fill: Fill | None = None
    launch: Launch | None = None

    @property
    def views(self) -> list[View]:
        """The tensors that it gets."""
        if self.fill:
            return [self.fill.view]
        arguments = _flat(self.launch.arguments.values() if self.launch else ())
        described = [argument.descriptor.base for argument in arguments if argument.descriptor]
        return [*(argument.view for argument in arguments if argument.view), *described]

    def uses(self, other: View) -> bool:
        """Whether it gets the memory in which another tensor lies."""
        return any((view.of, view.number) == (other.of, other.number) for view in self.views)


class Plan(Frozen):
    """One call of a candidate."""

    constants: tuple[Constant, ...]
    buffers: tuple[Size, ...]
    """Bytes of each."""
    steps: Annotated[tuple[Step, ...], Field(max_length=MOST_STEPS)]
    texts: dict[Name, str] = Field(default_factory=dict)
    """What Triton would compile for each kernel that is launched or passed to another, by its name."""
    outputs: tuple[View, ...]

    @property
    def size(self) -> int:
        """Bytes of all constants and buffers."""
        return sum(constant.size for constant in self.constants) + sum(self.buffers)

    def last_step(self, output: View) -> int:
        """The number of the last step that gets the memory of an output.

        Raises:
            Fault: there is none.
        """
        steps = [number for number, step in enumerate(self.steps) if step.uses(output)]
        if not steps:
            raise Fault(Outcome.UNTRIED, "no kernel gets the memory of an output")
        return steps[-1]

    def launched_before(self, step: int, output: View) -> bool:
        """Whether a launch before a step gets the memory of an output."""
        return any(earlier.launch and earlier.uses(output) for earlier in self.steps[:step])

    @property
    def launches(self) -> tuple[Launch, ...]:
        return tuple(step.launch for step in self.steps if step.launch)

    @property
    def kernels(self) -> frozenset[str]:
        """Names of the kernels that are launched."""
        return frozenset(launch.kernel for launch in self.launches)

    @property
    def names(self) -> frozenset[str]:
        """Names of all kernels that are launched or passed to others."""
        passed = (a.kernel for launch in self.launches for a in _flat(launch.arguments.values()) if a.kernel)
        return self.kernels.union(passed)


def plan_of(answer: Mapping[str, Any], inputs: Sequence[int]) -> Plan:
    """The plan in a worker's answer.

    Args:
        inputs: Bytes of each input.

    Raises:
        Fault: it is not a plan, or a view lies outside its memory.
    """
    try:
        plan = Plan.model_validate(answer.get("plan"))
    except (ValidationError, RecursionError) as error:
        raise Fault(Outcome.FORGED, f"not a plan of launches: {str(error)[:200]}") from error
    sizes = {"inputs": inputs, "constants": [c.size for c in plan.constants], "buffers": plan.buffers}
    for view in (*(view for step in plan.steps for view in step.views), *plan.outputs):
        if not _lies_within(view, sizes[view.of]):
            raise Fault(Outcome.FORGED, f"not a plan of launches: a tensor lies outside its memory: {view}")
    return plan


def _flat(arguments: Any) -> list[Argument]:
    return [one for argument in arguments for one in (argument, *_flat(argument.items or ()))]


def _lies_within(view: View, sizes: Sequence[int]) -> bool:
    dtype = getattr(torch, view.dtype, None)
    if view.number >= len(sizes) or len(view.shape) != len(view.stride) or not isinstance(dtype, torch.dtype):
        return False
    if 0 in view.shape:
        return True
    last = view.offset + sum((size - 1) * step for size, step in zip(view.shape, view.stride, strict=True))
    return (last + 1) * dtype.itemsize <= sizes[view.number]

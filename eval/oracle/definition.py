"""Turn kernel definitions of FlashInfer-Trace and SOL-ExecBench into tasks: Python source in KernelBench's form.

Both formats describe a kernel as JSON: `axes` (constant, variable, or an expression of others), `inputs` and `outputs`
with shapes and types, and a `reference` in Python that defines `run`. A second file has one workload per line: values
of the variable axes, and how each input is made. See docs/flashinfer_trace in flashinfer-ai/flashinfer-bench and docs/
in NVIDIA/SOL-ExecBench. Nothing is executed here.
"""

import ast
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, Field, ValidationError

from kb.errors import TaskError
from kb.types import kernels

FLOATS = ("float64", "float32", "float16", "bfloat16")
NARROW = ("float8_e4m3fn", "float8_e5m2")
INTEGERS = {"int64": 1024, "int32": 1024, "int16": 1024, "int8": 128}
"""Random integers lie in [-n, n), as in SOL-ExecBench's own generator."""
OWN_NAMES = {"Model", "get_inputs", "get_init_inputs"}


class Constant(BaseModel):
    type: Literal["const"]
    value: int


class Variable(BaseModel):
    type: Literal["var"]


class Expression(BaseModel):
    type: Literal["expr"]
    expression: str


class Tensor(BaseModel):
    shape: tuple[str, ...] | None
    """Names of axes; None for a Python number."""
    dtype: str


class Definition(BaseModel):
    name: str
    description: str | None = None
    axes: dict[str, Annotated[Constant | Variable | Expression, Field(discriminator="type")]]
    inputs: dict[str, Tensor]
    reference: str
    constraints: tuple[str, ...] | None = None
    custom_inputs_entrypoint: str | None = None

    @property
    def variables(self) -> set[str]:
        return {name for name, axis in self.axes.items() if isinstance(axis, Variable)}


class Input(BaseModel):
    type: str
    value: bool | int | float | None = None
    """Of a `scalar`."""


class Workload(BaseModel):
    axes: dict[str, int] = Field(default_factory=dict)
    inputs: dict[str, Input]

    @property
    def is_drawn(self) -> bool:
        """Whether all inputs are drawn afresh; others are read from a file, always the same."""
        return all(given.type in ("random", "scalar", "custom") for given in self.inputs.values())

    @property
    def scalars(self) -> dict[str, bool | int | float]:
        return {name: given.value for name, given in self.inputs.items() if given.value is not None}


def workload_file(definition: Path) -> Path | None:
    """Find the file of workloads: beside the definition, or at the same path with `workloads` for `definitions`."""
    parts = ["workloads" if part == "definitions" else part for part in definition.parts]
    places = (definition.with_name("workload.jsonl"), Path(*parts).with_suffix(".jsonl"))
    return next((place for place in places if place.is_file()), None)


class Source(NamedTuple):
    """What a task is made of."""

    name: str
    source: str
    workloads: tuple[kernels.Workload, ...]
    """Empty if there is only one."""


def task_source(definition: str, workloads: str, *, place: str) -> Source:
    """The task that a definition describes.

    Variable axes become sizes that the judge may change. Constant ones are annotated, so that it does not: a kernel
    may rely on them. The source has the values of the largest workload.

    Args:
        definition: JSON of the definition.
        workloads: Lines of JSON, one workload each.
        place: The file that errors name.

    Raises:
        TaskError: a text is not what it should be, or cannot be expressed as a task.
    """
    try:
        defined = Definition.model_validate_json(definition)
        tree = ast.parse(defined.reference)
        lines = [json.loads(line) for line in workloads.splitlines() if line.strip()]
        given = [Workload.model_validate(line.get("workload", line)) for line in lines]
    except (ValidationError, ValueError, SyntaxError, AttributeError) as error:
        raise TaskError(
            f"{place} is not a kernel definition with workloads: {str(error)[:300]}",
            hint="give a definition of FlashInfer-Trace or SOL-ExecBench, or a Python file in KernelBench's form",
        ) from error
    _check(defined, tree, place)
    usable = largest_first(defined, given, place)
    workload = usable[0]
    about = (defined.description or defined.name).splitlines()
    if left_out := sum(not one.is_drawn for one in given):
        about.append(f"Workloads that read inputs from files, and are left out: {left_out} of {len(given)}.")
    parts = (
        "".join(f"# {line}\n" for line in about),
        f"{_with_fixed_constants(defined.reference, tree).rstrip()}\n\n\nimport torch\n\n",
        _sizes(defined, workload),
        _inputs(defined, workload, place),
        _model(defined),
    )
    values = [values_of(defined, each) for each in usable]
    several = tuple(one for number, one in enumerate(values) if one not in values[:number])
    return Source(defined.name, "".join(parts), several if len(several) > 1 else ())


def _check(defined: Definition, tree: ast.Module, place: str) -> None:
    """Raises TaskError if the definition needs something that a task cannot do."""
    names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    if "run" not in names:
        raise _refused(place, "its reference does not define run")
    if taken := (names | set(defined.inputs)) & (OWN_NAMES | set(defined.axes)) - {defined.custom_inputs_entrypoint}:
        raise _refused(place, f"its reference uses the names {', '.join(sorted(taken))}")
    for name, tensor in defined.inputs.items():
        if unknown := set(tensor.shape or ()) - set(defined.axes):
            raise _refused(place, f"input {name} has the unknown axes {', '.join(sorted(unknown))}")


def largest_first(defined: Definition, workloads: Sequence[Workload], place: str) -> list[Workload]:
    """The workloads that a task can express; first the one with the largest product of axes."""
    if not workloads and not defined.variables:
        return [Workload(inputs={name: Input(type="random") for name in defined.inputs})]
    if not workloads:
        raise _refused(place, f"no workload gives values of its axes {', '.join(sorted(defined.variables))}")
    drawn = [w for w in workloads if w.is_drawn and w.axes.keys() >= defined.variables]
    if not drawn:
        raise _refused(place, "each of its workloads reads inputs from a file, so a stored answer would pass")
    return sorted(drawn, key=lambda workload: -math.prod(workload.axes.values()))


def values_of(defined: Definition, workload: Workload) -> kernels.Workload:
    """The values of its variable axes, and of its scalars, by the names that the source gives them."""
    axes = {name: workload.axes[name] for name in defined.axes if name in defined.variables}
    return axes | {_scalar(name): value for name, value in workload.scalars.items()}


def _scalar(name: str) -> str:
    """How the source calls the value of a scalar input."""
    return f"given_{name}"


def _with_fixed_constants(reference: str, tree: ast.Module) -> str:
    """The reference with annotations at its own constants, because they are no sizes."""
    lines = reference.splitlines()
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(target := node.targets[0], ast.Name):
            at, line = target.end_col_offset or 0, lines[target.lineno - 1]
            lines[target.lineno - 1] = f"{line[:at]}: object{line[at:]}"
    return "\n".join(lines)


def _sizes(defined: Definition, workload: Workload) -> str:
    lines = []
    for name, axis in defined.axes.items():
        match axis:
            case Constant():
                lines.append(f"{name}: int = {axis.value}")
            case Variable():
                lines.append(f"{name} = {workload.axes[name]}")
    lines += [f"{name} = {axis.expression}" for name, axis in defined.axes.items() if isinstance(axis, Expression)]
    lines += [f"assert {rule}" for rule in defined.constraints or () if _names(rule) <= set(defined.axes)]
    lines += [f"{_scalar(name)}: object = {value!r}" for name, value in workload.scalars.items()]
    return "\n".join(lines) + "\n\n\n"


def _inputs(defined: Definition, workload: Workload, place: str) -> str:
    if draw := defined.custom_inputs_entrypoint:
        axes = ", ".join(f'"{name}": {name}' for name in defined.axes)
        scalars = "".join(f', "{name}": {_scalar(name)}' for name in workload.scalars)
        return (
            f"_draw: object = {draw}\n\n\ndef get_inputs():\n"
            f'    drawn = _draw({{{axes}{scalars}}}, torch.device("cpu"))\n'
            f"    return [drawn[name] for name in {tuple(defined.inputs)!r}]\n\n\n"
        )
    if rules := [rule for rule in defined.constraints or () if not _names(rule) <= set(defined.axes)]:
        raise _refused(place, f"the values of its inputs must fulfil {rules[0]!r}, but are drawn at random")
    drawn = [f"        {_drawn(name, tensor, workload, place)},\n" for name, tensor in defined.inputs.items()]
    return f"def get_inputs():\n    return [\n{''.join(drawn)}    ]\n\n\n"


def _drawn(name: str, tensor: Tensor, workload: Workload, place: str) -> str:
    """The expression that draws one input, in the distribution of SOL-ExecBench's own generator."""
    if name in workload.scalars:
        return _scalar(name)
    size = f"({', '.join(tensor.shape)},)" if tensor.shape else "()"
    match tensor.dtype:
        case dtype if dtype in FLOATS:
            drawn = f"torch.randn({size}, dtype=torch.{dtype})"
        case dtype if dtype in NARROW:
            drawn = f"torch.randn({size}).clamp(-2, 2).to(torch.{dtype})"
        case dtype if dtype in INTEGERS:
            drawn = f"torch.randint({-INTEGERS[dtype]}, {INTEGERS[dtype]}, {size}, dtype=torch.{dtype})"
        case "bool":
            drawn = f"torch.randint(0, 2, {size}, dtype=torch.bool)"
        case dtype:
            raise _refused(place, f"input {name} has the type {dtype}")
    return drawn if tensor.shape is not None else f"{drawn}.item()"


def _model(defined: Definition) -> str:
    arguments = ", ".join(defined.inputs)
    return (
        f"class Model(torch.nn.Module):\n    def forward(self, {arguments}):\n        return run({arguments})\n\n\n"
        "def get_init_inputs():\n    return []\n"
    )


def _names(expression: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(expression, mode="eval")) if isinstance(node, ast.Name)}


def _refused(place: str, why: str) -> TaskError:
    return TaskError(
        f"{place} cannot become a task: {why}", hint="write the task as a Python file in KernelBench's form"
    )

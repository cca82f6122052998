"""Run a task's reference in the judge: at any sizes, in its own precision or in float64."""

import ast
import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

from eval.dtypes import ITEM_BYTES
from kb.errors import KbError, TaskError, TaskSizeError
from kb.types.kernels import Interface, Task, TensorSpec

Tensors = tuple[torch.Tensor, ...]

PERTURBATION = 2.0**-20
"""Relative change of inputs and parameters that shows how sensitive an output is to them: some float32 roundings, and
far above those of float64."""
PIECE = 1 << 26
"""A tensor is changed piece by piece, with so many elements each: a GPU may have no room for copies of all of it."""
WORD = 8
"""Bytes that are compared at once where that is possible; torch compares single ones six times as slowly."""
SPREAD = 0.5
"""Standard deviation of noise on constant parameters and buffers, such as a LayerNorm's weights or a BatchNorm's
statistics: no candidate may rely on them."""


class Reference:
    """Builds the task's model with parameters drawn from `seed`.

    Args:
        sizes: New values for integer constants of the task's file, by the names of `integer_constants`.
        device: Where its tensors are; `meta` computes shapes without values.

    Raises:
        TaskError: the code of the file fails.
    """

    def __init__(self, task: Task, *, seed: int, sizes: Mapping[str, int] | None = None, device: str = "cpu") -> None:
        self._name, self.device = task.name, device
        self.seed, self.sizes = seed, dict(sizes or {})
        self._names = _execute(_resized(task, self.sizes), task.name)
        torch.manual_seed(seed)
        self.arguments = self._guarded("get_init_inputs()", self._names["get_init_inputs"])
        if not _is_plain(self.arguments):
            raise TaskError(
                f"get_init_inputs() of task {task.name} gives more than numbers, strings and lists of them",
                hint="create tensors inside Model, so that they are in its state_dict",
            )
        with torch.device(device):
            self.model: torch.nn.Module = self._guarded("Model(...)", lambda: self._names["Model"](*self.arguments))
        if device == "meta":
            return
        self._guarded("its parameters", self._spread_constants)

    def _spread_constants(self) -> None:
        learned = {name for name, parameter in self.model.named_parameters() if parameter.numel() > 1}
        for name, tensor in self.state.items():
            if is_float(tensor) and tensor.numel() and bool(tensor.min() == tensor.max()):
                tensor.copy_(_spread(tensor, keep_sign=name not in learned))

    @property
    def state(self) -> dict[str, torch.Tensor]:
        return dict(self.model.state_dict())

    @property
    def numbers(self) -> tuple[float, ...]:
        """The numbers among the arguments of `Model(...)`, lists flattened."""
        return tuple(_numbers(self.arguments))

    def inputs(self, seed: int) -> list[Any]:
        """One set of arguments for `forward`, drawn by the task's file."""
        torch.default_generator.manual_seed(seed)  # seeds only the CPU: torch.manual_seed is slow
        if self.device == "cuda":
            torch.cuda.manual_seed(seed)
        with torch.device(self.device):
            inputs: list[Any] = self._guarded("get_inputs()", lambda: list(self._names["get_inputs"]()))
        if not all(isinstance(value, torch.Tensor) or _is_plain(value) for value in inputs):
            raise TaskError(
                f"get_inputs() of task {self._name} gives more than tensors, numbers, strings and lists of the latter",
                hint="pass each tensor to forward as a separate argument",
            )
        return [x.to(self.device) if isinstance(x, torch.Tensor) else x for x in inputs]

    def native(self, inputs: Sequence[Any]) -> Tensors:
        """The outputs of the reference, in its own precision."""
        outputs: Tensors = self._guarded("forward()", lambda: as_tuple(self.model(*inputs)))
        return outputs

    def oracle(self, inputs: Sequence[Any], *, perturbed: int | None = None) -> Tensors:
        """The outputs of the reference with parameters, buffers and inputs in float64.

        Args:
            perturbed: A seed; all of them are changed at random by about PERTURBATION of their values, except whole
                numbers.
        """
        exact = self._guarded("a copy of its model in float64", lambda: copy.deepcopy(self.model).double())
        to_float64: Callable[[torch.Tensor], torch.Tensor] = torch.Tensor.double
        if perturbed is not None:
            to_float64 = partial(_perturb, generator=torch.Generator(self.device).manual_seed(perturbed))
            for tensor in filter(is_float, exact.state_dict().values()):
                tensor.copy_(to_float64(tensor))
        inputs64 = [to_float64(x) if is_float(x) else x for x in inputs]
        outputs: Tensors = self._guarded("forward() in float64", lambda: as_tuple(exact(*inputs64)))
        return outputs

    def interface(self) -> Interface:
        """Shapes and types of all tensors at these sizes."""
        inputs = self.inputs(0)
        with FlopCounterMode(display=False) as counter:
            outputs = self.native(inputs)
        names = _argument_names(self.model, len(inputs))
        return Interface(
            inputs=tuple(_spec(n, x) for n, x in zip(names, inputs, strict=True) if isinstance(x, torch.Tensor)),
            state=tuple(_spec(n, t) for n, t in self.state.items()),
            outputs=tuple(_spec(f"output{i}", t) for i, t in enumerate(outputs)),
            init=self.numbers,
            matrix_operations=counter.get_total_flops(),
        )

    def _guarded(self, what: str, call: Any) -> Any:
        try:
            with torch.no_grad(), enough_memory():
                return call()
        except KbError:
            raise
        except Exception as error:  # a task's file may fail in any way
            raise TaskError(
                f"the reference of task {self._name} fails in {what}: {type(error).__name__}: {error}",
                hint="correct the task's file; it must run on the CPU",
            ) from error


@contextmanager
def enough_memory() -> Iterator[None]:
    """Raises TaskSizeError if a GPU has too little memory."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise TaskSizeError(
            f"the task does not fit into the memory of this GPU: {error}",
            hint="make its sizes smaller; kb computes it in float64 too",
        ) from error


def interface_of(task: Task, reference: Reference) -> Interface:
    """The interface at the task's own sizes, without computing values if torch can infer the shapes."""
    try:
        return Reference(task, seed=0, device="meta").interface()
    except TaskError:
        return reference.interface()


def integer_constants(task: Task) -> dict[str, int]:
    """The sizes of a task: integers, products of integers and tuples of them, assigned at the top level of its file.

    `ROWS = 4096` and `N = 1024 * 2` give `ROWS` and `N`; `shape = (64, 32)` gives `shape[0]` and `shape[1]`.
    """
    found: dict[str, int] = {}
    for assignment in _assignments(ast.parse(task.source)):
        _replaced(assignment.value, assignment.targets[0].id, lambda name, value: found.setdefault(name, value))
    return found


def resized(task: Task, sizes: Mapping[str, int]) -> Task:
    """The task with other sizes, by the names of `integer_constants`; its comments are lost."""
    return Task(name=task.name, source=f"{ast.unparse(_resized(task, sizes))}\n")


def _resized(task: Task, sizes: Mapping[str, int]) -> ast.Module:
    tree = ast.parse(task.source)
    for node in _assignments(tree):
        node.value = _replaced(node.value, node.targets[0].id, lambda name, value: sizes.get(name, value))
    return ast.fix_missing_locations(tree)


def _assignments(tree: ast.Module) -> list[Any]:
    return [
        node
        for node in tree.body
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
    ]


def _replaced(node: ast.expr, name: str, change: Callable[[str, int], int]) -> ast.expr:
    """The expression with `change` applied to each integer in it; the rest stays the same."""
    if isinstance(node, ast.Tuple | ast.List):
        node.elts = [_replaced(part, f"{name}[{i}]", change) for i, part in enumerate(node.elts)]
        return node
    value = _integer(node)
    return node if value is None else ast.Constant(change(name, value))


def _integer(node: ast.expr) -> int | None:
    """The value of an integer or a product of integers."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        left, right = _integer(node.left), _integer(node.right)
        return None if left is None or right is None else left * right
    return None


def _execute(tree: ast.Module, name: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": f"task_{name}"}
    try:
        exec(compile(tree, f"<task {name}>", "exec"), names)  # noqa: S102 - the user's own reference
    except Exception as error:
        raise TaskError(
            f"task {name} cannot be loaded: {type(error).__name__}: {error}", hint="correct the task's file"
        ) from error
    return names


def _spread(x: torch.Tensor, *, keep_sign: bool) -> torch.Tensor:
    """Values with noise. A number above zero may be a variance, an epsilon or a temperature; then it keeps its sign."""
    noise = SPREAD * torch.randn_like(x)
    return torch.where(x > 0, x * noise.exp(), x + noise) if keep_sign else x + noise


def _perturb(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """A copy in float64, each value changed by 0.5 to 1.5 times PERTURBATION of it, up or down.

    Whole numbers may be codes, and stay.
    """
    perturbed = x.to(torch.float64, copy=True, memory_format=torch.contiguous_format)
    pieces = torch.split(perturbed.view(-1), PIECE)
    if all(torch.equal(piece, piece.round()) for piece in pieces):
        return perturbed
    for piece in pieces:
        change = torch.rand(piece.shape, generator=generator, device=x.device).sub_(0.5)
        change += torch.copysign(torch.tensor(0.5), change).add_(change)
        piece.addcmul_(piece, change.double(), value=PERTURBATION)
    return perturbed


def as_tuple(result: Any) -> Tensors:
    outputs = tuple(result) if isinstance(result, tuple | list) else (result,)
    if not all(isinstance(output, torch.Tensor) for output in outputs):
        raise TypeError(f"forward gives {type(result).__name__}, not tensors")
    if any(output.is_complex() for output in outputs):
        raise TypeError("forward gives complex numbers, which kb cannot compare; give their view_as_real")
    return tuple(output.detach() for output in outputs)


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors of the same shape and type are equal bit for bit."""
    if not a.numel():
        return True
    pair = [_bytes(a), _bytes(b)]
    if all(each.numel() % WORD == each.storage_offset() % WORD == 0 for each in pair):
        pair = [each.view(torch.int64) for each in pair]
    return torch.equal(*pair)


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.contiguous().reshape(-1).view(torch.uint8)


def _argument_names(model: torch.nn.Module, count: int) -> list[str]:
    code = model.forward.__code__
    names = list(code.co_varnames[1 : code.co_argcount])
    return [names[i] if i < len(names) else f"input{i}" for i in range(count)]


def _numbers(value: Any) -> list[float]:
    if isinstance(value, list | tuple):
        return [number for item in value for number in _numbers(item)]
    return [float(value)] if isinstance(value, int | float) else []


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, bool | int | float | str)


def _spec(name: str, tensor: torch.Tensor) -> TensorSpec:
    dtype = str(tensor.dtype).removeprefix("torch.")
    if dtype not in ITEM_BYTES:
        raise TaskError(f"{name} is a tensor of type {dtype}", hint=f"use one of {', '.join(ITEM_BYTES)}")
    return TensorSpec(name=name, shape=tuple(tensor.shape), dtype=dtype)


def is_float(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()

"""Run a task's reference in the judge: at any sizes, in its own precision or in float64."""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from functools import partial
from typing import Any

import torch
from torch.utils._pytree import tree_map

from eval.oracle.blocks import blocks, write_block
from eval.oracle.constants import with_sizes
from eval.oracle.in_float64 import InFloat64
from eval.oracle.operations import measure_work
from eval.oracle.precision import computed_in
from eval.worker.dtypes import ITEM_BYTES
from kb.errors import KbError, TaskError, TaskSizeError
from kb.types.kernels import Interface, Precision, Task, TensorSpec

Tensors = tuple[torch.Tensor, ...]

PERTURBATION = 2.0**-20
"""Relative change of inputs and parameters that shows how sensitive an output is to them: some float32 roundings, and
far above those of float64."""
EXACTLY = "make it give values of the type of its inputs, as with .to(x.dtype): kb also runs it in float64"
IN_MODEL = "create tensors inside Model, so that they are in its state_dict"
IN_INIT = "return numbers, strings, and lists, dictionaries or dataclasses of them, and build other objects in Model"
LARGE_BYTES = 1 << 30
"""Inputs and outputs of this size together are large: a GPU may have no room for many copies of them, and a host's
memory is slow to reach."""
SPREAD = 0.5
"""Standard deviation of noise on constant parameters and buffers, such as a LayerNorm's weights or a BatchNorm's
statistics: no candidate may rely on them."""


class Reference:
    """Builds the task's model with parameters drawn from `seed`.

    Args:
        sizes: New values for integer constants of the task's file, by the names of `integer_constants`.
        device: Where its tensors are; `meta` computes shapes without values.
        factor: By which the numbers given to `Model(...)` are multiplied, but for integers.

    Raises:
        TaskError: the code of the file fails.
    """

    def __init__(
        self, task: Task, *, seed: int, sizes: Mapping[str, int] | None = None, device: str = "cpu", factor: float = 1.0
    ) -> None:
        self.task, self.device, self.factor = task, device, factor
        self.seed, self.sizes = seed, dict(sizes or {})
        self._names: dict[str, Any] = {"__name__": f"task_{task.name}"}
        tree = with_sizes(task, self.sizes)
        self._guarded("its file", lambda: exec(compile(tree, f"<task {task.name}>", "exec"), self._names))  # noqa: S102
        torch.manual_seed(seed)
        given = self._guarded("get_init_inputs()", self._names["get_init_inputs"])
        if factor != 1:
            given = self._guarded("its numbers", lambda: tree_map(partial(_times, factor), given))
        self.arguments, self.keywords = _positional_and_named(given)
        if (odd := _not_plain(given)) is not None:
            raise TaskError(
                f"get_init_inputs() of task {task.name} gives {type(odd).__name__}",
                hint=IN_MODEL if isinstance(odd, torch.Tensor) else IN_INIT,
            )
        with torch.device(device):
            self.model: torch.nn.Module = self._guarded(
                "Model(...)", lambda: self._names["Model"](*self.arguments, **self.keywords)
            )
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

    def again(self, seed: int, sizes: Mapping[str, int], factor: float = 1.0) -> "Reference":
        """Another reference of the task, on the same device."""
        return Reference(self.task, seed=seed, sizes=sizes, device=self.device, factor=factor)

    def with_same_state(self, seed: int) -> "Reference":
        """Another reference at the same sizes, with these parameters and buffers; what else it draws, from a seed."""
        other = self.again(seed, self.sizes, self.factor)
        self._guarded("load_state_dict()", partial(other.model.load_state_dict, self.state))
        return other

    @property
    def numbers(self) -> tuple[float, ...]:
        """The numbers among the arguments of `Model(...)`, in order, whatever they are in."""
        return tuple(leaf for leaf in _leaves([self.arguments, self.keywords]) if isinstance(leaf, int | float))

    def inputs(self, seed: int) -> list[Any]:
        """One set of arguments for `forward`, drawn by the task's file."""
        torch.default_generator.manual_seed(seed)  # seeds only the CPU: torch.manual_seed is slow
        if self.device == "cuda":
            torch.cuda.manual_seed(seed)
        with torch.device(self.device):
            inputs: list[Any] = self._guarded("get_inputs()", lambda: list(self._names["get_inputs"]()))
        if not all(isinstance(value, torch.Tensor) or _not_plain(value) is None for value in inputs):
            raise TaskError(
                f"get_inputs() of task {self.task.name} gives more than tensors, numbers and strings",
                hint="pass each tensor to forward as a separate argument",
            )
        return [x.to(self.device) if isinstance(x, torch.Tensor) else x for x in inputs]

    def native(self, inputs: Sequence[Any], *, all_in_tf32: bool = False) -> Tensors:
        """The outputs of the reference, in its own precision; inputs that lie elsewhere are copied to its device."""
        here = [x.to(self.device) if isinstance(x, torch.Tensor) else x for x in inputs]
        with computed_in(None if all_in_tf32 else self.task.precision):
            outputs: Tensors = self._guarded("forward()", lambda: as_tuple(self.model(*here)))
        return outputs

    def oracle(self, inputs: Sequence[Any], *, perturbed: int | None = None, by: float = PERTURBATION) -> Tensors:
        """The outputs of the reference with parameters, buffers and inputs in float64; so are they.

        Args:
            perturbed: A seed; all of them are changed at random, except whole numbers.
            by: The change, about so many times their values. The opposite one has the other sign.
        """
        exact = self._guarded("a copy of its model in float64", self._in_float64)
        generator = None if perturbed is None else torch.Generator(self.device).manual_seed(perturbed)
        change = partial(_perturb, generator=generator, by=by)
        for tensor in filter(is_float, exact.state_dict().values()):
            tensor.copy_(change(tensor if tensor.is_contiguous() else _float64(tensor, device=self.device)))

        def exact_input(x: torch.Tensor) -> torch.Tensor:
            values = change(_float64(stored_once(x), device=self.device))
            return values if x.is_contiguous() else laid_out(values, x)

        inputs64 = [exact_input(x) if is_float(x) else x for x in inputs]
        pairs = zip(
            (*self.model.parameters(), *self.model.buffers()), (*exact.parameters(), *exact.buffers()), strict=True
        )
        with InFloat64(pairs):
            outputs: Tensors = self._guarded("forward() in float64", lambda: as_tuple(exact(*inputs64)), hint=EXACTLY)
        return tuple(map(as_numbers, outputs))

    def _in_float64(self) -> torch.nn.Module:
        """A copy of the model, for which no tensor is copied in its own precision first: large ones have no room."""
        tensors = filter(is_float, (*self.model.parameters(), *self.model.buffers()))
        wide = {x: x.detach().to(torch.float64, copy=True) for x in tensors}
        memo = {id(x): torch.nn.Parameter(y) if isinstance(x, torch.nn.Parameter) else y for x, y in wide.items()}
        return copy.deepcopy(self.model, memo).double()

    def interface(self) -> Interface:
        """Shapes and types of all tensors at these sizes, and what `forward` computes and holds."""
        inputs = self.inputs(0)
        outputs, work = measure_work(lambda: self.native(inputs), [*inputs, *self.state.values()])
        code = self.model.forward.__code__
        names = [code.co_varnames[i] if i < code.co_argcount else f"input{i - 1}" for i in range(1, len(inputs) + 1)]
        return Interface(
            inputs=tuple(_spec(n, x) for n, x in zip(names, inputs, strict=True) if isinstance(x, torch.Tensor)),
            state=tuple(_spec(n, t) for n, t in self.state.items()),
            outputs=tuple(_spec(f"output{i}", t) for i, t in enumerate(outputs)),
            init=self.numbers,
            matrix_operations=work.matrix_operations,
            products=work.products,
            in_tf32=work.convolutions and self.task.precision is Precision.DEFAULT,
            working_bytes=work.working_bytes,
        )

    def _guarded(self, what: str, call: Any, hint: str = "correct the task's file; it must run on the CPU") -> Any:
        try:
            with torch.no_grad(), enough_memory():
                return call()
        except KbError:
            raise
        except Exception as error:  # a task's file may fail in any way
            raise TaskError(
                f"the reference of task {self.task.name} fails in {what}: {type(error).__name__}: {error}", hint=hint
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


def interface_of(task: Task, *, device: str = "cpu") -> Interface:
    """The interface at the task's own sizes. Computes values, on a device, only if torch cannot infer the shapes."""
    try:
        return Reference(task, seed=0, device="meta").interface()
    except TaskError:
        return Reference(task, seed=0, device=device).interface()


def tensor_bytes(values: Sequence[Any]) -> int:
    return sum(x.nbytes for x in values if isinstance(x, torch.Tensor))


def is_large(size_bytes: int) -> bool:
    """Whether inputs and outputs of this size together are large."""
    return size_bytes >= LARGE_BYTES


def _spread(x: torch.Tensor, *, keep_sign: bool) -> torch.Tensor:
    """Values with noise. A number above zero may be a variance, an epsilon or a temperature; then it keeps its sign."""
    noise = SPREAD * torch.randn_like(x)
    return torch.where(x > 0, x * noise.exp(), x + noise) if keep_sign else x + noise


def _float64(x: torch.Tensor, *, device: str) -> torch.Tensor:
    exact = torch.empty(x.shape, dtype=torch.float64, device=device)
    for start, (block,) in blocks(device, x):
        write_block(exact, start, block)
    return exact


def _perturb(values: torch.Tensor, *, generator: torch.Generator | None, by: float) -> torch.Tensor:
    """Change each value of a contiguous tensor in place by 0.5 to 1.5 times `by` of it, up or down; return the tensor.

    Whole numbers may be codes, and stay; without a generator, all do.
    """
    device = values.device.type
    parts = [part for _, (part,) in blocks(device, values)]
    if generator is None or all(torch.equal(part, part.round()) for part in parts):
        return values
    for part in parts:
        change = torch.rand(part.shape, generator=generator, device=device).sub_(0.5)
        change += torch.copysign(torch.tensor(0.5), change).add_(change)
        part.addcmul_(part, change.double(), value=by)
    return values


def copied(x: torch.Tensor, device: str) -> torch.Tensor:
    """A copy on a device, with the same strides and expansion."""
    return laid_out(stored_once(x), x, device)


def as_tuple(result: Any) -> Tensors:
    outputs = tuple(result) if isinstance(result, tuple | list) else (result,)
    if not all(isinstance(output, torch.Tensor) for output in outputs):
        raise TypeError(f"forward gives {type(result).__name__}, not tensors")
    if any(output.is_complex() for output in outputs):
        raise TypeError("forward gives complex numbers, which kb cannot compare; give their view_as_real")
    return tuple(output.detach() for output in outputs)


def as_numbers(output: torch.Tensor) -> torch.Tensor:
    """The output; in a wider type if its own is an 8-bit one, which torch compares and adds nowhere."""
    return output.float() if output.is_floating_point() and output.itemsize == 1 else output


def stored_once(x: torch.Tensor, *, by: torch.Tensor | None = None) -> torch.Tensor:
    """A tensor, or another of its shape, before it was expanded: no two elements of `by` are at one place of memory."""
    strides = (x if by is None else by).stride()
    return x[tuple(slice(1) if step == 0 else slice(None) for step in strides)] if 0 in strides else x


def span_of(x: torch.Tensor) -> int:
    """How many places of memory there are from the first to the last element."""
    return 1 + sum((n - 1) * step for n, step in zip(x.shape, x.stride(), strict=True)) if x.numel() else 0


def with_values(x: torch.Tensor, change: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    """A tensor of the same type, strides and expansion, with values that `change` makes of contiguous ones.

    Of values too large for an 8-bit type the largest is taken.
    """
    values = change(as_numbers(stored_once(x)).contiguous())
    if values.dtype != x.dtype:
        values = values.clamp(-torch.finfo(x.dtype).max, torch.finfo(x.dtype).max).to(x.dtype)
    return laid_out(values, x)


def laid_out(values: torch.Tensor, like: torch.Tensor, device: str | None = None) -> torch.Tensor:
    """A copy of the values of another tensor before its expansion, with its strides and expansion."""
    once = stored_once(like)
    result = torch.empty_strided(once.shape, once.stride(), dtype=values.dtype, device=device or values.device)
    return result.copy_(values).expand(like.shape)


def _positional_and_named(given: Any) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of `Model(...)`, from a list, a dictionary, or a pair of both as in KernelBook."""
    if isinstance(given, dict):
        return [], given
    given = list(given)
    if len(given) == 2 and isinstance(given[0], list | tuple) and isinstance(given[1], dict):
        return list(given[0]), given[1]
    return given, {}


def _times(factor: float, value: Any) -> Any:
    """A floating-point number, or all in a dataclass, multiplied; any other value as it is."""
    if not is_dataclass(type(value)):
        return value * factor if isinstance(value, float) else value
    held = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
    return replace(value, **tree_map(partial(_times, factor), held))


def _leaves(value: Any) -> list[Any]:
    """What lists, tuples, dictionaries and dataclasses hold, however deep, in order; or the value itself."""
    if is_dataclass(type(value)):
        value = [getattr(value, field.name) for field in fields(value)]
    elif isinstance(value, dict):
        value = [*value, *value.values()]
    return [leaf for part in value for leaf in _leaves(part)] if isinstance(value, list | tuple) else [value]


def _not_plain(value: Any) -> Any:
    """The first of the leaves that is no number and no string; None if all are."""
    return next((leaf for leaf in _leaves(value) if leaf is not None and not isinstance(leaf, int | float | str)), None)


def _spec(name: str, tensor: torch.Tensor) -> TensorSpec:
    dtype = str(tensor.dtype).removeprefix("torch.")
    if dtype not in ITEM_BYTES:
        raise TaskError(f"{name} is a tensor of type {dtype}", hint=f"use one of {', '.join(ITEM_BYTES)}")
    stride = () if tensor.is_contiguous() else tensor.stride()
    return TensorSpec(name=name, shape=tuple(tensor.shape), dtype=dtype, stride=stride)


def is_float(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()

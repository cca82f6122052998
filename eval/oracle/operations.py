"""See a reference's operations: how much they compute and hold, and from which values they choose indices, as top-k."""

import math
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

from eval.oracle.precision import PRODUCTS


class Choice(NamedTuple):
    """One call of such an operation."""

    values: torch.Tensor
    indices: torch.Tensor
    """Into the values along `dim`; both have the same number of dimensions."""
    dim: int
    distinct: bool
    """Whether no index is there twice along `dim`."""


def _along(values: torch.Tensor, indices: torch.Tensor, dim: int | None, *, distinct: bool = False) -> Choice:
    """The choice along a dimension that `indices` may lack, or among all values if `dim` is None."""
    if dim is None or not values.dim():
        return Choice(values.reshape(-1), indices.reshape(-1), 0, distinct)
    return Choice(values, indices if indices.dim() == values.dim() else indices.unsqueeze(dim), dim, distinct)


REDUCTIONS = ("argmax", "argmin", "max", "min", "median", "nanmedian", "kthvalue", "mode")
POOLINGS: Mapping[str, int] = {
    "max_pool2d_with_indices": 2, "max_pool3d_with_indices": 3, "adaptive_max_pool2d": 2, "adaptive_max_pool3d": 3,
}  # fmt: skip


Seen = Callable[[Any, Sequence[Any], Mapping[str, Any], Any], None]
"""Told of an operation with its positional and named arguments, and its result."""


class _Observer(TorchDispatchMode):
    """Tells of each operation while it is entered."""

    def __init__(self, seen: Seen) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._seen = seen

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        self._seen(func, args, kwargs or {}, result)
        return result


class Work(NamedTuple):
    """What a call does."""

    matrix_operations: int
    """Operations in matrix products, convolutions and attention, by torch's formulas; a multiply-add counts as two."""
    working_bytes: int
    """Most memory that the tensors which it makes take at once."""
    products: bool
    """Whether there are products of matrices, not only convolutions."""
    convolutions: bool


def measure_work(call: Callable[[], Any], known: Sequence[Any]) -> tuple[Any, Work]:
    """The result of a call, and its work. (torch's own FlopCounterMode first imports its compiler, for 2 s.)

    Args:
        known: Tensors that the call does not make.
    """
    operations, most_bytes, products, convolutions = 0, 0, False, False
    live = {t.untyped_storage()._cdata: 0 for t in known if isinstance(t, torch.Tensor)}  # noqa: SLF001

    def measure(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any) -> None:
        nonlocal operations, most_bytes, products, convolutions
        products |= func.overloadpacket.__name__ in PRODUCTS
        convolutions |= "convolution" in func.overloadpacket.__name__
        if formula := flop_registry.get(func.overloadpacket):
            operations += formula(*args, **kwargs, out_val=result)
        for storage in (t.untyped_storage() for t in tree_leaves(result) if isinstance(t, torch.Tensor)):
            if storage._cdata not in live:  # noqa: SLF001
                live[storage._cdata] = storage.nbytes()  # noqa: SLF001
                weakref.finalize(storage, live.pop, storage._cdata, None)  # noqa: SLF001
        most_bytes = max(most_bytes, sum(live.values()))

    with _Observer(measure):
        result = call()
    return result, Work(operations, most_bytes, products, convolutions)


def record_choices(call: Callable[[], Any]) -> tuple[Any, list[Choice]]:
    """The result of a call, and the choices that it made, in their order."""
    choices: list[Choice] = []

    def record(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any) -> None:
        name, given = func.overloadpacket.__name__, _arguments(func, args, kwargs)
        outputs = result if isinstance(result, tuple) else (result,)
        if name in ("topk", "sort") and not given.get("stable"):  # a stable sort leaves no choice
            choices.append(_along(args[0], outputs[1], given["dim"], distinct=True))
        elif name in REDUCTIONS and "dim" in given:
            choices.append(_along(args[0], outputs[-1], given["dim"]))
        elif name in POOLINGS:  # its indices count through the last dimensions
            values, indices = (x.flatten(-POOLINGS[name]) for x in (args[0], outputs[1]))
            choices.append(Choice(values, indices, -1, distinct=False))

    with _Observer(record):
        result = call()
    return result, choices


def operations_in(call: Callable[[], Any]) -> set[str]:
    """The names of its operations."""
    names = set[str]()
    with _Observer(lambda func, *_: names.add(func.overloadpacket.__name__)):
        call()
    return names


def numbers_in(call: Callable[[], Any]) -> set[float]:
    """The numbers among the arguments of its operations, such as the limits of a clamp; also those by default."""
    numbers = set[float]()

    def collect(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any) -> None:
        given = tree_leaves(list(_arguments(func, args, kwargs).values()))
        numbers.update(x for x in given if isinstance(x, int | float) and math.isfinite(x))

    with _Observer(collect):
        call()
    return numbers


def _arguments(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """All arguments of a call by name, defaults included."""
    named = {argument.name: argument.default_value for argument in func._schema.arguments}  # noqa: SLF001
    return named | dict(zip(named, args, strict=False)) | dict(kwargs)

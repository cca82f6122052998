"""Run a task's `forward` as if float32 were float64, whatever tensors it makes, keeps or names the type of."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map_only

WIDER = {torch.float32: torch.float64, torch.complex64: torch.complex128}


class InFloat64(TorchFunctionMode):
    """While it is entered, this thread computes in float64 what it would in float32, from the same values.

    A tensor that comes from elsewhere is copied once, so that a change in place stays: an attribute that is no buffer,
    or one that `forward` makes in float32. A cast to float32 gives float64. Types narrower than float32 stay, and are
    widened only where torch refuses to mix them with float64.

    Args:
        exact: Tensors with what is to be computed with instead: a function kept by a copy of a model may use those of
            the model itself.
    """

    def __init__(self, exact: Iterable[tuple[torch.Tensor, torch.Tensor]] = ()) -> None:
        super().__init__()
        self._exact = {id(x): (x, wide) for x, wide in exact}  # with x, so that no other tensor gets its id

    def __torch_function__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        given = tree_map_only(torch.Tensor, self._widened, (tuple(args), dict(kwargs or {})))
        leaves = tree_leaves(given)
        tensors = [x for x in leaves if isinstance(x, torch.Tensor)]
        names_type = any(isinstance(x, torch.dtype) and x in WIDER for x in leaves)
        casts = bool(tensors) and (func == torch.Tensor.float or names_type) and func != torch.Tensor.view
        if casts:
            func = torch.Tensor.double if func == torch.Tensor.float else func
            given = tree_map_only(torch.dtype, lambda dtype: WIDER.get(dtype, dtype), given)
        made = _called(func, given, tensors)
        if not isinstance(made, torch.Tensor):
            return made
        if casts and any(made is x for x in tensors):
            return made.clone()  # as the cast of a narrower type does
        return made.to(WIDER[made.dtype]) if made.dtype in WIDER else made

    def _widened(self, x: torch.Tensor) -> torch.Tensor:
        if id(x) not in self._exact and x.dtype in WIDER:
            self._exact[id(x)] = x, x.to(WIDER[x.dtype])
        return self._exact.get(id(x), (x, x))[1]


def _called(func: Any, given: tuple[Any, Any], tensors: Sequence[torch.Tensor]) -> Any:
    try:
        return func(*given[0], **given[1])
    except RuntimeError:
        if len({x.dtype for x in tensors if x.is_floating_point()}) < 2:
            raise
        args, kwargs = tree_map_only(torch.Tensor, lambda x: x.double() if x.is_floating_point() else x, given)
        return func(*args, **kwargs)

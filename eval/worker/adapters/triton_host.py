"""The worker's adapter that runs a Triton candidate's host code, and reports what it would launch.

The host code gets inputs of the right shapes that hold only zeros, so nothing that it computes can be an answer: it
allocates, takes views and launches, and these steps are the plan that it reports; see eval.devices.triton_plan.
"""

import mmap
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from eval.fault import Fault
from eval.worker.adapters.cross_compile import driver_of
from eval.worker.adapters.python import build, import_candidate
from eval.worker.channel import Message
from eval.worker.mapping import mapped

MAP_NORESERVE = 0x4000
"""Memory that takes no place until it is written (include/uapi/asm-generic/mman.h); Python names it from 3.13 on."""
ALLOCATES = {
    **dict.fromkeys(("empty", "empty_strided", "empty_like", "new_empty", "new_empty_strided", "empty_permuted")),
    **dict.fromkeys(("zeros", "zeros_like", "new_zeros"), 0),
    **dict.fromkeys(("ones", "ones_like", "new_ones"), 1),
    **dict.fromkeys(("full", "full_like", "new_full"), "the second argument"),
}
"""Operations that allocate, and what they fill the memory with."""

Launched = Callable[[Any, dict[str, Any], Any, dict[str, Any], int], None]
_KEPT: list[object] = []
"""Everything that a plan refers to, since the judge reads it later."""


def plan(folder: Path, memory: int, question: Message) -> Message:
    """The plan of one call with the inputs that `question` describes.

    Raises:
        Fault: the host code works on values.
    """
    from triton.runtime import driver

    torch.set_grad_enabled(False)
    state = mapped(memory, question["state"])
    named = {spec["name"]: tensor.clone() for spec, tensor in zip(question["state"], state, strict=True)}
    inputs = [spec["value"] if "value" in spec else _unwritten(spec) for spec in question["inputs"]]
    with patch.object(driver, "_active", driver_of(question["isa"], "cpu")):
        with launches_go_to(_too_early):
            model = build(import_candidate(folder), question["arguments"], named)
        recorder = Recorder(inputs)
        with launches_go_to(recorder.launch), recorder:
            result = model(*inputs)
    outputs = tuple(result) if isinstance(result, tuple | list) else (result,)
    _KEPT.extend((model, recorder))
    return recorder.plan(outputs)


@contextmanager
def launches_go_to(launched: Launched) -> Iterator[None]:
    """Pass each launch to `launched` instead: kernel, arguments, grid, options, and number of configurations.

    An autotuned kernel is launched in the first configuration that pruning leaves; none is timed.
    """
    from triton.runtime.autotuner import Autotuner
    from triton.runtime.jit import JITFunction

    autotune = Autotuner.run
    configurations = 1

    def run(kernel: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> None:
        if warmup:
            return
        options = {name: value for name, value in kwargs.items() if name not in kernel.arg_names}
        bound = kernel.signature.bind(*args, **{n: v for n, v in kwargs.items() if n not in options})
        bound.apply_defaults()
        arguments = dict(bound.arguments)
        launched(kernel, arguments, grid(arguments) if callable(grid) else grid, options, configurations)

    def run_autotuned(tuner: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal configurations
        configurations = len(tuner.configs)
        try:
            return autotune(tuner, *args, **kwargs)
        finally:
            configurations = 1

    with (
        patch.object(JITFunction, "run", run),
        patch.object(Autotuner, "run", run_autotuned),
        patch.object(Autotuner, "_bench", lambda *_, **__: [0.0]),  # Triton takes the first of the best
    ):
        yield


class Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Records what host code does while it is active, and refuses operations on values."""

    def __init__(self, inputs: list[Any]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        tensors = [value for value in inputs if isinstance(value, torch.Tensor)]
        self._kept: list[torch.Tensor] = [*tensors]
        self._places = {_address(tensor): ("inputs", number) for number, tensor in enumerate(tensors)}
        self._constants: list[Message] = []
        self._buffers: list[int] = []
        self._steps: list[Message] = []
        self._texts: dict[str, str] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name, kwargs = func.overloadpacket.__name__, kwargs or {}
        if func.is_view:
            return func(*args, **kwargs)
        if name in ALLOCATES:
            tensor = self._allocated(func(*args, **{**kwargs, "device": "meta"}))
            number = ALLOCATES[name] if name not in ("full", "full_like", "new_full") else _filling(args, kwargs)
            return tensor if number is None else self._filled(tensor, number)
        if name in ("zero_", "fill_"):
            return self._filled(args[0], 0 if name == "zero_" else _filling(args, kwargs))
        raise Fault(
            "outside_kernels",
            f"forward runs `{name}` in torch; outside of kernels it may allocate, fill with a number and take views, "
            "and read shapes but no values",
        )

    def launch(
        self, kernel: Any, arguments: dict[str, Any], grid: Any, options: dict[str, Any], configurations: int
    ) -> None:
        self._steps.append({
            "launch": {
                "kernel": self._named(kernel),
                "grid": [operator.index(size) for size in grid],
                "arguments": {name: self._argument(value) for name, value in arguments.items()},
                "options": {name: _option(name, value) for name, value in options.items()},
                "configurations": configurations,
            }
        })  # fmt: skip

    def plan(self, outputs: tuple[Any, ...]) -> Message:
        """All that was recorded, and the tensors that hold the result."""
        for output in outputs:
            if not isinstance(output, torch.Tensor):
                raise Fault("bad_output", f"forward returns {type(output).__name__}, not a tensor")
        views = [self._view(output) for output in outputs]
        return {
            "constants": self._constants, "buffers": self._buffers, "steps": self._steps, "texts": self._texts,
            "outputs": views,
        }  # fmt: skip

    def _named(self, kernel: Any) -> str:
        """The name of a kernel in the text that Triton would compile."""
        name = kernel.src.removeprefix("def").partition("(")[0].strip()
        if self._texts.setdefault(name, kernel.src) != kernel.src:
            raise Fault("outside_kernels", f"forward launches two kernels that are called {name}")
        return str(name)

    def _allocated(self, like: torch.Tensor) -> torch.Tensor:
        size = like.untyped_storage().size()
        tensor = torch.empty(0, dtype=like.dtype).set_(
            _zeros(size).untyped_storage(), 0, like.shape, like.stride()
        )  # fmt: skip
        self._places[_address(tensor)] = ("buffers", len(self._buffers))
        self._buffers.append(size)
        self._kept.append(tensor)
        return tensor

    def _filled(self, tensor: torch.Tensor, number: Any) -> torch.Tensor:
        self._steps.append({"fill": {"view": self._view(tensor), "number": number}})
        return tensor

    def _view(self, tensor: torch.Tensor) -> Message:
        if tensor.device.type != "cpu" or tensor.layout is not torch.strided:
            raise Fault("raised", f"a tensor is on {tensor.device}; allocate on the device of the inputs")
        address = _address(tensor)
        if address not in self._places:
            self._places[address] = ("constants", len(self._constants))
            self._constants.append({"size": tensor.untyped_storage().size(), "pointer": address})
            self._kept.append(tensor)
        of, number = self._places[address]
        return {
            "of": of, "number": number, "dtype": str(tensor.dtype).removeprefix("torch."),
            "offset": tensor.storage_offset(), "shape": tensor.shape, "stride": tensor.stride(),
        }  # fmt: skip

    def _argument(self, value: Any) -> Message:
        import triton
        from triton.tools.tensor_descriptor import TensorDescriptor

        match value:
            case triton.language.constexpr():
                return self._argument(value.value)
            case torch.Tensor():
                return {"view": self._view(value)}
            case TensorDescriptor():
                fields = ("shape", "strides", "block_shape", "padding")
                return {"descriptor": {"base": self._view(value.base), **{f: getattr(value, f) for f in fields}}}
            case triton.language.dtype():
                return {"dtype": value.name}
            case triton.JITFunction():
                return {"kernel": self._named(value)}
            case tuple() | list():
                return {"items": [self._argument(item) for item in value]}
            case bool() | int() | float() | str() | None:
                return {"value": value}
        raise Fault("raised", f"a kernel gets {type(value).__name__}, which Triton does not take")


def _too_early(kernel: Any, *_: Any) -> None:
    raise Fault("outside_kernels", f"{kernel.fn.__name__} is launched before forward; prepare weights with torch")


def _option(name: str, value: Any) -> Any:
    if value is None or isinstance(value, bool | int):
        return value
    raise Fault("compile_error", f"the option {name} of a launch is {value!r}; only numbers are accepted")


def _filling(args: Any, kwargs: Any) -> Any:
    value = args[1] if len(args) > 1 else next(kwargs[key] for key in ("fill_value", "value") if key in kwargs)
    if isinstance(value, torch.Tensor):
        raise Fault("outside_kernels", "forward fills a tensor with another's value; fill it with a number")
    return value


def _unwritten(spec: Message) -> torch.Tensor:
    dtype = getattr(torch, spec["dtype"])
    count = torch.Size(spec["shape"]).numel()
    return _zeros(count * dtype.itemsize)[: count * dtype.itemsize].view(dtype).view(spec["shape"])


def _zeros(size: int) -> torch.Tensor:
    """Bytes in memory of their own that take no place until they are written."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE
    return torch.frombuffer(mmap.mmap(-1, max(1, size), flags=flags), dtype=torch.uint8)


def _address(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()

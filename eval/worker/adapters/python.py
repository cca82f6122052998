"""The worker's adapter for candidates in Python, which are modules that define `ModelNew`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from types import ModuleType, SimpleNamespace
from typing import Any

from eval.worker.channel import ALL, Message
from eval.worker.fault import Fault
from eval.worker.mapping import is_in_order, mapped
from eval.worker.worker import module_in

BLOCK = 1 << 24
"""Elements that are compared at once."""


class PythonCandidate:
    """A module, imported on construction, with the reference's parameters. See `eval.worker.worker.BuiltCandidate`."""

    _device = "cpu"
    _in_order: Sequence[bool] = ()
    """For each output, whether that of the reference lies in order; empty if nothing is known of them."""
    _state: Mapping[str, Any] = {}
    """What the model holds of the reference's state as it is. A model that loads it may hold it in another form."""

    def __init__(self, folder: Path, memory: int, question: Message) -> None:
        import torch

        torch.set_grad_enabled(False)
        self._memory = memory
        state = dict(zip((s["name"] for s in question["state"]), self._mapped(question["state"]), strict=True))
        self._model = self._built(folder, question, state)
        held: dict[str, Any] = getattr(self._model, "state_dict", dict)()
        self._state = {name: held[name] for name in held.keys() & state.keys() if _same(held[name], state[name])}
        self._in_order = question["in_order"]
        self._inputs: list[list[Any]] = []
        self._outputs: tuple[Any, ...] = ()

    def map_inputs(self, sets: list[list[Message]]) -> None:
        tensors = iter(self._mapped([s for inputs in sets for s in inputs if "value" not in s]))
        self._inputs = [[s["value"] if "value" in s else next(tensors) for s in inputs] for inputs in sets]

    def ready(self, number: int) -> None:
        """Nothing: torch allocates during a call."""

    def call(self, number: int) -> float:
        start = perf_counter()
        self._run(number)
        return perf_counter() - start

    def places(self) -> Sequence[int | str]:
        try:
            return [output.data_ptr() for output in self._outputs]
        except (AttributeError, RuntimeError):  # their layouts say what they are
            return [0] * len(self._outputs)

    def layouts(self) -> list[Message]:
        return [self._layout(output) for output in self._outputs]

    def forget_outputs(self) -> None:
        self._outputs = ()

    def changed(self, state: list[Message]) -> list[str]:
        pairs = zip(state, self._mapped(state), strict=True)
        return [spec["name"] for spec, given in pairs if not _same(self._state.get(spec["name"], given), given)]

    def _built(self, folder: Path, question: Message, state: dict[str, Any]) -> Any:
        """What is called. It keeps nothing of the state, which lies where inputs are later."""
        keywords = {name: received(value) for name, value in question["keywords"].items()}
        module = module_in(folder / "candidate.py", "candidate")
        return build(module, [received(value) for value in question["arguments"]], keywords, state)

    def _mapped(self, specs: list[Message]) -> list[Any]:
        return mapped(self._memory, specs)

    def _run(self, number: int) -> None:
        numbers = range(len(self._inputs)) if number == ALL else (number,)
        self._outputs = tuple(output for each in numbers for output in self._called(each))

    def _called(self, number: int) -> tuple[Any, ...]:
        result = self._model(*self._inputs[number])
        outputs = tuple(result) if isinstance(result, tuple | list) else (result,)
        if len(outputs) != len(self._in_order):
            return outputs
        return tuple(_ordered(x) if in_order else x for x, in_order in zip(outputs, self._in_order, strict=True))

    def _layout(self, output: Any) -> Message:
        """Layout of an output; only its type if it is not a plain tensor on the device of the inputs."""
        import torch

        plain = type(output) is torch.Tensor and output.layout is torch.strided
        if not plain or output.device.type != self._device:
            return {"dtype": f"{type(output).__name__} on {getattr(output, 'device', 'no device')}"}
        return {
            "shape": list(output.shape),
            "stride": list(output.stride()),
            "dtype": str(output.dtype).removeprefix("torch."),
        }


load = PythonCandidate


def _ordered(output: Any) -> Any:
    """An output whose elements lie in order, as those of the reference do: the next operation would have to do that.

    Where elements share memory, they stay as they are, and the judge refuses them.
    """
    import torch

    if type(output) is not torch.Tensor or output.layout is not torch.strided or is_in_order(output):
        return output
    shared = any(step == 0 and size > 1 for size, step in zip(output.shape, output.stride(), strict=True))
    return output if shared else output.contiguous()


def _same(one: Any, other: Any) -> bool:
    """Whether two tensors are equal bit for bit."""
    import torch

    one, other = (torch.view_as_real(x) if x.is_complex() else x for x in (one, other))
    kinds = ((type(x), x.shape, x.dtype, x.device, x.layout) for x in (one, other))
    bits = getattr(torch, f"int{8 * min(8, other.itemsize)}")
    parts = (x.flatten().view(bits).split(BLOCK) for x in (one, other))  # in blocks: to compare takes as much memory
    return len(set(kinds)) == 1 and all(map(torch.equal, *parts))


def received(argument: Any) -> Any:
    """An argument of `ModelNew(...)`, as the judge sent it. What was a dataclass has its fields, but not its type."""
    if isinstance(argument, list):
        return [received(part) for part in argument]
    if not isinstance(argument, dict):
        return argument
    if "fields" in argument:
        return SimpleNamespace(**{name: received(value) for name, value in argument["fields"].items()})
    return {key: received(value) for key, value in argument["dictionary"]}


def build(module: ModuleType, arguments: list[Any], keywords: dict[str, Any], state: dict[str, Any]) -> Any:
    """`ModelNew` with the reference's parameters. Raises Fault if it does not accept them."""
    model = module.ModelNew(*arguments, **keywords)
    if not _copies(model):
        state = {name: tensor.clone() for name, tensor in state.items()}
    if hasattr(model, "load_reference"):
        model.load_reference(state)
        return model
    own = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    expected = {name: tuple(tensor.shape) for name, tensor in state.items()}
    if own != expected:
        missing = sorted(f"{n}{list(s)}" for n, s in expected.items() if own.get(n) != s)
        extra = sorted(f"{n}{list(s)}" for n, s in own.items() if expected.get(n) != s)
        raise Fault(
            "incompatible_parameters",
            f"ModelNew's parameters: missing {', '.join(missing) or 'none'}, unexpected {', '.join(extra) or 'none'}; "
            "use the names and shapes of the reference's parameters, or define load_reference(state)",
        )
    model.load_state_dict(state)
    return model


def _copies(model: Any) -> bool:
    """Whether torch's own code loads the parameters, and copies them: large ones have no room on a GPU for one more."""
    import torch

    if hasattr(model, "load_reference") or not isinstance(model, torch.nn.Module):
        return False
    loads = (load for each in model.modules() for load in (each.load_state_dict, each._load_from_state_dict))  # noqa: SLF001
    hooks = (each._load_state_dict_pre_hooks for each in model.modules())  # noqa: SLF001
    return not any(hooks) and all(load.__module__.startswith("torch.nn.") for load in loads)

"""The worker's adapter for `triton` without the chip: interprets a candidate's kernels, or compiles them.

The environment chooses when Triton is imported: with TRITON_INTERPRET=1 its kernels are interpreted.
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from eval.worker.adapters.cross_compile import CrossCompiler, dot_precisions, driver_of
from eval.worker.adapters.interpreter import interpreter, memory_of
from eval.worker.adapters.python import PythonCandidate
from eval.worker.channel import Message
from eval.worker.fault import Fault


class InterpretedModel(PythonCandidate):
    """A candidate whose kernels run in Triton's interpreter."""

    def map_inputs(self, sets: list[list[Message]]) -> None:
        import torch

        super().map_inputs(sets)
        tensors = [value for inputs in self._inputs for value in inputs if isinstance(value, torch.Tensor)]
        self._interpreter.inputs = [memory_of(tensor) for tensor in tensors]

    def launched(self) -> list[str]:
        return list(self._interpreter.launched)

    def _built(self, folder: Path, question: Message, state: dict[str, Any]) -> Any:
        from triton.runtime import driver

        _pretend_gpu()
        driver._active = driver_of(question["isa"])  # noqa: SLF001 - Triton has no other way to name a target
        self._interpreter = interpreter(dot_precisions(question["isa"]))
        return super()._built(folder, question, state)


class CompiledModel(PythonCandidate):
    """A candidate whose kernels are compiled where it launches them, and do not run."""

    def compile(self, described: list[Message] | None) -> Message:
        """Call the candidate once.

        Args:
            described: Shapes and types of inputs without values; None for the inputs that are mapped.

        Returns:
            The fields of eval.devices.triton_trial.Launched.

        Raises:
            Fault: a kernel does not compile.
        """
        from torch._subclasses.fake_tensor import FakeTensorMode

        self._compiler.launched.clear()
        stopped, real = "", described is None
        # Torch raises these for lack of values; on real inputs only kernels compute nothing, which leads to anything.
        no_values = Exception if real else (RuntimeError, TypeError)
        with self._compiling(), nullcontext() if real else FakeTensorMode(allow_non_fake_inputs=True):
            inputs = self._inputs[0] if described is None else [_without_values(spec) for spec in described]
            try:
                self._model(*inputs)
            except no_values as error:
                stopped = _why(error)
        compiled = {"kernels": self._compiler.records, "left_out": self._compiler.left_out}
        return {**compiled, "launched": list(self._compiler.launched), "stopped": stopped}

    def _built(self, folder: Path, question: Message, state: dict[str, Any]) -> Any:
        _pretend_gpu()
        self._compiler = CrossCompiler(question["isa"], folder)
        with self._compiling():
            return super()._built(folder, question, state)

    @contextmanager
    def _compiling(self) -> Iterator[None]:
        """Raises Fault if a kernel does not compile, whatever the candidate makes of that."""
        try:
            with self._compiler.in_place_of_launches():
                yield
        finally:
            if error := self._compiler.failure:
                raise Fault("compile_error", _with_causes(error)) from error


def load(folder: Path, memory: int, question: Message) -> PythonCandidate:
    from triton import knobs

    return (InterpretedModel if knobs.runtime.interpret else CompiledModel)(folder, memory, question)


def _pretend_gpu() -> None:
    """Let candidates assert that their tensors are on the GPU, for which those on the CPU stand."""
    import torch

    torch.Tensor.is_cuda = property(lambda _: True)  # type: ignore[assignment]


def _without_values(spec: Message) -> Any:
    import torch

    return spec["value"] if "value" in spec else torch.empty(spec["shape"], dtype=getattr(torch, spec["dtype"]))


def _with_causes(error: BaseException) -> str:
    """Triton's compiler names the place, and its cause the reason."""
    text = f"{type(error).__name__}: {error}"
    return f"{text}\n{_with_causes(error.__cause__)}" if error.__cause__ else text


def _why(error: Exception) -> str:
    from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException

    if isinstance(error, DataDependentOutputException | DynamicOutputShapeException):
        return "forward needs values of tensors"
    return f"{type(error).__name__}: {error}"

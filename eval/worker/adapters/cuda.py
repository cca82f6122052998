"""The worker's adapter for `cuda`: loads a compiled candidate and calls it with tensors on the GPU."""

import ctypes
from pathlib import Path
from typing import Any

from eval.worker.adapters.cpp import LIBRARY, array_of, tensor_at
from eval.worker.adapters.gpu import GpuCandidate, warm
from eval.worker.channel import Message
from eval.worker.fault import Fault

__all__ = ["load", "warm"]


class CudaCandidate(GpuCandidate):
    """A candidate that defines `model_new` of kb_tensor_cuda.h. See `eval.worker.worker.BuiltCandidate`."""

    def _built(self, folder: Path, question: Message, state: dict[str, Any]) -> Any:
        import torch

        library = ctypes.CDLL(str(folder / LIBRARY))
        if not hasattr(library, "model_new"):
            raise Fault("compile_error", "it does not define model_new; include kb_tensor_cuda.h")
        library.model_new.restype = None
        init = (ctypes.c_double * max(1, len(question["init"])))(*question["init"])
        state = {name: tensor.clone() for name, tensor in state.items()}
        parameters = array_of([_described(tensor) for tensor in state.values()])
        if hasattr(library, "load_reference"):
            library.load_reference.restype = None
            library.load_reference(parameters, init, _stream())
        specs = [(spec["shape"], getattr(torch, spec["dtype"])) for spec in question["outputs"]]

        def call(*inputs: Any) -> tuple[Any, ...]:
            outputs = tuple(torch.empty(shape, dtype=dtype, device=self._device) for shape, dtype in specs)
            arguments, results = (array_of([_described(t) for t in tensors]) for tensors in (inputs, outputs))
            library.model_new(arguments, parameters, init, results, _stream())
            return outputs

        call.state_dict = lambda: state  # type: ignore[attr-defined]  # the pointers in `parameters` do not keep it
        return call


load = CudaCandidate


def _described(tensor: Any) -> Any:
    return tensor_at(tensor.data_ptr(), list(tensor.shape))


def _stream() -> ctypes.c_void_p:
    import torch

    return ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)

"""The worker's adapter for `triton`: runs a candidate in Triton's interpreter or compiles it for an absent chip."""

from pathlib import Path
from typing import Any

from eval.languages.cross_compile import compile_kernels, skip_autotuning
from eval.languages.python_model import PythonModel, build, import_candidate
from eval.worker.channel import Message


def load(folder: Path, memory: int, question: Message) -> PythonModel:
    skip_autotuning()
    return PythonModel(folder, memory, question)


def compile_only(folder: Path, question: Message) -> list[Message]:
    """Compile the kernels that the candidate launches at the sizes in `question`; see eval.languages.cross_compile."""
    import torch

    torch.set_grad_enabled(False)

    def on_meta(spec: Message) -> Any:
        return torch.empty(spec["shape"], dtype=getattr(torch, spec["dtype"]), device="meta")

    def call() -> object:
        with torch.device("meta"):
            model = build(
                import_candidate(folder), question["arguments"], {s["name"]: on_meta(s) for s in question["state"]}
            )
        return model(*[s["value"] if "value" in s else on_meta(s) for s in question["inputs"]])

    return compile_kernels(question["isa"], call, folder)

"""CUDA C++ is compiled ahead, for the GPU of this machine, in the sandbox."""

import ctypes
import shutil
from pathlib import Path

import pytest

from eval.languages import cuda
from eval.languages.registry import CUDA, language_of
from eval.machine import sandbox_level
from eval.selftest.known import CORRECT, WRONG
from eval.selftest.known import read_candidate as candidate
from eval.supervisor.process import WorkerProcess
from eval.supervisor.trial import Trial
from eval.worker.fault import Fault
from kb.errors import JudgeError
from kb.types.evidence import Outcome
from kb.types.target import Isa
from tests.eval.judging import needs_linux

needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no nvcc")


@pytest.fixture(autouse=True)
def _a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda, "present_gpu", lambda: Isa("cuda", "90"))


def worker_of(path: Path) -> WorkerProcess:
    return Trial(candidate(path), language=CUDA, level=sandbox_level()).worker()


@needs_linux
@needs_nvcc
def test_a_candidate_is_compiled_before_its_worker_starts():
    with worker_of(CORRECT / "gpu" / "layernorm.cu") as worker:
        code = (worker.folder / "candidate.so").read_bytes()

    assert b"model_new" in code
    assert b"sm_90a" in code


@needs_linux
@needs_nvcc
def test_an_error_of_the_compiler_is_told():
    with (
        pytest.raises(Fault, match='identifier "one" is undefined') as refusal,
        worker_of(WRONG / "gpu" / "does_not_compile.cu"),
    ):
        pass

    assert refusal.value.outcome == Outcome.COMPILE_ERROR


@pytest.mark.parametrize(
    ("gpu", "options"),
    [
        (Isa("cuda", "89"), ["-arch=sm_89"]),
        (Isa("cuda", "90"), ["-arch=sm_90a"]),
        (Isa("cuda", "120"), ["-arch=sm_120a"]),
        (Isa("hip", "gfx942"), ["--offload-arch=gfx942", "-x"]),
    ],
)
def test_a_candidate_is_compiled_for_the_gpu_of_this_machine(
    gpu: Isa, options: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setattr(cuda, "present_gpu", lambda: gpu)
    monkeypatch.setattr(cuda.shutil, "which", lambda name: f"/opt/bin/{name}")

    command = CUDA.compile_command(tmp_path)

    assert command[0] == ("/opt/bin/hipcc" if gpu.backend == "hip" else "/opt/bin/nvcc")
    assert set(options) <= set(command)


def test_without_a_compiler_nothing_can_be_judged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(cuda.shutil, "which", lambda _: None)

    with pytest.raises(JudgeError, match="no nvcc"):
        CUDA.compile_command(tmp_path)


def test_a_file_is_in_cuda_by_its_suffix():
    assert language_of(Path("kernel.cu"), "") is CUDA
    assert language_of(Path("kernel.hip"), "") is CUDA


def test_both_headers_describe_the_same_tensor():
    from eval.worker.adapters import cpp as cpp_model

    headers = [
        Path(cuda.__file__).with_name(name).read_text(encoding="utf-8") for name in ("kb_tensor.h", "kb_tensor_cuda.h")
    ]
    fields = [
        [
            line.split(";")[0].strip()
            for line in h.split("typedef struct {")[1].split("} Tensor;")[0].split("\n")
            if ";" in line
        ]
        for h in headers
    ]

    assert fields[0] == fields[1]
    assert len(fields[0]) == len(cpp_model.Tensor._fields_)
    assert ctypes.sizeof(cpp_model.Tensor) == 32

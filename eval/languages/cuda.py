"""The language `cuda`: CUDA C++ that defines one C function, compiled for the GPU of this machine."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from eval.languages import cpp
from eval.languages.rules import rules_of
from eval.machine import present_gpu
from eval.supervisor.language import ADAPTERS, JudgedLanguage
from eval.worker.adapters.cpp import LIBRARY
from kb.errors import JudgeError

GENERIC, SPECIFIC = "sm_{}", "sm_{}a"
FIRST_SPECIFIC = 9
"""Major compute capability from which an architecture has features of its own, marked by `a` ("Architecture-Specific
Feature Set Compiler Targets" of the CUDA C++ Programming Guide)."""


class Cuda(JudgedLanguage):
    """CUDA C++ that defines the function `model_new` of kb_tensor_cuda.h; hipcc compiles it for HIP."""

    name: str = "cuda"
    searched: tuple[str, ...] = ("shared memory and asynchronous copies in CUDA", "matrix instructions in CUDA C++")
    suffix: str = ".cu"
    fences: tuple[str, ...] = ("cuda", "cu", "cpp", "c++")
    contract: str = rules_of("cuda.contract")
    rules: str = rules_of("cuda", contract)
    tunable: str = "constexpr int BLOCK = 256;  // tune: 128, 256, 512"
    preload: tuple[str, ...] = ("torch", "eval.worker.adapters.cuda")
    adapter: Path = ADAPTERS / "cuda.py"
    other_suffixes: tuple[str, ...] = (".hip",)
    tools: tuple[str, ...] = ("nvcc", "hipcc")
    tensors_alone: bool = True

    def idle(self, reference: str) -> str:
        return cpp.IDLE.replace("kb_tensor.h", "kb_tensor_cuda.h").replace("Tensor *) {", "Tensor *, void *) {")

    def compile_command(self, folder: Path) -> Sequence[str]:
        gpu = present_gpu()
        name = "hipcc" if gpu and gpu.backend == "hip" else "nvcc"
        compiler = shutil.which(name)
        if gpu is None or compiler is None:
            raise JudgeError(f"there is no {name} on the path", hint="install the toolkit of the GPU's vendor")
        source, library = str(folder / f"candidate{self.suffix}"), str(folder / LIBRARY)
        common = ("-std=c++17", "-O3", "-shared", f"-I{Path(__file__).parent}", "-o", library)
        if name == "hipcc":
            return (compiler, *common, "-fPIC", f"--offload-arch={gpu.architecture}", "-x", "hip", source)
        target = SPECIFIC if int(gpu.architecture[:-1]) >= FIRST_SPECIFIC else GENERIC
        return (compiler, *common, "-Xcompiler", "-fPIC", f"-arch={target.format(gpu.architecture)}", source)

    def readable(self) -> tuple[str, ...]:
        """The toolkits, which may be in any folder."""
        found = map(shutil.which, self.tools)
        return tuple(str(Path(path).resolve().parents[1]) for path in found if path)

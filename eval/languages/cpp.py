"""The language `cpp`: C++ that defines one C function."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from eval.languages.rules import rules_of
from eval.supervisor.language import ADAPTERS, WAIT, JudgedLanguage
from eval.worker.adapters.cpp import FLAGS, LIBRARY
from kb.errors import JudgeError

IDLE = f'#define WAIT_FILE "{WAIT}"\n' + Path(__file__).with_name("idle.cpp").read_text(encoding="utf-8")
"""See `JudgedLanguage.idle`."""


class Cpp(JudgedLanguage):
    """C++ that defines the function `model_new` of kb_tensor.h."""

    name: str = "cpp"
    searched: tuple[str, ...] = ("intrinsics in C and C++", "compiler options vectorisation")
    suffix: str = ".cpp"
    fences: tuple[str, ...] = ("cpp", "c++", "cc")
    contract: str = rules_of("cpp.contract")
    rules: str = rules_of("cpp", contract)
    tunable: str = "constexpr int UNROLL = 4;  // tune: 1, 2, 4, 8"
    adapter: Path = ADAPTERS / "cpp.py"
    other_suffixes: tuple[str, ...] = (".cc",)
    tools: tuple[str, ...] = ("compiler",)
    tensors_alone: bool = True

    def idle(self, reference: str) -> str:
        return IDLE

    def compile_command(self, folder: Path) -> Sequence[str]:
        compiler = shutil.which("c++") or shutil.which("clang++")
        if compiler is None:
            raise JudgeError("there is no C++ compiler on the path", hint="install g++ or clang++")
        header = f"-I{Path(__file__).parent}"
        return (compiler, *FLAGS, header, "-o", str(folder / LIBRARY), str(folder / f"candidate{self.suffix}"))

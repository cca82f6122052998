"""The judge's process needs torch, triton, numpy and pydantic alone, so that it judges on a bare machine with a GPU."""

import subprocess
import sys

IMPORTS = """
import re
import sys
from importlib import import_module, metadata
from importlib.abc import MetaPathFinder

def closure(names):
    found, left = set(), list(names)
    while left:
        name = re.split(r"[^\\w.-]", left.pop())[0].lower().replace("_", "-")
        if name not in found:
            found.add(name)
            try:
                left += [need for need in metadata.requires(name) or [] if "extra ==" not in need]
            except metadata.PackageNotFoundError:  # not for this system
                pass
    return found

allowed = closure(["torch", "triton", "numpy", "pydantic"]) | {"kb-hardware"}
others = {
    module for module, names in metadata.packages_distributions().items()
    if not {name.lower().replace("_", "-") for name in names} & allowed
}

class Absent(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in others:
            raise ModuleNotFoundError(f"a bare machine lacks {name}")

sys.meta_path.insert(0, Absent())
for module in sys.argv[1:]:
    import_module(module)
"""
"""Imports modules where no package is installed but those four and what they need."""
MODULES = (
    "eval.judge.process", "eval.judge.task_judge", "eval.clock.sessions", "eval.clock.gpu_use",
    "eval.supervisor.device_memory", "eval.screen.screen", "eval.selftest.known",
)  # fmt: skip
"""What the judge's process loads, at its start and later."""


def imported(*modules: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", IMPORTS, *modules], capture_output=True, text=True, check=False)


def test_the_judge_s_process_loads_where_only_torch_triton_numpy_and_pydantic_are_installed() -> None:
    done = imported(*MODULES)

    assert done.returncode == 0, done.stderr


def test_what_needs_more_does_not_load_there() -> None:
    assert "a bare machine lacks" in imported("kb.cli.kernels").stderr

"""Kernels as packages for the Kernels Hub, which the library `kernels` loads.

A package has its sources, from which `kernel-builder` makes one, and the build itself: Python alone, for one backend.
See docs/source/kernel-requirements.md of huggingface/kernels.
"""

import json
import re
from base64 import b64encode
from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import tomlkit

from kb.errors import RunError
from kb.exports.attempts import Kept, best_of
from kb.exports.kernel_file import is_on_gpu, kernel_file
from kb.storage import write_whole
from kb.types.target import CPU
from kb.usecases.judging import interface_of

if TYPE_CHECKING:
    from kb.types.target import CPU
from kb.usecases.knowledge_base import KnowledgeBase

BACKENDS = {"hip": "rocm"}
"""Their names for those that kb calls otherwise."""
EDITION = 5
"""Of build.toml."""
_COMPATIBLE = '''\
"""For older versions of `kernels`."""

import importlib.util
import sys
from pathlib import Path

_spec = importlib.util.spec_from_file_location(f"{__name__}_kernel", Path(__file__).parents[1] / "__init__.py")
_module = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = _module
_spec.loader.exec_module(_module)
Model = _module.Model
'''


def write_packages(
    kb: "KnowledgeBase", kept: Sequence[Kept], folder: Path, licence: str
) -> tuple[dict[str, int], Counter[str]]:
    """Write a package for the best kernel of each run.

    Args:
        licence: Under which the user publishes the kernels, by its id on the Hub.

    Returns:
        The number of files by package, and of runs by the reason why they have none.

    Raises:
        RunError: no licence is named.
    """
    if not licence:
        raise RunError("a package for the Hub names its licence", hint="for example --license mit")
    counts, left_out = dict[str, int](), Counter[str]()
    for run in dict.fromkeys(one.run for one in kept):
        best = best_of([one for one in kept if one.run is run])
        if best is None:
            left_out["no kernel of its run passed"] += 1
            continue
        interface = interface_of(run.plan.task)
        source = kernel_file(run.plan.task, best.attempt.candidate, best.attempt.evidence, interface)
        if not source:
            left_out[f"a kernel in {run.plan.language} is no Python file"] += 1
            continue
        isa, gpu = kb.targets.isa(run.plan.target), is_on_gpu(best.attempt.candidate, best.attempt.evidence)
        if isa is None:
            left_out["kb knows no compiler for its target"] += 1
            continue
        backend = isa.backend if gpu else CPU
        name = _free_name(run.plan.task.name, run.plan.target, counts)
        files = package_of(best, name, BACKENDS.get(backend, backend), source, licence)
        for path, text in files.items():
            write_whole(folder / name / path, text)
        counts[name] = len(files)
    return counts, left_out


def package_of(one: Kept, name: str, backend: str, source: str, licence: str) -> dict[str, str]:
    """The text of each file of a package by its path."""
    module = name.replace("-", "_")
    built = {"__init__.py": source, f"{module}/__init__.py": _COMPATIBLE}
    general = {"name": name, "version": 1, "edition": EDITION, "license": licence, "backends": [backend]}
    metadata = {
        "name": name,
        "id": f"_{module}_{one.attempt.candidate.digest[:8]}",
        "version": 1,
        "license": licence,
        "python-depends": [],
        "backend": {"type": backend},
        "digest": {"algorithm": "sha256", "files": {path: _digest(text) for path, text in built.items()}},
    }
    return {
        "build.toml": tomlkit.dumps({"general": general, "torch-noarch": {"pyext": ["py"]}}),
        "README.md": _readme(one, name, licence),
        f"torch-ext/{module}/__init__.py": source,
        **{f"build/torch-{backend}/{path}": text for path, text in built.items()},
        f"build/torch-{backend}/metadata.json": json.dumps(metadata, indent=1) + "\n",
    }


def _readme(one: Kept, name: str, licence: str) -> str:
    plan, who = one.run.plan, " ".join(filter(None, (one.attempt.author, one.exchange.model if one.exchange else "")))
    author = f" `{who}` wrote it." if who else ""
    return (
        f"---\nlicense: {licence}\ntags:\n- kernels\n---\n\n# {name}\n\nA kernel for the task `{plan.task.name}` on "
        f"`{plan.target}`, in {plan.language}.{author}\n\nkb judged it: {one.verdict.summary}.\n\n"
        "`Model` takes the place of the reference's for inference: same arguments, parameters and `state_dict`.\n"
    )


def _free_name(task: str, target: str, taken: Mapping[str, int]) -> str:
    """The name of a package: it begins with a letter."""
    name = re.sub(r"[^a-z0-9]+", "-", f"{task}-{target}".lower())
    name = name if name[0].isalpha() else f"kb-{name}"
    number = sum(other == name or other.startswith(f"{name}-n") for other in taken)
    return f"{name}-n{number + 1}" if number else name


def _digest(text: str) -> str:
    return b64encode(sha256(text.encode()).digest()).decode()

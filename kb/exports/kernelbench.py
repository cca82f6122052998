"""Kernels as a folder of generations that KernelBench's scripts evaluate."""

import ast
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from kb.errors import RunError
from kb.exports.attempts import Kept
from kb.storage import write_whole

_NUMBER = re.compile(r"^(\d+)-")


def write_kernelbench(kept: Sequence[Kept], folder: Path, level: int) -> tuple[dict[str, int], Counter[str]]:
    """Write each candidate as a sample of its problem, in the order of the attempts.

    Args:
        level: That of the problems, which their files do not say.

    Raises:
        RunError: no level is named.

    Returns:
        The number of samples by problem, and of attempts by the reason why they are left out.
    """
    if not level:
        raise RunError("KernelBench names problems by their level", hint="for example --level 1")
    counts, left_out = Counter[str](), Counter[str]()
    for one in kept:
        name, source = one.run.plan.task.name, one.attempt.candidate.source
        if why := _unfit(one):
            left_out[why] += 1
            continue
        number = _NUMBER.match(name)
        if number is None:
            left_out["its task is not named like a problem of KernelBench, which begins with its number"] += 1
            continue
        problem = f"level_{level}_problem_{number[1]}"
        write_whole(folder / f"{problem}_sample_{counts[problem]}_kernel.py", source)
        counts[problem] += 1
    return dict(counts), left_out


def _unfit(one: Kept) -> str:
    """Why KernelBench cannot run it; empty if it can."""
    language, source = one.attempt.candidate.language, one.attempt.candidate.source
    try:
        defined = {node.name: node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)}
    except (SyntaxError, ValueError):
        return f"a kernel in {language} is no Python file"
    if (model := defined.get("ModelNew")) is None:
        return "it does not define ModelNew"
    if any(isinstance(node, ast.FunctionDef) and node.name == "load_reference" for node in model.body):
        return "it takes the reference's parameters by load_reference, which KernelBench does not call"
    return ""

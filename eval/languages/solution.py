"""Read a solution of FlashInfer-Trace or SOL-ExecBench as the source of a candidate. Nothing is executed here."""

from pathlib import Path, PurePosixPath

from pydantic import BaseModel, ValidationError

from kb.errors import CandidateError
from kb.types.base import reason_of

_MODEL = '''

import torch as _torch


class ModelNew(_torch.nn.Module):
    """Calls the solution's function."""

    def forward(self, *inputs):
        return {function}(*inputs)
'''
HINT = "give a solution of one Python file whose function returns its outputs, or a Python file with ModelNew"


class SourceFile(BaseModel):
    path: str
    content: str


class Spec(BaseModel):
    entry_point: str
    """A file and the function in it: `main.py::run`."""
    destination_passing_style: bool = True


class Solution(BaseModel):
    spec: Spec
    sources: list[SourceFile]


def solution_source(text: str, path: Path) -> str:
    """The source of a candidate in Python that calls the solution, or its own `ModelNew` if it has one.

    Args:
        path: The file that errors name.

    Raises:
        CandidateError: it is no solution, or one that needs other files, or that writes to outputs it is given.
    """
    try:
        solution = Solution.model_validate_json(text)
    except ValidationError as error:
        raise CandidateError(f"{path} is not a solution: {reason_of(error)}", hint=HINT) from error
    file, _, function = solution.spec.entry_point.partition("::")
    if len(solution.sources) != 1 or solution.sources[0].path != file or PurePosixPath(file).suffix != ".py":
        names = ", ".join(source.path for source in solution.sources)
        raise CandidateError(f"{path} is a solution of {names}", hint=HINT)
    if not function.isidentifier():
        raise CandidateError(f"{path} names no function: {solution.spec.entry_point!r}", hint=HINT)
    if solution.spec.destination_passing_style:
        raise CandidateError(f"the function of {path} writes to outputs that it is given", hint=HINT)
    source = solution.sources[0].content
    return source if "class ModelNew" in source else source.rstrip() + "\n" + _MODEL.format(function=function)

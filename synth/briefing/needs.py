"""What a task needs of the hardware: search phrasings for the operations in its source."""

import ast
import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from kb.types.kernels import Task


class _Need(NamedTuple):
    code: re.Pattern[str]
    search: tuple[str, ...]
    operation: str


def needs(task: Task) -> tuple[str, ...]:
    """Phrasings for what the operations of the task need, each once, in the order of synth/briefing/needs.toml."""
    return tuple(dict.fromkeys(phrase for need in _needs_of(task) for phrase in need.search))


def operation(task: Task) -> str:
    """The class of the task's operation, in the words of examples; empty if needs.toml names none."""
    return next((need.operation for need in _needs_of(task) if need.operation), "")


def _needs_of(task: Task) -> list[_Need]:
    model = ast.unparse(ast.parse(task.source.partition("def get_inputs")[0]))  # without comments
    return [need for need in _needs() if need.code.search(model)]


@cache
def _needs() -> tuple[_Need, ...]:
    table = tomllib.loads(files("synth.briefing").joinpath("needs.toml").read_text(encoding="utf-8"))
    return tuple(
        _Need(re.compile(entry["code"]), tuple(entry["search"]), entry.get("operation", "")) for entry in table["need"]
    )

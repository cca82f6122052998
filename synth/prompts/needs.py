"""What a task needs of the hardware: search phrasings for the operations in its source."""

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from kb.model.kernels import Task


class _Need(NamedTuple):
    code: re.Pattern[str]
    search: tuple[str, ...]


def needs(task: Task) -> tuple[str, ...]:
    """Phrasings for what the operations of the task need, each once, in the order of synth/prompts/needs.toml."""
    model = task.source.partition("def get_inputs")[0]
    found = (phrase for need in _needs() if need.code.search(model) for phrase in need.search)
    return tuple(dict.fromkeys(found))


@cache
def _needs() -> tuple[_Need, ...]:
    table = tomllib.loads(files("synth.prompts").joinpath("needs.toml").read_text(encoding="utf-8"))
    return tuple(_Need(re.compile(entry["code"]), tuple(entry["search"])) for entry in table["need"])

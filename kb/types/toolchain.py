"""A toolchain: the compiler, and the simulator if there is one, of chips that are not here."""

import re
import string
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from kb.types.base import Frozen
from kb.types.evidence import Grade, Outcome
from kb.types.kernels import Language

PLACES = ("python", "here", "contract", "folder", "candidate", "program", "call", "cache", "architecture", "header")
"""Names in braces that each command may use; see docs/toolchains.md."""


def _words(command: object) -> object:
    return tuple(command.split()) if isinstance(command, str) else command


Command = Annotated[tuple[str, ...], BeforeValidator(_words)]
"""A program and its arguments, in TOML as one text. Names in braces stand for places and for values of a variant."""


def _compiled(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"{pattern!r} is no regular expression: {error}") from error
    return pattern


class Need(Frozen):
    """A program or a Python package that a toolchain needs."""

    command: str = ""
    package: str = ""
    install: str
    """The command that installs it."""
    version: str = "--version"
    """The argument with which the program prints its version."""
    optional: bool = False
    """Whether the toolchain shows less without it, but works."""

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if bool(self.command) is bool(self.package):
            raise ValueError("name either a command or a package")
        return self

    @property
    def name(self) -> str:
        return self.command or self.package


class MessageRule(Frozen):
    """What a message of the tools means."""

    pattern: Annotated[str, AfterValidator(_compiled)]
    """Regular expression that is searched in what the tools print."""
    outcome: Outcome
    quantity: str = ""
    """The fact that states the limit, and phrases of its condition: `lds_size, per workgroup`."""


class ToolchainLimits(Frozen):
    seconds: float = Field(default=60, gt=0)
    """For one build or call."""
    memory_mb: int = Field(default=4096, gt=0)
    """Of a run of the candidate."""
    output_mb: int = Field(default=256, gt=0)
    """Of each file that a run writes, and of what it prints."""
    elements: int = Field(default=1 << 14, gt=0)
    """Maximum number of elements in all tensors of a case: simulators are slow."""


class Toolchain(Frozen):
    """One TOML file in kb/toolchains, or in the folder `toolchains` of the home."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")
    title: str
    targets: tuple[str, ...] = Field(min_length=1)
    """It serves these and their descendants."""
    grade: Grade
    """`simulated`: candidates run, and are compared with the reference; `compiled`: they are only built."""
    needs: tuple[Need, ...] = ()
    language: Language
    recognised: Annotated[str, AfterValidator(_compiled)] = ""
    """Regular expression that tells a file in this language from others with its suffix."""
    environment: dict[str, str] = Field(default_factory=dict)
    build: Command = ()
    run: Command = ()
    screen: bool = False
    """Whether `build` makes a GPU's assembly, whose kernels are compared with the target's limits."""
    variants: tuple[dict[str, str], ...] = ({},)
    """Values of names in `build` and `run`; a candidate must be correct with each."""
    cycles: Annotated[str, AfterValidator(_compiled)] = ""
    """Regular expression for what `run` prints: its group is the number of cycles that the simulator counted."""
    messages: tuple[MessageRule, ...] = ()
    limits: ToolchainLimits = ToolchainLimits()
    task: str = "scaled_add.py"
    """The task of the example, in the folder of the file or in kb/toolchains."""
    example: str
    """A correct candidate for that task, in the folder of the file."""
    folder: Path
    """Folder of the file: `{here}`."""

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.grade is Grade.MEASURED:
            raise ValueError("grade is `simulated` or `compiled`: only a real chip can be measured")
        if (self.grade is Grade.SIMULATED) is not bool(self.run):
            raise ValueError("`run` is the command that makes a candidate `simulated`; one that is `compiled` has none")
        if not (self.build or self.run):
            raise ValueError("it has neither `build` nor `run`")
        if self.screen and self.run:
            raise ValueError("`screen` is for what is only built: a toolchain with it has no `run`")
        if self.cycles and re.compile(self.cycles).groups != 1:
            raise ValueError(f"`cycles` must have one group, for the number: {self.cycles!r}")
        for command in (self.build, self.run):
            _check_names(command, self.variants)
        for value in self.environment.values():
            _check_names((value,), ({},))
        return self

    def longest(self, log: str) -> int | None:
        """The most cycles that the simulator counted for one call; None if `log` names none."""
        found = re.findall(self.cycles, log) if self.cycles else []
        counted = [int(number) for one in found if (number := one.replace(",", "")).isdecimal()]
        return max(counted, default=None)


def _check_names(command: Command, variants: Iterable[Mapping[str, str]]) -> None:
    """Raises ValueError if a name in braces stands neither for a place nor for a value of each variant."""
    used = {name for word in command for _, name, _, _ in string.Formatter().parse(word) if name is not None}
    for variant in variants:
        if unknown := sorted(used - {*PLACES, *variant}):
            known = ", ".join((*PLACES, *variant))
            raise ValueError(f"{{{unknown[0]}}} in `{' '.join(command)}` is unknown; known: {known}")


def filled(command: Command, names: Mapping[str, str]) -> tuple[str, ...]:
    """A command with the values of its names. Blanks in a value do not divide an argument."""
    return tuple(word.format(**names) for word in command)

"""A chip or a family of chips, and its name for compilers."""

from dataclasses import dataclass
from typing import Annotated, Self

from pydantic import BeforeValidator, Field, PlainSerializer

from kb.types.base import Frozen

CPU = "cpu"
"""Backend of the system's compiler. The other backends have Triton's names (`cuda`, `hip`)."""


@dataclass(frozen=True, slots=True)
class Isa:
    """A target as compilers name it. Written `hip gfx942 64`, `cuda 90 32` or `cpu x86_64`."""

    backend: str
    architecture: str
    lanes: int | None = None
    """Threads of a wavefront or warp; None on a CPU."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises ValueError if `text` is not a backend, an architecture and, except for a CPU, a number of lanes."""
        match text.split():
            case [backend, architecture] if backend in (CPU, ABSENT.backend):
                return cls(backend, architecture)
            case [backend, architecture, lanes] if backend != CPU and lanes.isdecimal():
                return cls(backend, architecture, int(lanes))
        raise ValueError(f"{text!r} is not a backend, an architecture and a number of lanes")

    def __str__(self) -> str:
        return " ".join(str(part) for part in (self.backend, self.architecture, self.lanes) if part is not None)

    @property
    def is_cpu(self) -> bool:
        return self.backend == CPU


ABSENT = Isa("none", "unnamed")
"""In place of a name where compilers have none."""

IsaText = Annotated[
    Isa, BeforeValidator(lambda isa: Isa.parse(isa) if isinstance(isa, str) else isa), PlainSerializer(str)
]
"""An `Isa` that is stored as text in files and JSON."""


class Target(Frozen):
    """A node in the lineage of chips and families, e.g. mi300x → gfx942 → cdna3 → amd → any."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")
    parent: str | None
    """None only for the root `any`."""
    title: str = ""
    aliases: tuple[str, ...] = ()
    isa: IsaText | None = None
    """Inherited by descendants. None: inherited from an ancestor, or kb knows no compiler for the target."""


class TargetDetails(Target):
    """A target with its relatives."""

    lineage: tuple[str, ...]
    """The target and its ancestors, nearest first."""
    descendants: tuple[str, ...]
    documents: dict[str, int]
    """Numbers of documents of the targets in its scope that have some."""


class Dependents(Frozen):
    """What depends on a target."""

    target: str
    children: tuple[str, ...]
    documents: int
    passages: int
    facts: int
    """Facts about the target, also those in documents of other targets."""
    verdicts: int
    """People's decisions about these facts."""
    skills: tuple[str, ...]
    """Names of the home's skills for the target."""
    runs: tuple[str, ...]
    """Ids of the runs for the target."""

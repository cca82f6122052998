"""A chip or a family of chips."""

from pydantic import Field

from kb.model.base import Frozen


class Target(Frozen):
    """A node in the lineage of chips and families, e.g. mi300x → gfx942 → cdna3 → amd → any."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")
    parent: str | None
    """None for the root `any` alone."""
    title: str = ""
    aliases: tuple[str, ...] = ()
    isa: str = ""
    """What a compiler calls it: `hip gfx942 64` and `cuda 90 32` for Triton (architecture, lanes of a wavefront),
    `cpu x86_64` for the system compiler. Descendants inherit it."""

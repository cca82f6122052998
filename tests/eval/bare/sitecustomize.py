"""Python runs this first in each process that has this folder on its path, and is then one of a bare machine.

Absent is every installed package but torch, triton, numpy, pydantic and what these need.
"""

import re
import sys
from contextlib import suppress
from importlib import metadata
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any


def closure(*names: str) -> set[str]:
    found: set[str] = set()
    left = list(names)
    while left:
        name = re.split(r"[^\w.-]", left.pop())[0].lower().replace("_", "-")
        if name not in found:
            found.add(name)
            with suppress(metadata.PackageNotFoundError):  # not for this system
                left += [need for need in metadata.requires(name) or [] if "extra ==" not in need]
    return found


PRESENT = closure("torch", "triton", "numpy", "pydantic") | {"kb-hardware"}
ABSENT = {
    module
    for module, names in metadata.packages_distributions().items()
    if not {name.lower().replace("_", "-") for name in names} & PRESENT
}


class OfBareMachine(PathFinder):
    """Finds modules on the path as ever, but none that is absent."""

    @classmethod
    def find_spec(cls, name: str, *rest: Any) -> ModuleSpec | None:
        return None if name.partition(".")[0] in ABSENT else super().find_spec(name, *rest)


sys.meta_path[:] = [OfBareMachine if finder is PathFinder else finder for finder in sys.meta_path]

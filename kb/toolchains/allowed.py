"""Loads a candidate in Python that may use its kernel language, and nothing else of Python.

The candidate gets copies of the modules that its language consists of, without the modules in them. So it can neither
reach another module nor change one that the simulator uses.
"""

import ast
import builtins
import re
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

BUILTINS = [
    "abs", "all", "any", "bool", "dict", "divmod", "enumerate", "filter", "float", "int", "isinstance", "len",
    "list", "map", "max", "min", "pow", "print", "range", "reversed", "round", "set", "slice", "sorted", "str",
    "sum", "tuple", "zip", "ArithmeticError", "AssertionError", "Exception", "IndexError", "KeyError",
    "NotImplementedError", "RuntimeError", "TypeError", "ValueError",
]  # fmt: skip
"""None of them looks up an attribute by its name, opens a file, or ends the process."""
HIDDEN = re.compile(r"_|(ag|co|cr|def|f|gi|tb)_|jaxpr$|primitive$")
"""Attributes that lead into the interpreter or a library: private ones, those of frames and code, JAX's programs."""
LEFT_OUT = (
    ast.ClassDef, ast.Match, ast.Await, ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith, ast.Import, ast.ImportFrom,
)  # fmt: skip
"""Parts of Python that no kernel needs."""


def load_candidate(
    path: Path, modules: Mapping[str, Mapping[str, Any]], *, attributes: Collection[str] = ()
) -> Callable[..., Any]:
    """Run the source of a candidate, and find its function `model_new`.

    Args:
        modules: The members of each module that it may import. Packages come before their modules.
        attributes: The only attributes that it may name; any that is not hidden if there are none.

    Raises:
        SystemExit: it uses something else, or defines no such function.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    tree.body = [node for node in tree.body if node not in imports]
    imported = _imported(imports, modules)
    for node in ast.walk(tree):
        if what := _forbidden(node, attributes):
            raise SystemExit(f"{what} (line {node.lineno})")
    names = {name: getattr(builtins, name) for name in (*BUILTINS, "__import__")}  # extensions import in its frames
    namespace: dict[str, Any] = {"__name__": "candidate", "__builtins__": names, **imported}
    exec(compile(tree, str(path), "exec"), namespace)  # noqa: S102 - it can name nothing but the above
    if "model_new" not in namespace:
        raise SystemExit("it defines no function model_new")
    return namespace["model_new"]


def _forbidden(node: ast.AST, attributes: Collection[str]) -> str:
    """What a part of the source uses that it may not; empty if it is allowed."""
    match node:
        case ast.Name(id=name) if name.startswith("__") and name.endswith("__"):
            return f"a kernel may not use the name {name}"
        case ast.Attribute(attr=name) if HIDDEN.match(name):
            return f"a kernel may not use the attribute {name}"
        case ast.Attribute(attr=name, ctx=ast.Store() | ast.Del()):
            return f"a kernel may not change the attribute {name}"
        case ast.Attribute(attr=name) if attributes and name not in attributes:
            return f"the language has no `{name}`"
        case _ if isinstance(node, LEFT_OUT):
            return f"a kernel may not contain {type(node).__name__}; imports stand at the top of the file"
    return ""


def _imported(
    imports: Iterable[ast.Import | ast.ImportFrom], modules: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """The names that import statements give, to copies of the modules."""
    copies: dict[str, ModuleType] = {}
    for name, members in modules.items():
        copies[name] = copy = ModuleType(name)
        vars(copy).update((k, v) for k, v in members.items() if not (HIDDEN.match(k) or isinstance(v, ModuleType)))
        package, _, last = name.rpartition(".")
        if package:
            setattr(copies[package], last, copy)
    found = {}
    for node in imports:
        package = node.module if isinstance(node, ast.ImportFrom) else ""
        for alias in node.names if package != "__future__" else ():
            members = vars(copies[package]) if package in copies else {} if package else copies
            if alias.name not in members or HIDDEN.match(alias.name):
                raise SystemExit(f"a kernel may not import {alias.name}, only {', '.join(copies)} (line {node.lineno})")
            first = alias.name.partition(".")[0]
            found[alias.asname or first] = members[alias.name if alias.asname else first]
    return found


@contextmanager
def brief_errors(candidate: Path) -> Iterator[None]:
    """End the program on an error with its message and its line in the candidate, without the frames of a simulator."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - of whatever kind the candidate's mistake is
        frames = traceback.extract_tb(error.__traceback__)
        lines = [f" (line {frame.lineno})" for frame in frames if frame.filename == str(candidate)]
        raise SystemExit(f"{type(error).__name__}: {error}{lines[-1] if lines else ''}") from None

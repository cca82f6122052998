"""Data types of kernel writing: a task, its interface, a candidate and its tunable parameters."""

import ast
import hashlib
import json
import re
import warnings
from enum import StrEnum
from functools import cached_property
from math import prod
from typing import Annotated

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from kb.types.base import Frozen


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class Precision(StrEnum):
    """How exactly products of float32 must be computed."""

    DEFAULT = "default"
    """As PyTorch does when the reference runs: a GPU may use TF32 in convolutions and recurrent layers of cuDNN."""
    IEEE = "ieee"
    """In float32: never in TF32."""


Workload = dict[str, bool | int | float]
"""Values of names that a task's file assigns at its top level: sizes, and numbers among the inputs."""


def workload_name(workload: Workload) -> str:
    return ", ".join(f"{name}={value}" for name, value in workload.items())


class Task(Frozen):
    """A reference implementation in KernelBench's form: `Model`, `get_inputs`, `get_init_inputs`."""

    name: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")
    source: str
    precision: Precision = Precision.DEFAULT
    workloads: tuple[Workload, ...] = ()
    """Those at which it is judged, if there are several; the first is that of the source."""

    @property
    def digest(self) -> str:
        """Of the source, and of what is not usual: so evidence says the same of a task before and after such a field
        was added."""
        more = self.model_dump(mode="json", exclude_defaults=True, include={"precision", "workloads"})
        return digest_of(f"{self.source}\n{json.dumps(more, sort_keys=True)}" if more else self.source)


class TensorSpec(Frozen):
    """The description of a tensor that a candidate gets."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    """Name as in torch, without the prefix: `float32`."""
    stride: tuple[int, ...] = ()
    """In elements; empty if the tensor is contiguous."""

    def __str__(self) -> str:
        strides = f" with strides {list(self.stride)}" if self.stride else ""
        return f"{self.name}: {self.dtype}[{', '.join(map(str, self.shape))}]{strides}"


class AllowedError(Frozen):
    """The error that the judge allows an output of a task, measured in one case."""

    output: str
    roundings: float
    """Roundings of the output's type that an element may be off, at its scale: its value and its sensitivity."""
    rounding: float
    """One rounding, relative to the scale."""
    slack: float
    """Added to it: so many times the largest error that the reference itself makes in its own precision."""
    median: float
    """The relative error allowed for the median element."""
    least: float
    """That for the strictest one."""
    biased: bool
    """Whether the errors of all elements together may not have one direction."""


class Interface(Frozen):
    """Inputs, state and outputs of a task's `Model`, at the sizes in the task's file."""

    inputs: tuple[TensorSpec, ...]
    """Arguments of `forward`, in order."""
    state: tuple[TensorSpec, ...]
    """Parameters and buffers, in the order of the reference's `state_dict`."""
    outputs: tuple[TensorSpec, ...]
    init: tuple[float, ...]
    """Numbers among the arguments of `Model(...)`, in order, whatever lists or dictionaries they are in."""
    matrix_operations: int = 0
    """Operations in the matrix products, convolutions and attention of one call; a multiply-add counts as two."""
    products: bool = True
    """Whether there may be matrix products among them, not only convolutions."""
    in_tf32: bool = False
    """Whether torch may do some of them in TF32 by itself on a GPU: the convolutions, where the precision allows it."""
    working_bytes: int = 0
    """Most memory that one call of `Model` has at once besides inputs and state; outputs are part of it."""
    allowed: SkipJsonSchema[tuple[AllowedError, ...]] = ()
    """The error allowed for each floating-point output at small sizes; empty where it was not measured. No agent states
    it."""

    @property
    def sizes(self) -> dict[str, int]:
        """Of the largest input: `cols` is its last size, `rows` the product of the others, `count` that of all."""
        shape = max((tensor.shape for tensor in self.inputs), key=prod, default=())
        return {"rows": prod(shape[:-1]), "cols": shape[-1] if shape else 1, "count": prod(shape)}


LanguageName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$")]
"""Name of a language in eval/languages/."""


class Language(Frozen):
    """A language of candidates, as their author sees it. The judge knows how to build them."""

    name: LanguageName
    suffix: str = Field(pattern=r"^\.[a-z0-9]+$")
    """Suffix of a candidate's file."""
    fences: tuple[str, ...] = Field(min_length=1)
    """Accepted tags of a fenced code block in an answer; prompts ask for the first."""
    rules: str
    """Rules for a candidate, in words for a model or a person."""
    tunable: str
    """Example of a line that declares a parameter; see `Parameter`. Empty: parameters are not searched."""
    searched: tuple[str, ...] = ()
    """Phrasings for what a chip's documents say of the language."""
    judged: bool = True
    """Whether kb can judge it; a language that is known from documents alone it cannot."""


class Parameter(Frozen):
    """A tunable constant of a kernel, declared on one line of its source.

    C++: `constexpr int UNROLL = 4;  // tune: 1, 2, 4, 8`. Python: `BLOCK = 1024  # tune: 256, 512, 1024`.
    """

    name: str
    value: int
    choices: tuple[int, ...]


_TUNABLE = re.compile(
    r"^(?P<head>(?:constexpr +int +)?(?P<name>[A-Za-z_]\w*) *= *)(?P<value>-?\d+)"
    r"(?P<tail> *;? *(?://|#) *tune: *(?P<choices>-?\d+(?: *, *-?\d+)*) *)$",
    re.M,
)


_C_LIKE = ("cpp", "cuda")
_PIECES = re.compile(
    r"(?P<comment>//(?:\\\r?\n|[^\n])*|/\*.*?(?:\*/|\Z))"
    r'|R"(?P<mark>[^()\s\\]{0,16})\(.*?(?:\)(?P=mark)"|\Z)|"(?:\\.|[^"\\\n])*"?'
    r"|(?<!\w)\d[\w']*|'(?:\\.|[^'\\\n])*'?|\\\r?\n|(?P<blanks>\s+)",
    re.DOTALL,
)
"""A comment of C, what may hold its marks or blanks (a string, a number with separators, a character), the mark that
joins two lines, or blanks. Each takes what it has begun, closed or not, so that no source takes long."""


def _program(candidate: "Candidate") -> str:
    """The program without what no compiler reads; the whole source if that is not known."""
    if candidate.language in _C_LIKE:
        bare = _PIECES.sub(lambda piece: " " if piece["comment"] else piece[0], candidate.source)
        return _PIECES.sub(lambda piece: "\n "["\n" not in piece[0]] if piece["blanks"] else piece[0], bare).strip()
    try:
        with warnings.catch_warnings(action="ignore"):  # of escapes in its strings
            tree = ast.parse(candidate.source)
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                node.body = node.body[ast.get_docstring(node, clean=False) is not None :]
        return ast.dump(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return candidate.source


class Candidate(Frozen):
    """A kernel that is meant to solve a task."""

    language: LanguageName
    source: str

    @cached_property
    def digest(self) -> str:
        return digest_of(f"{self.language}\n{self.source}")

    @cached_property
    def program_digest(self) -> str:
        """Digest that is the same for all candidates that differ only in comments, docstrings and blanks.

        Lines that declare parameters count. Of a language that is neither Python nor like C, every character counts.
        """
        return digest_of(f"{self.language}\n{_program(self)}\n{self.parameters}")

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters that the source declares, in order."""
        return tuple(
            Parameter(name=m["name"], value=int(m["value"]), choices=tuple(int(c) for c in m["choices"].split(",")))
            for m in _TUNABLE.finditer(self.source)
        )

    @property
    def values(self) -> dict[str, int]:
        """Those of its parameters, by name."""
        return {parameter.name: parameter.value for parameter in self.parameters}

    def with_parameters(self, values: dict[str, int]) -> "Candidate":
        """The same kernel with other parameter values; unknown names are ignored."""
        source = _TUNABLE.sub(lambda m: f"{m['head']}{values.get(m['name'], m['value'])}{m['tail']}", self.source)
        return Candidate(language=self.language, source=source)

    @cached_property
    def template_digest(self) -> str:
        """Digest that is the same for all candidates that differ only in parameter values."""
        return self.with_parameters({p.name: 0 for p in self.parameters}).digest

"""The nouns of kernel writing: a task, its interface, a candidate and the parameters that may be tuned."""

import hashlib
import re
from typing import Annotated

from pydantic import Field

from kb.model.base import Frozen


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class Task(Frozen):
    """A reference implementation in KernelBench's form: `Model`, `get_inputs`, `get_init_inputs`."""

    name: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")
    source: str

    @property
    def digest(self) -> str:
        return digest_of(self.source)


class TensorSpec(Frozen):
    """What a candidate may know of a tensor."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    """As torch prints it, without the prefix: `float32`."""

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype}[{', '.join(map(str, self.shape))}]"


class Interface(Frozen):
    """What goes into and comes out of a task's `Model` at the sizes its file gives."""

    inputs: tuple[TensorSpec, ...]
    """Arguments of `forward`, in order."""
    state: tuple[TensorSpec, ...]
    """Parameters and buffers, in the order of the reference's `state_dict`."""
    outputs: tuple[TensorSpec, ...]
    init: tuple[float, ...]
    """The numbers among the arguments of `Model(...)`, lists flattened, in order."""
    matrix_operations: int = 0
    """Of matrix products, convolutions and attention in one call: a multiplication and an addition are two."""


LanguageName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$")]
"""Of a language in eval/languages/."""


class Language(Frozen):
    """What candidates are written in, as their author must know it. How they are built is the judge's business."""

    name: LanguageName
    suffix: str = Field(pattern=r"^\.[a-z0-9]+$")
    """Of a candidate's file."""
    fences: tuple[str, ...] = Field(min_length=1)
    """What may follow the fence of a block of code in an answer; the first is what is asked for."""
    rules: str
    """What a candidate must be, in words that a model or a person can follow."""
    tunable: str
    """Example of a line that declares a parameter; see `Parameter`."""


class Parameter(Frozen):
    """A constant of a kernel that may be tuned, declared on one line of its source.

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


class Candidate(Frozen):
    """A kernel that may or may not do what a task asks."""

    language: LanguageName
    source: str

    @property
    def digest(self) -> str:
        return digest_of(f"{self.language}\n{self.source}")

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters that the source declares, in order."""
        return tuple(
            Parameter(name=m["name"], value=int(m["value"]), choices=tuple(int(c) for c in m["choices"].split(",")))
            for m in _TUNABLE.finditer(self.source)
        )

    def with_parameters(self, values: dict[str, int]) -> "Candidate":
        """The same kernel with other values for parameters; names it does not declare are left alone."""
        source = _TUNABLE.sub(lambda m: f"{m['head']}{values.get(m['name'], m['value'])}{m['tail']}", self.source)
        return Candidate(language=self.language, source=source)

    @property
    def template_digest(self) -> str:
        """The same for all candidates that differ in parameters alone."""
        return self.with_parameters({p.name: 0 for p in self.parameters}).digest

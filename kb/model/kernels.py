"""The nouns of kernel writing: a task, its interface, a candidate and the parameters that may be tuned."""

import hashlib
import re
from enum import StrEnum
from typing import Self

from pydantic import Field

from kb.errors import CandidateError
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


class Language(StrEnum):
    TRITON = "triton"
    """Python that defines `ModelNew` and launches Triton kernels."""
    CPP = "cpp"
    """C++ that defines the plain C function `model_new` of eval/languages/kb_tensor.h."""
    TORCH = "torch"
    """Python that defines `ModelNew` with torch alone; `load_inline` included."""

    @classmethod
    def of(cls, suffix: str, source: str) -> Self:
        """Told by the file name's ending and, for Python, by whether Triton is imported."""
        if suffix in (".cpp", ".cc"):
            return cls("cpp")
        return cls("triton" if re.search(r"^\s*(import|from)\b[^#\n]*\btriton\b", source, re.M) else "torch")

    @classmethod
    def named(cls, name: str) -> Self:
        """Raises CandidateError when there is no such language."""
        if name not in set(cls):
            raise CandidateError(f"unknown language {name!r}", hint=f"known: {', '.join(cls)}")
        return cls(name)

    @property
    def suffix(self) -> str:
        return ".cpp" if self is Language.CPP else ".py"


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

    language: Language
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

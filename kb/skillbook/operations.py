"""What a task computes, as far as its name and its source say, for comparison with the operations of a skill."""

import ast
import re
from collections.abc import Iterable
from enum import IntEnum

from kb.types.base import Frozen
from kb.types.kernels import Task

LONGEST = 4
"""Words of the longest operation that a task's name is searched for."""
SAME = dict.fromkeys(("addbmm", "addmm", "baddbmm", "bmm", "einsum", "gemm", "matrixmultiplication", "mm"), "matmul")
"""Names that an operation has beside the one that skills go by, in plain form."""
PRODUCTS = re.compile(r"conv(transpose)?[123]d|matmul|(rnn|lstm|gru)(cell)?|(multihead|scaleddotproduct)attention")
"""Operations that take most of the time of a task which has them, in plain form."""


class Closeness(IntEnum):
    """How close a skill's operations are to a task."""

    NONE = 0
    UNSTATED = 1
    """The skill is for any operation."""
    PART = 2
    """The task's source calls one of them."""
    NAMED = 3
    """The task is named after one of them, or spends most of its time in one."""


class Operations(Frozen):
    """The operations of a task, each in the form that `plain` gives it."""

    named: frozenset[str]
    """Those in its name: every run of up to LONGEST words, so that `row-softmax-wide` holds `softmax`."""
    called: frozenset[str]
    """The functions that its `Model` calls; `@` and `Linear` are `matmul`."""

    @property
    def main(self) -> str:
        """The one that most of its time goes to: its only product, else its only call; empty if there are more."""
        main = {*filter(PRODUCTS.fullmatch, self.called)} or self.called
        return "".join(main) if len(main) == 1 else ""

    def closeness(self, wanted: Iterable[str], *, proven: bool = True) -> Closeness:
        """How close a skill's operations are; none are UNSTATED. What never won is for `main` where that is alone."""
        names, alone = set(map(plain, wanted)), len(self.called) == 1
        if names & {*self.named, self.main if proven or alone else ""}:
            return Closeness.NAMED
        return Closeness.PART if names & self.called else Closeness.NONE if names else Closeness.UNSTATED


def operations_of(task: Task) -> Operations:
    """The operations of a task."""
    calls = ast.walk(ast.parse(task.source.partition("def get_inputs")[0]))
    return Operations(named=words_of(task.name), called=frozenset(map(plain, filter(None, map(_called, calls)))))


def stated_for(task: Task) -> tuple[str, ...]:
    """The operations that a skill learnt from a task states: its name, and the one that most of its time goes to.

    Single words of the name would be too general: a skill for `row-softmax` is not one for every task with rows.
    """
    name = "-".join(word for word in task.name.split("-") if not word.isdigit()) or task.name
    return tuple(dict.fromkeys(filter(None, (name, operations_of(task).main))))


def words_of(name: str) -> frozenset[str]:
    """A name and every run of up to LONGEST words of it, without words that are only numbers, in plain form."""
    words = [word for word in re.split(r"[^a-z0-9]+", name.lower()) if word and not word.isdigit()]
    runs = [words[start : start + count] for count in range(1, LONGEST + 1) for start in range(len(words))]
    return frozenset(plain("".join(run)) for run in (*runs, words) if run)


def plain(operation: str) -> str:
    """An operation without case, separators and other names: `layer_norm` is `LayerNorm`, and `gemm` is `matmul`."""
    return SAME.get(joined := re.sub(r"[^a-z0-9]", "", operation.lower()), joined)


def _called(node: ast.AST) -> str:
    """Name of the function that a node calls; empty if it calls none, or a part of the model."""
    if isinstance(getattr(node, "op", None), ast.MatMult):
        return "matmul"
    called = getattr(node, "func", None)
    name = getattr(called, "attr", "") or getattr(called, "id", "")
    is_own = getattr(getattr(called, "value", None), "id", "") == "self" or name in ("super", "__init__")
    return "" if is_own else "matmul" if name.lower() == "linear" else name

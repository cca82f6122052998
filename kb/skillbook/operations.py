"""What a task computes, as far as its name and its source say, for comparison with the operations of a skill."""

import ast
import re
from collections.abc import Iterable
from enum import IntEnum

from kb.types.base import Frozen
from kb.types.kernels import Task

LONGEST = 4
"""Words of the longest operation that a task's name is searched for."""
SAME = dict.fromkeys(("addmm", "bmm", "gemm", "linear", "matrixmultiplication", "mm"), "matmul")
"""Names that an operation has beside the one that skills go by, in plain form."""
PRODUCTS = re.compile(r"conv(transpose)?[123]d|matmul|einsum|rnn|lstm|gru|(multihead|scaleddotproduct)attention")
"""Operations that take most of the time of a task which has them, in plain form."""


class Closeness(IntEnum):
    """How close a skill's operations are to a task."""

    NONE = 0
    UNSTATED = 1
    """The skill is for any operation."""
    PART = 2
    """The task's source calls one of them."""
    NAMED = 3
    """The task is named after one of them."""


class Operations(Frozen):
    """The operations of a task, each in the form that `plain` gives it."""

    named: frozenset[str]
    """Those in its name: every run of up to LONGEST words, so that `row-softmax-wide` holds `softmax`."""
    called: frozenset[str]
    """The functions that its `Model` calls; `@` is `matmul`."""

    def closeness(self, wanted: Iterable[str]) -> Closeness:
        """How close `wanted`, the operations of a skill, are; none are UNSTATED."""
        names = set(map(plain, wanted))
        if not names:
            return Closeness.UNSTATED
        if names & self.named:
            return Closeness.NAMED
        return Closeness.PART if names & self.called else Closeness.NONE


def operations_of(task: Task) -> Operations:
    """The operations of a task."""
    calls = ast.walk(ast.parse(task.source.partition("def get_inputs")[0]))
    return Operations(named=words_of(task.name), called=frozenset(map(plain, filter(None, map(_called, calls)))))


def stated_for(task: Task) -> tuple[str, ...]:
    """The operations that a skill learnt from a task states: its name, and the products that it calls or the one call.

    Single words of the name would be too general: a skill for `row-softmax` is not one for every task with rows.
    """
    name = "-".join(word for word in task.name.split("-") if not word.isdigit()) or task.name
    called = operations_of(task).called
    products = sorted(filter(PRODUCTS.fullmatch, called))
    return tuple(dict.fromkeys((name, *(products or (called if len(called) == 1 else ())))))


def words_of(name: str) -> frozenset[str]:
    """Every run of up to LONGEST words of a name, without words that are only numbers, in plain form."""
    words = [word for word in re.split(r"[^a-z0-9]+", name.lower()) if word and not word.isdigit()]
    ends = range(1, len(words) + 1)
    return frozenset(plain("".join(words[start:end])) for end in ends for start in range(max(0, end - LONGEST), end))


def plain(operation: str) -> str:
    """An operation without case, separators and other names: `layer_norm` is `LayerNorm`, and `Linear` is `matmul`."""
    return SAME.get(joined := re.sub(r"[^a-z0-9]", "", operation.lower()), joined)


def _called(node: ast.AST) -> str:
    """Name of the function that a node calls; empty if it calls none."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return "matmul"
    called = getattr(node, "func", None)
    return getattr(called, "attr", "") or getattr(called, "id", "")

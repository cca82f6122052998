"""A library of near-twins: skills that differ in one thing only, and for each the task that it is the right one for."""

from itertools import product
from typing import NamedTuple

from kb.skillbook.operations import operations_of
from kb.skillbook.select import Need, Selection, select
from kb.types.kernels import Candidate, Interface, Task, TensorSpec
from kb.types.skill import Preconditions, Skill, SkillStanding

OPERATIONS = ("softmax", "layernorm", "rmsnorm", "norm", "cross-entropy", "row-sum", "row-max")
DTYPES = ("float32", "bfloat16", "float16")
TARGETS = {"mi300x": "mi300x", "cdna3": "mi308x"}
"""Targets of skills, each with the target of a task for which the skill is the nearest."""
SCOPES = {"mi300x": frozenset({"mi300x", "cdna3", "any"}), "mi308x": frozenset({"mi308x", "cdna3", "any"})}
WORDINGS = {
    "Splits a row among several programs and combines their parts in a second kernel, for a handful of very long rows.":
    "{} of a few very long rows.",
    "Takes many short rows for each program and keeps them in registers.": "{} of very many short rows.",
    "Leaves out the masked half of each row, as causal attention has it.": "{} of attention scores below the diagonal.",
    "Adds a residual to a row before it is reduced, so that both are read once.": "{} of the sum of rows and residual.",
    "Reads rows through a table of indices, for scattered rows.": "{} of scattered rows, which an index selects.",
}  # fmt: skip
"""What a skill says of itself, and how a task says the same with some of its words."""
BODY = """\
# {operation}

{wording}

## When to use

For {operation} in {dtype} on {target}. Every program reads its data once, with wide loads, and keeps
what it needs in registers.

## When not to use

For backward passes, or where the input does not fit into memory. Masked lanes must not take part in a reduction.

## Why it should be fast

Memory is the limit. Loads of the next block are in flight while the present one is reduced; the number of warps
depends on the length of a row, and sums are kept in float32.
"""
KERNEL = """\
import triton
import triton.language as tl

BLOCK = 1024  # tune: 256, 512, 1024, 2048
NUM_WARPS = 4  # tune: 1, 2, 4, 8


@triton.jit
def {name}_kernel(x_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * cols + offsets, mask=offsets < cols, other=0.0).to(tl.float32)
    tl.store(y_ptr + row * cols + offsets, x, mask=offsets < cols)
"""


class Neighbour(NamedTuple):
    """A skill, and a need that it fulfils better than all others."""

    skill: Skill
    need: Need


def neighbourhood(count: int) -> list[Neighbour]:
    """The first `count` of all combinations, one operation after the other."""
    places = product(OPERATIONS, DTYPES, TARGETS, WORDINGS)
    return [_neighbour(number, *place) for number, place in zip(range(count), places, strict=False)]


def selected(neighbours: list[Neighbour], need: Need) -> Selection:
    """The selection among all of them, of which none has evidence."""
    return select(
        need,
        [neighbour.skill for neighbour in neighbours],
        standings=dict.fromkeys((neighbour.skill.name for neighbour in neighbours), SkillStanding.HYPOTHESIS),
        ships=lambda name: True,
    )


def _neighbour(number: int, operation: str, dtype: str, target: str, wording: str) -> Neighbour:
    told = {"operation": operation, "dtype": dtype, "target": target, "wording": wording}
    skill = Skill(
        name=f"{operation}-{number}",
        description=f"{operation} in {dtype}. {wording}",
        body=BODY.format(**told),
        target=target,
        language="triton",
        preconditions=Preconditions(ops=(operation,), dtypes=(dtype,)),
        candidate=Candidate(language="triton", source=KERNEL.format(name=operation.replace("-", "_"))),
        suffix=".py",
    )
    docstring, wanted = WORDINGS[wording].format(operation.capitalize()), TARGETS[target]
    tensor = TensorSpec(name="x", shape=(8192, 1024), dtype=dtype)
    need = Need(
        words=f"{operation} {docstring}",
        operations=operations_of(Task(name=operation, source=f'"""{docstring}"""\nclass Model: ...\n')),
        target=wanted,
        scope=SCOPES[wanted],
        siblings=frozenset({"mi300x", "mi308x"}) - {wanted},
        language="triton",
        interface=Interface(inputs=(tensor,), state=(), outputs=(tensor,), init=()),
    )
    return Neighbour(skill, need)

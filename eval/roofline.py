"""The shortest time that a task can take on a chip, by what its documents, or kb's own probe, say the chip does.

The model is that of Williams, Waterman and Patterson: Roofline (2009). A kernel is bound by the bytes it must move or
by the operations it must do, whichever takes longer. Bytes are those of inputs, state and outputs, each moved once;
operations those of matrix products and convolutions, which torch counts: other arithmetic rarely binds.
"""

import math
from collections import Counter
from collections.abc import Sequence

from kb.errors import FactError
from kb.facts.select import best, matching
from kb.model.base import Frozen
from kb.model.fact import Fact
from kb.model.kernels import Interface, TensorSpec

ELEMENT_BYTES = {"float64": 8, "int64": 8, "complex64": 8, "float32": 4, "int32": 4, "float16": 2, "bfloat16": 2,
                 "int16": 2, "int8": 1, "uint8": 1, "bool": 1}  # fmt: skip
"""Others are of one byte: the float8 types."""

IMPLAUSIBLE = 1.5
"""How often faster than memory a candidate must be to be refused: a measured rate varies with the machine's load."""


class Ceiling(Frozen):
    """One bound of a task's time."""

    what: str
    """`memory` or `arithmetic`."""
    amount: float
    """Bytes to move, or operations to do."""
    fact: Fact
    """The rate that it is done at; its `amount` is per second."""

    @property
    def seconds(self) -> float:
        return self.amount / (self.fact.amount or float("inf"))

    def __str__(self) -> str:
        unit = "B" if self.what == "memory" else "FLOP"
        rate = " ".join(filter(None, (self.fact.value, self.fact.unit, self.fact.condition)))
        return f"{self.seconds * 1e6:,.1f} us: {self.amount:,.0f} {unit} at {rate}, {self.fact.trust}"


class Roofline(Frozen):
    """What bounds a task on a target, the longest first."""

    ceilings: tuple[Ceiling, ...]

    @property
    def seconds(self) -> float:
        """No kernel that moves its data from and to memory is faster."""
        return self.ceilings[0].seconds


def roofline(
    *, size_bytes: float, operations: float, dtype: str, facts: Sequence[Fact], highest: bool = False
) -> Roofline:
    """The bounds of a task on the target of `facts`.

    Args:
        size_bytes: Least that it must move from and to memory.
        operations: Of matrix units; 0 for none.
        dtype: Of the operands.
        facts: That hold of the target.
        highest: Take the highest rate that is stated or measured; otherwise what was measured goes before, and a fact
            table before what kb read off other texts.

    Raises:
        FactError: no rate of memory is known; or operations are to be done and no dense rate for `dtype` is.
    """
    ceilings = [Ceiling(what="memory", amount=size_bytes, fact=_rate(facts, "hbm_bandwidth", highest=highest))]
    if operations:
        peak = _rate(facts, "peak_flops", dtype, "dense", highest=highest)
        ceilings.append(Ceiling(what="arithmetic", amount=operations, fact=peak))
    return Roofline(ceilings=tuple(sorted(ceilings, key=lambda ceiling: -ceiling.seconds)))


def task_roofline(interface: Interface, facts: Sequence[Fact]) -> Roofline:
    """The bounds of a task at its own sizes. Raises FactError as `roofline`."""
    tensors = (*interface.inputs, *interface.state, *interface.outputs)
    return roofline(
        size_bytes=sum(map(_bytes, tensors)),
        operations=interface.matrix_operations,
        dtype=_operands(interface),
        facts=facts,
    )


def _rate(facts: Sequence[Fact], quantity: str, *wanted: str, highest: bool) -> Fact:
    """The rate of the whole device under these conditions; the highest of several."""
    fitting = [fact for fact in matching(facts, quantity, "per device", *wanted) if fact.amount]
    chosen = fitting if highest else best(fitting)
    if not chosen:
        named = ", ".join(sorted(wanted))
        raise FactError(
            f"no document states {quantity}{f' for {named}' if named else ''}",
            hint="ingest a document that does, or run `kb probe` on such a machine",
        )
    return max(chosen, key=lambda fact: fact.amount or 0.0)


def _bytes(tensor: TensorSpec) -> int:
    return math.prod(tensor.shape) * ELEMENT_BYTES.get(tensor.dtype, 1)


def _operands(interface: Interface) -> str:
    """The type that most bytes of the inputs and the state have."""
    sizes = Counter[str]()
    for tensor in (*interface.inputs, *interface.state):
        sizes[tensor.dtype] += _bytes(tensor)
    return max(sizes, key=lambda dtype: sizes[dtype], default="float32")


def implausible(candidate_s: float, interface: Interface, facts: Sequence[Fact]) -> str:
    """Why no kernel can be so fast, in words; empty where one can, or where nothing is known to tell.

    The highest rate that is stated or measured counts, and what fits into the largest cache may never touch memory.
    """
    caches = [f.amount for f in facts if f.quantity in ("l2_size", "l3_size") and f.amount]
    tensors = (*interface.inputs, *interface.state, *interface.outputs)
    moved = sum(map(_bytes, tensors)) - max(caches, default=float("inf"))
    if moved <= 0:
        return ""
    try:
        bound = roofline(size_bytes=moved, operations=0, dtype="", facts=facts, highest=True).ceilings[0]
    except FactError:
        return ""
    if candidate_s * IMPLAUSIBLE >= bound.seconds:
        return ""
    return f"{candidate_s * 1e6:,.1f} us, and memory alone takes {bound} [kb cite {bound.fact.citation.id}]"

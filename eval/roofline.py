"""The shortest time of a task on a chip, by the chip's stated and measured rates.

This is the roofline model of Williams, Waterman and Patterson (2009). The bound is the time for the bytes that a kernel
must move or for the operations that it must do, whichever is longer. Bytes are those of inputs, state and outputs, each
moved once. Operations are those of matrix products and convolutions, counted by torch; other arithmetic rarely matters.
"""

import math
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Literal

from eval.worker.dtypes import ITEM_BYTES
from kb.errors import FactError
from kb.facts.quantities import quantities
from kb.facts.select import best, matching
from kb.types.base import Frozen
from kb.types.evidence import Bottleneck
from kb.types.fact import Fact
from kb.types.kernels import Interface, TensorSpec

IMPLAUSIBLE = 1.5
"""Ratio of memory time to candidate time above which a candidate is refused; measured rates vary with load."""
REUSED = 16
"""Operations per byte from which on matrix products count as limited by arithmetic where no rate is known."""
SMALL_BYTES = 1 << 20
"""A task that moves less fits into the caches nearest to the cores; starting it, or waiting for one result after the
other, takes longer than moving its data."""
SPLIT, SPLIT_INTO = 3, ("tf32", "float16", "bfloat16")
"""Products of parts in a narrower type that make up one in float32, and the types of parts (Ootomo and Yokota, 2022,
doi:10.1177/10943420221090256)."""
MEMORY = "hbm_bandwidth"
MEMORY_PARTS = ("dram_channels", "dram_channel_width", "dram_rate")
NAMED = {MEMORY: f"{MEMORY}, the bandwidth of main memory of any kind"}
UNKNOWN_RATE = "ingest a document that states it, or let the user run `kb probe --target TARGET` on such a machine"
RATES = (MEMORY, *MEMORY_PARTS, "peak_flops")
"""Quantities from which a bound follows."""


class Ceiling(Frozen):
    """One bound on a task's time."""

    what: str
    """`memory` or `arithmetic`."""
    amount: float
    """Bytes to move, or operations to do."""
    fact: Fact
    """The rate; its `amount` is per second."""
    is_split: bool = False
    """Whether SPLIT operations in a narrower type stand for each."""

    @property
    def seconds(self) -> float:
        return self.amount / (self.fact.amount or float("inf"))

    def __str__(self) -> str:
        unit = "B" if self.what == "memory" else "FLOP"
        rate = " ".join(filter(None, (self.fact.value, self.fact.unit, self.fact.condition)))
        split = f", {SPLIT} products of parts for each in float32" if self.is_split else ""
        return f"{self.seconds * 1e6:,.1f} us: {self.amount:,.0f} {unit} at {rate}, {self.fact.trust}{split}"


class Roofline(Frozen):
    """The bounds on a task's time on a target, longest first; none if no rate is known."""

    ceilings: tuple[Ceiling, ...]
    unknown: tuple[str, ...] = ()
    """Why there is no other bound, in words."""

    @property
    def seconds(self) -> float:
        """The shortest time of a kernel that moves its data from and to memory."""
        return self.ceilings[0].seconds


def task_roofline(interface: Interface, facts: Sequence[Fact]) -> Roofline:
    """The bounds on a task's time at its own sizes.

    Operations in float32 may be split into SPLIT times as many in a narrower type, where that is faster.

    There is none if neither the memory rate is known nor, if there are operations, the dense rate for their type.

    Args:
        facts: Facts that hold for the target. A measured rate takes precedence, then that of a fact table, then those
            that kb read from other text.
    """
    ceilings: list[Ceiling] = []
    unknown: list[str] = []
    for bound in (_moving, _arithmetic) if interface.matrix_operations else (_moving,):
        try:
            ceilings.append(bound(interface, facts))
        except FactError as error:
            unknown.append(error.message)
    return Roofline(ceilings=tuple(sorted(ceilings, key=lambda c: -c.seconds)), unknown=tuple(unknown))


def _moving(interface: Interface, facts: Sequence[Fact]) -> Ceiling:
    return Ceiling(what="memory", amount=_task_bytes(interface), fact=_memory_rate(facts))


def _arithmetic(interface: Interface, facts: Sequence[Fact]) -> Ceiling:
    operations, dtype = interface.matrix_operations, operand_type(interface)
    peak = _rate(facts, "peak_flops", dtype, "dense")
    ways = [Ceiling(what="arithmetic", amount=operations, fact=peak)]
    for narrow in SPLIT_INTO if dtype == "float32" else ():
        with suppress(FactError):
            peak = _rate(facts, "peak_flops", narrow, "dense")
            is_split = not (interface.in_tf32 and narrow == "tf32")
            amount = SPLIT * operations if is_split else operations
            ways.append(Ceiling(what="arithmetic", amount=amount, fact=peak, is_split=is_split))
    return min(ways, key=lambda way: way.seconds)


def bottleneck(
    seconds: float, interface: Interface, facts: Sequence[Fact], *, reachable_s: float = 0.0
) -> Bottleneck | None:
    """What limits a candidate that takes this long; None if the target's rates are unknown.

    Args:
        reachable_s: Time that was measured for as many bytes and operations; 0 if none was.
    """
    found = task_roofline(interface, facts)
    if found.unknown:
        return None
    ceilings = {ceiling.what: ceiling for ceiling in found.ceilings}
    memory, compute = (ceilings[w].seconds / seconds if w in ceilings else 0.0 for w in ("memory", "arithmetic"))
    return Bottleneck(
        memory=memory,
        compute=compute,
        reachable=reachable_s / seconds,
        citations=tuple(c.fact.citation.id for c in ceilings.values()),
    )


def limit_of(
    interface: Interface, facts: Sequence[Fact], *, launched: bool
) -> Literal["memory", "compute", "latency", "launch"]:
    """What limits the fastest kernel for a task.

    Args:
        facts: Facts that hold for the target; without its rates, matrix products with much reuse count as `compute`.
        launched: Whether each kernel is launched by a host, which takes longer than a small task.
    """
    moved = _task_bytes(interface)
    found = task_roofline(interface, facts)
    if interface.matrix_operations > REUSED * moved if found.unknown else found.ceilings[0].what == "arithmetic":
        return "compute"
    if moved > SMALL_BYTES:
        return "memory"
    return "launch" if launched else "latency"


def _memory_rate(facts: Sequence[Fact], *, highest: bool = False) -> Fact:
    """The bandwidth of main memory of any kind, or what follows from its channels, their width and their data rate."""
    named = [f for f in facts if [q.name for q in quantities().find(f.quantity)] == [MEMORY]]
    parts = [max(matching(facts, name), key=lambda f: f.amount or 0.0, default=None) for name in MEMORY_PARTS]
    channels, width, rate = parts
    if named or not (channels and width and rate):
        return _rate([f.model_copy(update={"quantity": MEMORY}) for f in named], MEMORY, highest=highest)
    # The rate is that of one data line, and amounts are in bytes.
    value = 8 * math.prod(part.amount or 0.0 for part in (channels, width, rate)) / 1e9
    said = f"{channels.value} channels x {width.value} {width.unit} x {rate.value} {rate.unit}"
    condition = f"{said} [kb cite {channels.citation.id}, {width.citation.id}]"
    update = {"quantity": MEMORY, "value": f"{value:g}", "number": value, "unit": "GB/s", "condition": condition}
    return rate.model_copy(update=update)


def _rate(facts: Sequence[Fact], quantity: str, *wanted: str, highest: bool = False) -> Fact:
    """The rate of the whole device under these conditions; of several, the highest."""
    fitting = [fact for fact in matching(facts, quantity, "per device", *wanted) if fact.amount]
    chosen = fitting if highest else best(fitting)
    if not chosen:
        named = ", ".join(sorted(wanted))
        what = f"{NAMED.get(quantity, quantity)}{f' for {named}' if named else ''}"
        raise FactError(f"no fact that holds states {what}", hint=UNKNOWN_RATE)
    return max(chosen, key=lambda fact: fact.amount or 0.0)


def _task_bytes(interface: Interface) -> int:
    """Bytes that a task moves at its own sizes: all inputs, parameters and outputs once."""
    return least_bytes(interface) + sum(map(tensor_bytes, interface.state))


def least_bytes(interface: Interface) -> int:
    """Bytes that each kernel must move. Parameters are not among them: it may fold them when it is built."""
    return sum(map(tensor_bytes, (*interface.inputs, *interface.outputs)))


def tensor_bytes(tensor: TensorSpec) -> int:
    return math.prod(tensor.shape) * ITEM_BYTES[tensor.dtype]


def operand_type(interface: Interface) -> str:
    """The dtype of most bytes of the inputs and the state."""
    sizes = Counter[str]()
    for tensor in (*interface.inputs, *interface.state):
        sizes[tensor.dtype] += tensor_bytes(tensor)
    return max(sizes, key=lambda dtype: sizes[dtype], default="float32")


def implausible(candidate_s: float, interface: Interface, facts: Sequence[Fact]) -> str:
    """Why no kernel can be this fast, in words; empty if one can, or if the rates are unknown.

    Uses the highest rate, stated or measured, and ignores as many bytes as the largest cache can hold.
    """
    caches = [f.amount for f in facts if f.quantity in ("l2_size", "l3_size") and f.amount]
    moved = max(0.0, least_bytes(interface) - max(caches, default=float("inf")))
    with suppress(FactError):
        bound = Ceiling(what="memory", amount=moved, fact=_memory_rate(facts, highest=True))
        if candidate_s * IMPLAUSIBLE < bound.seconds:
            return f"{candidate_s * 1e6:,.1f} us, but memory alone takes {bound} [kb cite {bound.fact.citation.id}]"
    return ""

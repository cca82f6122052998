"""The specification of a chip that nobody has seen: drawn from a seed, and frozen.

Each number says in its field's metadata what it means, its unit, and the values that it may have. `chip(seed)` is the
chip that the machine simulates, with its errata applied; `as_printed` is what the text before the errata says of it;
`sibling` and `former` are other chips of its family, whose documents lie beside its own.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from itertools import islice
from typing import Any

from benchmarks.unseen.instructions import FORMS, Op, Operand, Unit
from benchmarks.unseen.words import words


def drawn(unit: str, meaning: str, *choices: Any) -> Any:
    """A field with one of the choices."""
    return field(metadata={"unit": unit, "meaning": meaning, "choices": choices})


@dataclass(frozen=True)
class Registers:
    scalar: int = drawn("registers", "Number of scalar registers, each of 32 bits.", 40, 44, 48, 52, 56)
    vector: int = drawn("registers", "Number of vector registers.", 12, 14, 16, 18, 20, 24)
    accumulators: int = drawn("accumulators", "Number of accumulators of the matrix unit.", 2, 3, 4, 6)


@dataclass(frozen=True)
class Vectors:
    lanes: int = drawn(
        "lanes", "Lanes of a vector register, each of one float32.", 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56
    )
    groups: int = drawn("groups", "Equal groups of neighbouring lanes that a sum or greatest value covers.", 2, 4)
    result_last: bool = drawn(
        "", "Whether the last lane of a group receives its sum or greatest value; otherwise the first does. The other "
        "lanes of the destination keep their values.", False, True)  # fmt: skip
    inactive_count: bool = drawn(
        "", "Whether sums and greatest values include inactive lanes, and are written even to these.", False, True
    )
    load_clears: bool = drawn(
        "", "Whether a load (also an indexed one) sets the inactive lanes of its destination to 0; otherwise they keep "
        "their values, as they do in all other instructions.", False, True)  # fmt: skip
    rotate_most: int = drawn("lanes", "Largest number of lanes in a rotation; the smallest is 1.", 6, 9, 11, 14, 18)
    exponent_base: str = drawn("", "Base of the exponential: 2, or e.", "2", "e")

    @property
    def group_lanes(self) -> int:
        """Lanes of one group."""
        return self.lanes // self.groups

    @property
    def result_lane(self) -> int:
        """The lane of a group that receives its result, counted from the group's first."""
        return self.group_lanes - 1 if self.result_last else 0


@dataclass(frozen=True)
class Scratchpad:
    """Memory on the chip, addressed in words of 4 bytes from 0. Before it is written it holds NaN.

    A line is `line_words` consecutive words whose first address is a multiple of that. Line n lies in bank n mod
    `banks`. A load or store keeps the port busy for as many cycles as there are different lines in the bank that has
    the most of those that it touches.
    """

    words: int = drawn(
        "words", "Capacity of the scratchpad.", 9216, 10080, 11520, 12096, 13824, 15120, 16128
    )  # multiples of each of the lines' sizes
    line_words: int = drawn(
        "words", "Size of a line. Scratchpad addresses and pitches of transfers are multiples of it.", 2, 4, 6, 8
    )
    banks: int = drawn("banks", "Number of banks.", 6, 7, 9, 10, 11, 12, 14, 16, 18, 20)


@dataclass(frozen=True)
class Transfers:
    """DMA. A transfer moves `rows` rows of `count` elements. It keeps its engine busy for `startup_cycles`, and then
    for `burst_cycles` for each burst: a burst is `burst_bytes` of outer memory whose first address is a multiple of
    that, and each row needs all bursts that it touches. An engine makes one transfer after the other.

    A transfer owns the scratchpad from the first word of its first row to the last word of its last row until it is
    done. Any access to words owned by a get, and any write to words owned by a put, is a race, which is a fault. So is
    a get whose outer memory a put that is not done still writes.
    """

    engines: int = drawn("engines", "Number of engines. A transfer with token t is made by engine t mod this.", 2, 3, 4)
    tokens: int = drawn("tokens", "Number of tokens, which are numbered from 0.", 6, 7, 8, 10, 12)
    queue: int = drawn(
        "transfers", "Transfers that one engine holds, under way or waiting; the issue of another waits.", 2, 3, 4
    )
    startup_cycles: int = drawn("cycles", "Before the first burst of each transfer.", 70, 90, 110, 140, 170, 210, 260)
    burst_bytes: int = drawn("bytes", "Size of a burst.", 32, 48, 64, 80, 96, 128)
    burst_cycles: int = drawn("cycles", "For each burst.", 2, 3, 4, 5)
    rows_most: int = drawn("rows", "Most rows of one transfer.", 16, 20, 24, 28, 32, 36, 40)
    order: tuple[str, ...] = drawn(
        "", "What the consecutive registers of a transfer hold: the first address in the scratchpad (`near`, in words) "
        "and in the outer memory (`far`, in bytes, a multiple of the element's size), the elements of a row (`count`), "
        "the rows (`rows`), and from each row to the next the pitch in the scratchpad (`near_pitch`, in words) and in "
        "the outer memory (`far_pitch`, in bytes).",
        ("near", "far", "count", "rows", "near_pitch", "far_pitch"),
        ("far", "near", "count", "rows", "far_pitch", "near_pitch"),
        ("count", "rows", "near", "near_pitch", "far", "far_pitch"),
        ("rows", "count", "far", "far_pitch", "near", "near_pitch"),
        ("near", "near_pitch", "far", "far_pitch", "rows", "count"),
        ("far", "far_pitch", "near", "near_pitch", "count", "rows"),
    )  # fmt: skip


@dataclass(frozen=True)
class Matrix:
    """The matrix unit adds a product of `rows` x depth and depth x `columns` elements to an accumulator.

    It is busy for the instruction's busy cycles, times the depth divided by `step`, rounded up.
    """

    rows: int = drawn("rows", "Rows of an accumulator.", 4, 5, 6, 8, 10, 12)
    columns: int = drawn("columns", "Columns of an accumulator.", 6, 8, 10, 12, 14, 18, 20)
    depth_most: int = drawn(
        "elements", "Largest depth of one product instruction; the smallest is 1.", 8, 12, 18, 24, 30
    )
    step: int = drawn("elements", "Depth that the unit takes at a time.", 2, 3, 4)
    narrow_bits: int = drawn("bits", "Bits of the fraction that a narrow product keeps of each element.", 10, 11, 12)
    drain_clears: bool = drawn(
        "", "Whether a drain sets the accumulator to 0; otherwise it keeps its sums. At the start of a program "
        "accumulators hold NaN.", False, True)  # fmt: skip
    order: tuple[str, ...] = drawn(
        "", "What the consecutive registers of a product hold: the scratchpad address of the left matrix (`left`) and "
        "of the right one (`right`), in words, from each of their rows to the next the pitch (`left_pitch`, "
        "`right_pitch`), and the depth (`depth`). Elements of a row are neighbours.",
        ("left", "left_pitch", "right", "right_pitch", "depth"),
        ("left", "right", "left_pitch", "right_pitch", "depth"),
        ("depth", "left", "right", "left_pitch", "right_pitch"),
        ("right", "right_pitch", "left", "left_pitch", "depth"),
        ("depth", "right", "left", "right_pitch", "left_pitch"),
    )  # fmt: skip


@dataclass(frozen=True)
class Host:
    """The argument table: for each tensor its address in bytes and its sizes in order, then the numbers given to the
    model, as float32. Tensors are inputs, parameters and outputs, in this order unless the outputs come first. They
    are row-major without gaps: float32, int32 or float16.
    """

    outputs_first: bool = drawn("", "Whether outputs come before inputs and parameters in the table.", False, True)
    address_last: bool = drawn(
        "", "Whether a tensor's address follows its sizes; otherwise it precedes them.", False, True
    )
    tensor_bytes: int = drawn("bytes", "Addresses of tensors are multiples of this.", 128, 192, 256, 384)


class HazardKind(StrEnum):
    """What gives wrong results if a program ignores it. A fence ends all but the slots."""

    BRANCH_SLOT = (
        "The instruction after a branch is always executed, whether it is taken or not, and is no branch itself."
    )
    LENGTH_SLOT = "The instruction after one that sets the number of active lanes still works with the old number."
    LOAD_SHADOW = (
        "A register that a load (also an indexed one) writes holds its old value until the latency has passed."
    )
    CROSS_SHADOW = "A register that the cross-lane unit writes holds its old value until the latency has passed."
    SPECIAL_SHADOW = "A register that the special unit writes holds its old value until the latency has passed."
    LATE_PRODUCT = (
        "A drain leaves out products into its accumulator that issued less than this number of cycles before."
    )
    STALE_LOAD = "A load that issues less than this number of cycles after a store or drain finds the old words."
    STALE_PUT = "A put that issues less than this number of cycles after a store or drain moves the old words."
    LATE_GET = "For this number of cycles after a get is done, its last row still holds the old words."


TIMED: dict[HazardKind, tuple[int, ...]] = {
    HazardKind.LATE_PRODUCT: (40, 50, 60, 70),
    HazardKind.STALE_LOAD: (12, 16, 20, 24),
    HazardKind.STALE_PUT: (24, 32, 40, 48),
    HazardKind.LATE_GET: (30, 40, 50, 60),
}
"""The numbers of cycles of hazards that have one."""


@dataclass(frozen=True)
class Hazard:
    kind: HazardKind
    cycles: int
    """Of the kinds in TIMED; otherwise 0."""
    in_errata_only: bool
    """Whether the text before the errata does not mention it."""


@dataclass(frozen=True)
class Erratum:
    """A number that the text before the errata states wrongly for this stepping."""

    part: str
    """Name of a field of Chip: `scratchpad`."""
    name: str
    """Name of a field of that part: `line_words`."""
    printed: Any
    actual: Any


@dataclass(frozen=True)
class Instruction:
    op: Op
    name: str
    issue: int = field(metadata={"unit": "cycles", "meaning": "After these the next instruction may issue."})
    busy: int = field(metadata={"unit": "cycles", "meaning": (
        "For these its unit begins nothing else. A load or store needs them for each cycle that conflicts of banks "
        "take, a product for each step of its depth.")})  # fmt: skip
    latency: int = field(metadata={"unit": "cycles", "meaning": (
        "After these the result is there, counted from the issue. Busy cycles beyond the first ones, through conflicts "
        "or depth, come on top. What needs the result waits for it, but for the chip's hazards.")})  # fmt: skip

    @property
    def unit(self) -> Unit:
        return FORMS[self.op].unit

    @property
    def operands(self) -> tuple[Operand, ...]:
        return FORMS[self.op].operands

    @property
    def meaning(self) -> str:
        return FORMS[self.op].meaning


@dataclass(frozen=True)
class Names:
    """Words of the documents. Each is used for one thing only."""

    vendor: str
    family: str
    chip: str
    stepping: str
    language: str
    scratchpad: str
    outer: str
    accumulator: str
    token: str
    argument_table: str
    units: Mapping[Unit, str]
    scalar_prefix: str
    """Scalar registers are this letter and a number from 0, as in `k3`. So are the following."""
    vector_prefix: str
    accumulator_prefix: str


@dataclass(frozen=True)
class Chip:
    seed: int
    names: Names
    registers: Registers
    vectors: Vectors
    scratchpad: Scratchpad
    transfers: Transfers
    matrix: Matrix
    host: Host
    instructions: Mapping[Op, Instruction]
    hazards: tuple[Hazard, ...]
    errata: tuple[Erratum, ...]

    def hazard(self, kind: HazardKind) -> Hazard | None:
        return next((hazard for hazard in self.hazards if hazard.kind is kind), None)


PARTS: dict[str, type] = {
    "registers": Registers, "vectors": Vectors, "scratchpad": Scratchpad, "transfers": Transfers, "matrix": Matrix,
    "host": Host,
}  # fmt: skip
MISPRINTED = (
    ("scratchpad", "line_words"), ("vectors", "groups"), ("vectors", "exponent_base"), ("transfers", "rows_most"),
    ("matrix", "depth_most"), ("scratchpad", "words"), ("vectors", "result_last"),
)  # fmt: skip
"""Numbers that matter for correctness, one of which the first text states wrongly."""
MISTIMED = (("transfers", "startup_cycles"), ("transfers", "burst_bytes"), ("scratchpad", "banks"))
"""Numbers that matter for speed, one of which it states wrongly."""
LIMITS = ("rows_most", "depth_most", "words")


def chip(seed: int) -> Chip:
    """The chip of a seed, from 0 on. The same seed always gives the same chip."""
    dice = random.Random(f"chip {seed}")
    found = _drawn(seed, _names(seed, "chip"), dice, ())
    return replace(found, errata=tuple(_erratum(found, dice, kinds) for kinds in (MISPRINTED, MISTIMED)))


def sibling(of: Chip) -> Chip:
    """A chip of the same family and generation: the same words, but another number wherever there is a choice."""
    return _drawn(of.seed, _names(of.seed, "sibling"), random.Random(f"sibling {of.seed}"), (of, as_printed(of)))


def former(of: Chip) -> Chip:
    """The previous revision: other words, and other numbers."""
    return _drawn(of.seed, _names(of.seed, "former"), random.Random(f"former {of.seed}"), (of, as_printed(of)))


def as_printed(of: Chip) -> Chip:
    """What the text before the errata says of a chip."""
    for erratum in of.errata:
        part = replace(getattr(of, erratum.part), **{erratum.name: erratum.printed})
        of = replace(of, **{erratum.part: part})
    return replace(of, hazards=tuple(hazard for hazard in of.hazards if not hazard.in_errata_only), errata=())


def _drawn(seed: int, names: "tuple[Names, Mapping[Op, str]]", dice: random.Random, others: tuple[Chip, ...]) -> Chip:
    words_of_it, mnemonics = names
    parts = {name: _part(kind, dice, [getattr(other, name) for other in others]) for name, kind in PARTS.items()}
    return Chip(
        seed=seed,
        names=words_of_it,
        **parts,
        instructions={
            op: Instruction(
                op, mnemonics[op], *(dice.choice(choices) for choices in (form.issue, form.busy, form.latency))
            )
            for op, form in FORMS.items()
        },
        hazards=_hazards(dice),
        errata=(),
    )


def _part(kind: type, dice: random.Random, others: list[Any]) -> Any:
    values = {}
    for drawn_field in fields(kind):
        choices = drawn_field.metadata["choices"]
        taken = {getattr(other, drawn_field.name) for other in others}
        values[drawn_field.name] = dice.choice([choice for choice in choices if choice not in taken] or choices)
    return kind(**values)


def _hazards(dice: random.Random) -> tuple[Hazard, ...]:
    kinds = dice.sample(list(HazardKind), dice.choice((2, 3)))
    return tuple(
        Hazard(kind, dice.choice(TIMED.get(kind, (0,))), in_errata_only=place == len(kinds) - 1)
        for place, kind in enumerate(kinds)
    )


def _erratum(of: Chip, dice: random.Random, kinds: tuple[tuple[str, str], ...]) -> Erratum:
    """A misprint of a number that misleads."""
    possible = []
    for part, name in kinds:
        actual = getattr(getattr(of, part), name)
        choices = next(f.metadata["choices"] for f in fields(PARTS[part]) if f.name == name)
        wrong = [choice for choice in choices if choice != actual and _misleads(name, choice, actual)]
        possible += [Erratum(part, name, dice.choice(wrong), actual)] if wrong else []
    return dice.choice(possible)


def _misleads(name: str, printed: Any, actual: Any) -> bool:
    """Whether who trusts the printed number does something wrong: exceeds a limit, or breaks an alignment."""
    if name in LIMITS:
        return bool(printed > actual)
    return name != "line_words" or printed % actual != 0


def _names(seed: int, which: str) -> tuple[Names, Mapping[Op, str]]:
    """The words of a chip of the family, and the names of its instructions."""
    known = words(seed)
    vendor, family, *chips = islice(known, 5)
    stepping = random.Random(f"stepping {seed}").choice(("A1", "B0", "B1", "C0"))
    letters = random.Random(f"letters {seed}").sample("cdfghjkmpquwxyz", 6)
    if which == "former":
        for _ in range(6 + len(Unit) + len(Op)):
            next(known)
        letters = letters[3:]
    own = chips[("chip", "sibling", "former").index(which)]
    named = Names(
        vendor.capitalize(), family.capitalize(), own.capitalize(), stepping,
        *islice(known, 6), {unit: next(known) for unit in Unit}, *letters[:3],
    )  # fmt: skip
    return named, {op: next(known) for op in Op}

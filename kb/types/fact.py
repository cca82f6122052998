"""One hardware number as a document states it."""

import re
from typing import Literal

from kb.types.base import Frozen
from kb.types.passages import Citation
from kb.types.records import Form, Trust
from kb.types.units import unit_of

RANGE = re.compile(r"(-?\d\S*) to (-?\d\S*)")
"""A value between two ends, such as one that may be configured: `1 to 64`."""


LIST = re.compile(r"\d[^,]*(?:, [^,]+)+")
"""Several values that are all possible: `1, 2, 4`."""


class Fact(Frozen):
    """One hardware number as a document states it."""

    target: str
    quantity: str
    value: str
    """Value as written; `number` is its numeric value, if any (a shape such as 32x32x8 or a range has none)."""
    number: float | None
    unit: str
    condition: str
    """When the value holds: dtype, dense or sparse, per what. Empty if it always holds."""
    source: str
    """Source that the document names for the number; empty if kb extracted the fact from text."""
    citation: Citation
    trust: Trust = Trust.VENDOR
    """Who states the fact."""
    form: Form = Form.STATED
    version: str = ""
    """Version of the document."""
    quote: str = ""
    """The document's exact words."""

    @property
    def amount(self) -> float | None:
        """The value in bytes, bytes/s, FLOP/s, Hz, ...; None for a shape or an unknown unit."""
        unit = unit_of(self.unit)
        return None if unit is None or self.number is None else self.number * unit.scale

    @property
    def is_range(self) -> bool:
        """Whether the value is a choice: a range or a list."""
        return RANGE.fullmatch(self.value) is not None or LIST.fullmatch(self.value) is not None

    @property
    def conditions(self) -> frozenset[str]:
        """The phrases of the condition."""
        return frozenset(phrase.strip() for phrase in self.condition.split(",") if phrase.strip())


class FactAnswer(Frozen, coerce_numbers_to_str=True):
    """A fact as a reader of the documents gives it, a person or a model, with the words that state it."""

    quantity: str
    value: str
    """A number, a range such as `1 to 64`, a list such as `1, 2, 4`, a shape such as `16x16`, or words of the quote if
    the unit is `name`."""
    unit: str = ""
    condition: str = ""
    quote: str
    """The words of the document, one after another; punctuation and line breaks do not count."""
    passage: str = ""
    """Id of the passage (default: any document of the target that has the quote once)."""
    target: str = ""
    """Chip or family (default: the one that was asked about)."""


class DecidedFact(FactAnswer):
    """A person's decision about a fact, as one home passes it to another."""

    id: str
    sha256: str
    """The digest of the document that states the fact; `quote` has its exact words there."""
    label: str = ""
    """The first cell of its row and its column's header, if it stands in a table."""
    form: Form
    decision: Literal["accepted", "rejected"]
    reason: str = ""


class RefusedAnswer(Frozen):
    """An answer that was not stored, and why."""

    answer: FactAnswer
    reason: str

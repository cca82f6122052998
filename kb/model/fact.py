"""One hardware number as a document states it."""

from kb.model.base import Frozen
from kb.model.passages import Citation
from kb.model.records import Form, Trust
from kb.model.units import unit_of


class Fact(Frozen):
    """One hardware number as a document states it."""

    target: str
    quantity: str
    value: str
    """As written; `number` is its numeric value where it has one (a shape such as 32x32x8 has none)."""
    number: float | None
    unit: str
    condition: str
    """What makes it true: dtype, dense or sparse, per what. Empty when it holds always."""
    source: str
    """Where the document says it has the number from; empty where kb read it off a text."""
    citation: Citation
    trust: Trust = Trust.VENDOR
    """Who says so."""
    form: Form = Form.STATED
    version: str = ""
    """Of the document."""
    quote: str = ""
    """What the document says, word for word."""

    @property
    def amount(self) -> float | None:
        """The value in whole bytes, bytes/s, FLOP/s, Hz, ...; None where it is a shape or its unit is not known."""
        unit = unit_of(self.unit)
        return None if unit is None or self.number is None else self.number * unit.scale

    @property
    def conditions(self) -> frozenset[str]:
        """The phrases of the condition."""
        return frozenset(phrase.strip() for phrase in self.condition.split(",") if phrase.strip())

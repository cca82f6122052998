"""Numbers in a text, each with the unit beside it."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from kb.facts.quantities import SHAPE, Quantity
from kb.types.units import WRITTEN, Unit, unit_of

_NUMBER = r"\d{1,3}(?:,\d{3})+(?!\d)|\d+(?:\.\d+)?(?:e[+-]?\d+)?"
_POWER = r"2(?:\^|\*\*)\{?(?P<power>\d+)\}?\^?"
_SHAPE = r"\d+(?:[x×](?:\d+|[NMK]\b)){1,3}|\d+(?:\s(?:[x×]|by)\s(?:\d+|[NMK]\b)){1,3}|\d+(?:-by-\d+){1,2}"
_ROWS = r"(?P<rows>\d+)\s+rows?\s*(?:and|by|of|[x×])\s*(?P<columns>\d+)\s+columns?"
_TO_SIXTEEN = "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
_WORDS = {word: number for number, word in enumerate(_TO_SIXTEEN.split(), start=2)}
_WORDS |= {"twenty-four": 24, "thirty-two": 32, "sixty-four": 64}
_PREFIX_ALONE = r"[KkMG](?![A-Za-z])"
_TYPE = (
    r"(?i:(?:dense|sparse|(?:mx|nv|oc|c)?[bft]?fp?\d{1,2}|bfloat16|float16|u?int\d{1,2})"
    r"\s*(?:(?:[/,&+]|and\b)\s*)?){1,5}"
)
_VALUE = re.compile(
    rf"(?<![\w.,/^-])(?P<about>[~≈]\s?)?"
    rf"(?:{_ROWS}|(?P<shape>{_SHAPE})|{_POWER}|(?P<number>{_NUMBER})|(?P<word>(?i:{'|'.join(_WORDS)})))"
    rf"(?:[\s-]{{0,3}}(?:{_TYPE})?(?P<unit>{WRITTEN})|(?P<prefix>{_PREFIX_ALONE})|x(?=\s+[A-Za-z]))?(?![\w^]|[.,]\d)",
    re.ASCII,
)
MOST_DIGITS = 20
"""A longer number is ignored."""


@dataclass(frozen=True, slots=True)
class Value:
    """A number or a shape as a text states it."""

    start: int
    end: int
    text: str
    """The number in plain digits, or a shape with `x` between its numbers."""
    unit: str
    """The unit as written; empty for a bare number."""
    rough: bool = False
    """Whether the text marks it as rounded: `~3 MB`."""
    prefix_alone: bool = False
    """Whether it has a prefix but no unit, and so counts bytes or things: `768K`."""

    @property
    def is_shape(self) -> bool:
        return "x" in self.text

    @property
    def counts(self) -> Unit | None:
        return unit_of(self.unit) if self.unit else None

    def read_as(self, quantity: Quantity, unit: Unit | None = None) -> tuple[str, str] | None:
        """Return number and unit as a value of `quantity`; None if it cannot be one.

        Args:
            unit: Unit of a bare number, if stated elsewhere.
        """
        if self.is_shape or quantity.unit == SHAPE:
            return (self.text, SHAPE) if self.is_shape and quantity.unit == SHAPE else None
        if quantity.holds(self.text, self.counts or unit):
            return self.text, self.unit or "1"
        counted = str(int(float(self.text) * self.counts.scale)) if self.prefix_alone and self.counts else ""
        return (counted, "1") if counted and quantity.holds(counted, None) else None


def values(text: str) -> Iterator[Value]:
    """Yield all values in `text`, in order."""
    for match in _VALUE.finditer(text):
        if shape := match["shape"]:
            plain = re.sub(r"[\s-]?(?:[x×]|by)[\s-]?", "x", shape)
        elif match["rows"]:
            plain = f"{match['rows']}x{match['columns']}"
        elif word := match["word"]:
            plain = str(_WORDS[word.lower()])
        elif power := match["power"]:
            plain = str(2 ** int(power)) if int(power) < 64 else ""
        else:
            plain = match["number"].replace(",", "")
        if plain and ("x" in plain or (len(plain) <= MOST_DIGITS and math.isfinite(float(plain)))):
            unit = match["unit"] or (f"{match['prefix']}B" if match["prefix"] else "")
            yield Value(match.start(), match.end(), plain, unit, bool(match["about"]), bool(match["prefix"]))

"""Read a label: its quantity, its unit, and the conditions of its value."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kb.facts.quantities import Quantity, Vocabulary, quantities
from kb.types.units import OTHER_UNITS, WRITTEN, Unit, unit_of

_UNIT = re.compile(rf"(?<![A-Za-z])(?:{WRITTEN})(?![A-Za-z])")
_NO_UNIT = re.compile(r"(?<![(\[])\b[BbW]\b(?![)\]])|(?<![A-Za-z\d])\d+[ -]?bits?\b")
"""Not units: a single letter outside brackets, and `32-bit`, which says what kind of thing something is."""
OTHER_UNIT = re.compile(
    rf"[(\[,]\s*(?:{OTHER_UNITS}|[munµ]?s)[²2]?(?![A-Za-z0-9])|(?<![A-Za-z0-9])(?:[munµ][AVs]|°C|℃)(?![A-Za-z0-9])"
)
"""A unit that no quantity of kb has: a bare number below `Current (mA)` or `Time in us` is no count. A bare `V` names
other things too."""
_SHARE = re.compile(r"(?:\bper|/|\beach|\bevery)[\s-]*(?P<number>\d+\s+)?(?:active\s+)?$", re.IGNORECASE)
_EACH = re.compile(r"(?<=s)(?:\s+of\s+[\d.,]+\s*\w+$|\s*,?\s*(?:with\s+)?each\s+\w)")
"""Text behind several things that each have the value: `16 banks of 4 KB`, `132 SMs, each of which has`."""
_SUBJECT = re.compile(r"(?:^|[.,;:]\s)\W*(?:(?:the|an?|one|a single|all|both)\s+)(?:[\w-]+\s+){0,2}$", re.IGNORECASE)
_TOTAL = re.compile(
    r"\b(?:in\s+total|total\s+(?:on-chip|of\s+[\d.,]+)|aggregate|distributed\s+among|across\s+all)\b", re.IGNORECASE
)
_HAS = re.compile(
    r"[^.;:]{0,60}?\b(?:has|have|contains?|includes?|provides?|supports?|comes?|holds?|can|consists?|features?|offers?)\b"
)
_WORD = re.compile(r"[A-Za-z]{2,}")
MOST_OTHER_WORDS = 2
"""A label with more words besides its quantity and the filler words of quantities.toml is not understood at all."""


@dataclass(frozen=True, slots=True)
class Label:
    text: str

    @property
    def unit(self) -> tuple[str, Unit | None]:
        """The last unit that the label names, as written and as kb understands it."""
        found = [m.group() for m in _UNIT.finditer(_NO_UNIT.sub(" ", self.text))]
        return (found[-1], unit_of(found[-1])) if found else ("", None)

    def meanings(self) -> list[tuple[Quantity, bool, bool]]:
        """Return each named quantity, whether the label says no more, and whether the word often means other things."""
        known = quantities()
        found: dict[Quantity, tuple[bool, bool]] = {}
        for mention in known.names.mentions(self.text):
            others = self._other_words(self.text[: mention.start] + " " + self.text[mention.end :])
            if others <= MOST_OTHER_WORDS:
                found.setdefault(known.by_name[mention.means], (others == 0 and not mention.loose, mention.loose))
        return [(quantity, sure, loose) for quantity, (sure, loose) in found.items()]

    @property
    def quantities(self) -> list[Quantity]:
        return [quantity for quantity, _, _ in self.meanings()]

    def _other_words(self, rest: str) -> int:
        for vocabulary in quantities().conditions.values():
            for mention in reversed(vocabulary.mentions(rest)):
                rest = rest[: mention.start] + " " + rest[mention.end :]
        return sum(word.lower() not in quantities().filler for word in _WORD.findall(_UNIT.sub(" ", rest)))


def conditions(quantity: Quantity, texts: Sequence[str]) -> list[list[str]]:
    """Return the conditions that `texts` name, nearest first; several lists if they name several data types.

    Empty if the quantity needs a data type and none is named.
    """
    known = quantities().conditions
    fixed: list[str] = []
    if "density" in quantity.needs:
        fixed += _first(known["density"], texts)
    if "engine" in (*quantity.needs, *quantity.may):
        fixed += _first(known["engine"], texts)
    if "per" in (*quantity.needs, *quantity.may) and (per := share(texts) or (quantity.per and f"per {quantity.per}")):
        fixed.append(per)
    if "direction" in quantity.needs:
        fixed += _first(known["direction"], texts)
    dtypes = _first(known["dtype"], texts, all_of_them=True) if "dtype" in (*quantity.needs, *quantity.may) else []
    return [[dtype, *fixed] for dtype in dtypes] or ([] if "dtype" in quantity.needs else [fixed])


def _first(vocabulary: Vocabulary, texts: Sequence[str], *, all_of_them: bool = False) -> list[str]:
    for text in texts:
        if found := list(dict.fromkeys(m.means for m in vocabulary.mentions(text))):
            return found if all_of_them else found[:1]
    return []


def share(texts: Sequence[str]) -> str:
    """Return `per X` as the nearest text states it; empty if none does."""
    for text in texts:
        for mention in quantities().conditions["per"].mentions(text):
            if before := _SHARE.search(text[: mention.start]):
                number = f"{before['number'].strip()} " if before["number"] else ""
                return f"per {number}{mention.means}{'s' if number else ''}"
            if _EACH.match(text, mention.end):
                return f"per {mention.means}"
    for text in texts:
        if _TOTAL.search(text):
            return "per device"
        for mention in quantities().conditions["per"].mentions(text):
            if _SUBJECT.search(text[: mention.start]) and _HAS.match(text, mention.end):
                return f"per {mention.means}"
    return ""

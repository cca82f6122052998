"""Recognise a question for a quantity and nothing else, and the facts that answer it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from kb.catalog.words import STOP_WORDS
from kb.facts.quantities import Mention, Quantity, quantities
from kb.facts.select import answers, conditions
from kb.types.fact import Fact
from kb.types.spellings import without
from kb.types.units import PIECES, WRITTEN, Unit, unit_of

_AMOUNTS = {
    "amount": ("size", "capacity", "much", "large", "big"),
    "rate": ("bandwidth", "throughput", "fast", "rate", "speed"),
    "count": ("many", "number", "count"),
    "width": ("width", "wide"),
    "frequency": ("clock", "frequency"),
    "any": ("high", "highest", "largest", "peak", "max", "maximum", "limit"),
}
"""Words that ask for a number, by what kind of number they ask for."""
_ASKING = {word: kind for kind, words in _AMOUNTS.items() for word in words}

_WORD = re.compile(r"[A-Za-z]+")
_ACRONYM = re.compile(r"\b[A-Z]{2,}(?=s?\b)")
_SHORT = re.compile(r"\b[a-z][a-z0-9]{1,2}\b")
_UNIT = re.compile(rf"(?<![A-Za-z])(?:{WRITTEN})(?![A-Za-z])")


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question asks for."""

    quantities: frozenset[str]
    unit: Unit | None
    conditions: frozenset[str]
    shares: frozenset[str]
    """`per X`; a fact needs one of them."""
    subjects: frozenset[str]
    """What else the question names, and the acronyms in the names of the quantities, in lower case.

    kb has one quantity for the memories that each chip names in its own way, and a chip may have two of them.
    """

    def is_answered_by(self, fact: Fact) -> bool:
        """Whether the fact is of such a quantity and unit, under these conditions, and stated of these subjects."""
        unit, own = unit_of(fact.unit), conditions(fact)
        quantity = fact.quantity.split("_")
        initials = "".join(word[0] for word in quantity)
        said = " ".join((fact.quote, *fact.citation.section, *quantity, initials)).lower()
        return (
            fact.quantity in self.quantities
            and (self.unit is None or (unit is not None and unit.kind == self.unit.kind))
            and answers(fact, self.conditions)
            and (not self.shares or not own.isdisjoint(self.shares))
            and all(subject in said for subject in self.subjects)
        )

    def unasked(self, fact: Fact) -> int:
        """Number of conditions of the fact that the question does not name and its quantity does not usually have."""
        known = quantities().by_name.get(fact.quantity)
        return len(conditions(fact) - self.conditions - self.shares - {f"per {known.per}" if known else ""})


def asked_quantity(question: str) -> Asked | None:
    """What `question`, which names no target any more, asks for; None if it says anything else.

    `LDS size per compute unit` asks for a quantity. `avoid LDS bank conflicts` does not: besides quantities, conditions
    and units it has words that are neither stop words, nor ask for a number, nor say little in a label (`filler` in
    kb/facts/quantities.toml).
    """
    known = quantities()
    question = _SHORT.sub(_as_acronym, question)
    units = [unit for match in _UNIT.finditer(question) if (unit := unit_of(match.group()))]
    unit = units[0] if units else None
    mentions = [m for m in known.names.mentions(question) if not m.loose]
    kinds = {_ASKING[word] for word in _words(question) if word in _ASKING}
    meant = [m for m in mentions if _is_meant(m, question, unit, kinds)]
    rest = _without(question, meant)
    read = {(m.start, m.end) for m in (*meant, *known.conditions["per"].mentions(rest))}
    others = [m for m in mentions if (m.start, m.end) not in read]
    rest = _without(rest, others)
    named = {kind: list(words.mentions(rest)) for kind, words in known.conditions.items()}
    rest = _without(rest, [mention for found in named.values() for mention in found])
    left = {*_words(_UNIT.sub(" ", rest))} - STOP_WORDS - known.filler - _ASKING.keys()
    if left or not meant or not (units or kinds):
        return None
    fixed = [m.means for kind in ("dtype", "density") for m in named[kind]]
    return Asked(
        quantities=frozenset(m.means for m in meant),
        unit=unit,
        conditions=frozenset(fixed),
        shares=frozenset(f"per {m.means}" for m in named["per"]),
        subjects=frozenset(
            [question[m.start : m.end].lower() for m in others]
            + [a.lower() for m in meant for a in _ACRONYM.findall(_UNIT.sub(" ", question[m.start : m.end]))]
        ),
    )


def _is_meant(mention: Mention, question: str, unit: Unit | None, kinds: set[str]) -> bool:
    """Whether the question asks for this quantity: in this unit, or with words for this kind of number."""
    quantity = quantities().by_name[mention.means]
    if unit:
        return quantity.counts(unit)
    asks = _kind_of(quantity) in kinds or kinds <= {"any"}
    return asks or not _ASKING.keys().isdisjoint(_words(question[mention.start : mention.end]))


def _kind_of(quantity: Quantity) -> str:
    """The kind of words that ask for this quantity."""
    unit = unit_of(quantity.unit)
    if unit is None or quantity.name.endswith("_width"):
        return "width"
    if unit.kind in PIECES:
        return "count"
    return "rate" if "/" in unit.kind else "frequency" if unit.kind == "Hz" else "amount"


def _as_acronym(word: re.Match[str]) -> str:
    """A short word in capitals, as documents write acronyms, unless it is a plain word or a unit."""
    plain = word.group() in STOP_WORDS | quantities().filler | _ASKING.keys() or _UNIT.fullmatch(word.group())
    return word.group() if plain else word.group().upper()


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]


def _without(text: str, mentions: Iterable[Mention]) -> str:
    return without(text, ((mention.start, mention.end) for mention in mentions))

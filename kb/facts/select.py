"""Selects the facts that answer a question, by the meaning of their conditions.

A condition is a list of phrases. Three rules define its meaning:

1. Words. Phrases are compared in kb's spelling: `per thread` is `per lane`, `whole device` is `per device`, and every
   `float8_...` is `float8`.
2. Missing share. A fact without a share (`per ...`) has the usual share of its quantity, `per` in
   kb/facts/quantities.toml: 255 registers without a condition are 255 per lane.
3. Anything else missing. Dtype, density, engine, direction, board and mode have no usual value. A fact that does not
   mention one of them answers only questions that do not mention it either.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache

from kb.facts.quantities import plain, quantities
from kb.types.fact import Fact
from kb.types.measurement import Measurement
from kb.types.records import Form, Trust

FLOAT8 = "float8_"
"""Prefix of the float8 formats, such as `float8_e4m3fn`."""
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*")


def canonical(phrase: str) -> str:
    """A phrase of a condition in kb's spelling."""
    if phrase.startswith(FLOAT8):
        return "float8"
    share = "device" if phrase == "whole device" else phrase.removeprefix("per ")
    words = quantities().conditions["per"].mentions(share) if share != phrase else ()
    return next((f"per {word.means}" for word in words if word.end - word.start == len(share)), phrase)


def conditions(said: Fact | Measurement) -> frozenset[str]:
    """The condition of a value as canonical phrases, including the usual share."""
    return _conditions(said.quantity, said.condition)


@cache
def _conditions(quantity: str, condition: str) -> frozenset[str]:
    own = frozenset(canonical(phrase.strip()) for phrase in condition.split(",") if phrase.strip())
    known = quantities().by_name.get(quantity)
    return own | {f"per {known.per}"} if known and known.per and not _shares(own) else own


def answers(fact: Fact, wanted: Iterable[str]) -> bool:
    """Whether the condition of the fact contains all wanted phrases."""
    return conditions(fact) >= set(map(canonical, wanted))


def matching(facts: Iterable[Fact], quantity: str, *wanted: str) -> list[Fact]:
    """The facts of a quantity that have an amount and all wanted phrases."""
    return [f for f in facts if f.quantity == quantity and f.amount is not None and answers(f, wanted)]


def best(facts: Sequence[Fact]) -> list[Fact]:
    """The measured facts, or else those of fact tables, or else those that kb read from other text."""
    ranks = [(fact.trust is not Trust.MEASURED, fact.form is not Form.STATED) for fact in facts]
    return [fact for fact, rank in zip(facts, ranks, strict=True) if rank == min(ranks)]


def one_value(facts: Iterable[Fact], quantity: str, *wanted: str) -> tuple[float, Fact] | None:
    """The amount that the best matching facts agree on, and the first of them; None if there is no such amount."""
    found = [(fact.amount, fact) for fact in best(matching(facts, quantity, *wanted)) if fact.amount is not None]
    return found[0] if len({amount for amount, _ in found}) == 1 else None


def comparable(a: Fact, b: Fact) -> bool:
    """Whether both state the same thing: their conditions are equal, or one is less specific.

    Facts with and without a dtype, or with and without a share, are not comparable; nor are two float8 formats.
    """
    mine, theirs = conditions(a), conditions(b)
    if a.quantity != b.quantity or not (mine <= theirs or theirs <= mine):
        return False
    formats, others = ({p for p in fact.conditions if p.startswith(FLOAT8)} for fact in (a, b))
    if formats and others and formats.isdisjoint(others):
        return False
    dtypes = quantities().spelt["dtype"]
    return bool(_shares(mine)) == bool(_shares(theirs)) and mine.isdisjoint(dtypes) == theirs.isdisjoint(dtypes)


def about_one_thing(a: Fact, b: Fact, label: Callable[[Fact], str]) -> bool:
    """Whether two values of a quantity that has several at once are about one thing, such as one cache.

    Their conditions are equal, their labels name the same hardware, and their headings (`L1 cache`, `L2 cache`) do not
    name two things. Values without names in kb/facts/quantities.toml, such as an alignment, need a condition.

    Args:
        label: The words beside a value: its quote, or the header and the first cell of its row.
    """
    if conditions(a) != conditions(b) or not (conditions(a) or quantities().by_name[a.quantity].names):
        return False
    ours, theirs = (_hardware(f.quantity, "" if f.form is Form.STATED else label(f)) for f in (a, b))
    above, below = (_hardware(f.quantity, " ".join(f.citation.section[-1:])) for f in (a, b))
    return ours == theirs and not (above and below and above.isdisjoint(below))


def _hardware(quantity: str, text: str) -> frozenset[str]:
    """The words of `text` that name hardware, but not the quantity itself."""
    return frozenset(map(plain, _WORD.findall(text))) & _names() - frozenset(map(plain, quantity.split("_")))


@cache
def _names() -> frozenset[str]:
    words = (w for quantity in quantities().by_name.values() for w in _WORD.findall(" ".join(quantity.names)))
    return frozenset(map(plain, words)) - quantities().filler


def compatible(reading: Measurement, fact: Fact) -> bool:
    """Whether no kind of condition differs between a reading and a fact of its quantity.

    A probe describes its run in free text (`one cache, of logical cores 0 and 1`), so every word of it counts. A
    reading without a share fits any share.
    """
    usual = quantities().by_name.get(fact.quantity)
    for kind, vocabulary in quantities().conditions.items():
        ours, theirs = ({m.means for m in vocabulary.mentions(said.condition)} for said in (reading, fact))
        if kind == "per" and usual and not theirs:
            theirs = {usual.per}
        if ours and theirs and ours.isdisjoint(theirs):
            return False
    return fact.quantity == reading.quantity


def _shares(phrases: frozenset[str]) -> frozenset[str]:
    return frozenset(phrase for phrase in phrases if phrase.startswith("per "))

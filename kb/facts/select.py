"""Which facts answer a question: the one place that knows what the condition of a fact means.

A condition is a list of phrases. Three rules say what it means:

1. Words. A phrase counts as kb writes it: `per thread` is `per lane`, `whole device` is `per device`, and every
   `float8_...` is `float8`.
2. An unsaid share. A fact that names no share (`per ...`) is of the usual one of its quantity, `per` in
   kb/facts/quantities.toml: 255 registers without a condition are 255 per lane.
3. All else unsaid. Dtype, density, engine, direction, a board, a mode: none has a usual value. A fact that is silent
   about one of them answers only a question that is silent about it too.
"""

from collections.abc import Iterable, Sequence
from functools import cache

from kb.facts.quantities import quantities
from kb.model.fact import Fact
from kb.model.measurement import Measurement
from kb.model.records import Form, Trust

FLOAT8 = "float8_"
"""How the formats of float8 begin: `float8_e4m3fn`."""


def canonical(phrase: str) -> str:
    """A phrase of a condition as kb writes it."""
    if phrase.startswith(FLOAT8):
        return "float8"
    share = "device" if phrase == "whole device" else phrase.removeprefix("per ")
    words = quantities().conditions["per"].mentions(share) if share != phrase else ()
    return next((f"per {word.means}" for word in words if word.end - word.start == len(share)), phrase)


def conditions(said: Fact | Measurement) -> frozenset[str]:
    """What holds of a value, in kb's own words, the usual share included."""
    return _conditions(said.quantity, said.condition)


@cache
def _conditions(quantity: str, condition: str) -> frozenset[str]:
    own = frozenset(canonical(phrase.strip()) for phrase in condition.split(",") if phrase.strip())
    known = quantities().by_name.get(quantity)
    return own | {f"per {known.per}"} if known and known.per and not _shares(own) else own


def answers(fact: Fact, wanted: Iterable[str]) -> bool:
    """Whether the fact holds under all the conditions that are asked for."""
    return conditions(fact) >= set(map(canonical, wanted))


def matching(facts: Iterable[Fact], quantity: str, *wanted: str) -> list[Fact]:
    """The facts of a quantity that answer and have an amount."""
    return [f for f in facts if f.quantity == quantity and f.amount is not None and answers(f, wanted)]


def best(facts: Sequence[Fact]) -> list[Fact]:
    """What was measured; else what a fact table states; else what kb read off other texts."""
    ranks = [(fact.trust is not Trust.MEASURED, fact.form is not Form.STATED) for fact in facts]
    return [fact for fact, rank in zip(facts, ranks, strict=True) if rank == min(ranks)]


def one_value(facts: Iterable[Fact], quantity: str, *wanted: str) -> tuple[float, Fact] | None:
    """The amount that the best answers agree on, and the first of them; None where there is none, or they differ."""
    found = [(fact.amount, fact) for fact in best(matching(facts, quantity, *wanted)) if fact.amount is not None]
    return found[0] if len({amount for amount, _ in found}) == 1 else None


def comparable(a: Fact, b: Fact) -> bool:
    """Whether both speak of the same thing: under one condition, or one says less of it than the other.

    A fact without a dtype, or without a share, says nothing of one that names some; two formats of float8 are two
    things.
    """
    mine, theirs = conditions(a), conditions(b)
    if a.quantity != b.quantity or not (mine <= theirs or theirs <= mine):
        return False
    formats, others = ({p for p in fact.conditions if p.startswith(FLOAT8)} for fact in (a, b))
    if formats and others and formats.isdisjoint(others):
        return False
    dtypes = quantities().spelt["dtype"]
    return bool(_shares(mine)) == bool(_shares(theirs)) and mine.isdisjoint(dtypes) == theirs.isdisjoint(dtypes)


def compatible(reading: Measurement, fact: Fact) -> bool:
    """Whether the fact can stand beside a reading: of no kind of condition do they say different things.

    A probe says in free words what it ran (`one cache, of logical cores 0 and 1`), so each word counts; a reading that
    names no share may be of any.
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

"""Which facts a prompt states: those that matter to its subject, and that the words beside them do not give."""

import re
from collections.abc import Sequence

from kb.facts.quantities import SHAPE, quantities
from kb.facts.select import conditions
from kb.types.briefing import Answer
from kb.types.fact import Fact
from synth.briefing.topics import Subject, topics

COUNTS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
"""Counts as words."""
GENERIC = {"compute", "count", "size", "units", "width"}
"""Words of names that do not tell which quantity is meant, so a size of memory alone is always stated."""
STEM = 5
"""Letters of a word that another form of it has too: `alignment`, `aligned`."""
NEARLY_SAME = 1.01
"""Ratio of two values up to which the lower one says enough."""
_BOUND = re.compile(r"\b(?:smallest|(?:lower|upper) bound|of the (?:architecture|ISA))\b")
"""What a value is that bounds chips, or says how little of a unit one may use."""
_SEVERAL = re.compile(r"\b(?:[2-9]|\d\d+) (?:chips|GPUs|devices)\b")
"""What a value is of that one kernel has only a part of."""


def matters(fact: Fact, subject: Subject) -> bool:
    """Whether a fact is of the task's operations and types, not sparse, and of units that are there and take time."""
    said, known = conditions(fact), quantities().by_name.get(fact.quantity)
    stated = {name for phrase in said for name in phrase.split(" or ")} & quantities().spelt["dtype"]
    is_of_unit = known is not None and known.matrix and (subject.family != "npu" or "matrix" in known.name)
    of_matrices = is_of_unit or "matrix" in said
    return (
        not topics().hides(f"{fact.quantity.replace('_', ' ')}, {fact.condition}", subject)
        and (subject.has_products or not topics().is_elsewhere(fact.condition, subject, teaches=False))
        and (subject.has_products or not of_matrices)
        and (not stated or bool(stated & {*subject.dtypes, *subject.products_in}))
        and "sparse" not in said
        and not (subject.has_products and fact.quantity == "peak_flops" and "vector" in said)
        and not _BOUND.search(fact.condition)
        and not topics().is_of_missing(f"{fact.quantity} {fact.condition}", subject.lacks)
        and not _SEVERAL.search(fact.condition)
    )


def says_more(fact: Fact, other: Fact) -> bool:
    """Whether the other one adds nothing for one kernel: a total of the device, or nearly the same in another scope."""
    known = quantities().by_name.get(fact.quantity)
    if fact.quantity != other.quantity or known is None or known.many or not (fact.amount and other.amount):
        return False
    is_total = "per device" in conditions(other) and "per device" not in conditions(fact)
    return (is_total and known.per == "compute unit") or fact.amount < other.amount <= NEARLY_SAME * fact.amount


def without_repeats(answers: Sequence[Answer], contract: str) -> list[Answer]:
    """The answers without facts that a quoted statement or the contract gives.

    The contract gives a fact if it cites it. A text gives a quantity if it has each of its numbers with its unit, or
    each shape, and a word of the quantity's name; or the count before the thing that is counted, or later in a list of
    such counts. An answer of which nothing is left is out.
    """
    texts = [contract, *(said.text for answer in answers for said in answer.said)]
    kept = []
    for answer in answers:
        ungiven = {fact.quantity for fact in answer.facts if not any(_gives(text, fact) for text in texts)}
        facts = tuple(f for f in answer.facts if f.quantity in ungiven and f.citation.id not in contract)
        kept.append(answer.model_copy(update={"facts": facts}))
    return [answer for answer in kept if answer.facts or answer.said]


def _gives(text: str, fact: Fact) -> bool:
    value = re.escape(fact.value)
    names = [re.escape(word[:STEM]) for word in {*fact.quantity.split("_")} - GENERIC if len(word) >= len("line")]
    if fact.value.isdigit() and int(fact.value) < len(COUNTS):
        value = f"(?:{value}|{COUNTS[int(fact.value)]})"
    if fact.unit == "1":
        counted = rf"(?<![\d.x]){value} (?:\w+ )?{{0}}|\b{{0}}[^.;]*\b(?:and|or) {value} of\b"
        return any(re.search(counted.format(name), text, re.IGNORECASE) for name in names)
    amount = " ?x ?".join(fact.value.split("x")) if fact.unit == SHAPE else rf"{value}[- ]{re.escape(fact.unit)}s?"
    given = re.search(rf"(?<![\d.]){amount}\b", text, re.IGNORECASE)
    return bool(given) and any(re.search(rf"\b{name}", text, re.IGNORECASE) for name in names)

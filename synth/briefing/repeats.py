"""Tells which facts the words beside them say already."""

import re
from collections.abc import Sequence

from kb.facts.quantities import SHAPE
from kb.types.briefing import Answer
from kb.types.fact import Fact

COUNTS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
"""Counts as words."""
STEM = 5
"""Letters of a word that another form of it has too: `alignment`, `aligned`."""


def without_repeats(answers: Sequence[Answer], rules: str) -> list[Answer]:
    """The answers without facts that a quoted statement or the rules of the language give.

    They give a fact if they have its number with its unit, or with the thing that is counted, beside a word of the
    quantity's name; a shape is enough alone. An answer of which nothing is left is out.
    """
    texts = [rules, *(said.text for answer in answers for said in answer.said)]
    kept = [
        answer.model_copy(update={"facts": tuple(f for f in answer.facts if not any(_gives(t, f) for t in texts))})
        for answer in answers
    ]
    return [answer for answer in kept if answer.facts or answer.said]


def _gives(text: str, fact: Fact) -> bool:
    value = re.escape(fact.value)
    if fact.unit == SHAPE:
        return bool(re.search(rf"\b{' ?x ?'.join(fact.value.split('x'))}\b", text))
    names = [re.escape(word[:STEM]) for word in fact.quantity.split("_") if len(word) >= len("line")]
    if fact.value.isdigit() and int(fact.value) < len(COUNTS):
        value = f"(?:{value}|{COUNTS[int(fact.value)]})"
    if fact.unit == "1":
        return any(re.search(rf"\b{value} (?:\w+ )?{name}", text, re.IGNORECASE) for name in names)
    given = re.search(rf"\b{value}[- ]{re.escape(fact.unit)}s?\b", text, re.IGNORECASE)
    return bool(given) and any(re.search(rf"\b{name}", text, re.IGNORECASE) for name in names)

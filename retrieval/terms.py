"""The terms of a text: what its words mean, so that two spellings of one thing are one term."""

import re
from collections import Counter
from collections.abc import Collection, Iterable
from math import log

from kb.catalog.words import query_words
from kb.facts.quantities import quantities
from kb.types.units import WRITTEN, unit_of

NUMBER = "a number"
"""The term of every number that stands by itself, and of a question that asks for one."""

_ENDING = re.compile(r"(?<=[a-z]{3})(?:ions?|ing|ed|ly|ies|es|s|y)$")
_PERCENT = re.compile(r"%|\bper\s?cent(?:age)?s?\b", re.IGNORECASE)
_NUMBER = re.compile(rf"(?<![\w.])\d[\d,.]*(?:[\s-]?({WRITTEN}))?(?![\w])")
_AMOUNT = re.compile(
    rf"(?<![\w.:/#-])\d[\d,.]*(?:\s?%|[\s-]?(?:{WRITTEN})(?!\w)|[ -](?!(?:and|or|of|to|in|is)\b)[a-z]{{2,}})"
)
_SHAPE = re.compile(r"(?<!\w)\d+(?:x\d+)+(?!\w)")
_UNIT = re.compile(rf"(?<![\w/])(?:{WRITTEN})(?![\w/])")
_COUNTED = re.compile(
    r"\bhow (?:many|much|large|big|long|wide|deep|fast|high|far|often)\b"
    r"|\b(?:number|count|size|amount|capacity|depth|width|length|latency|bandwidth|maximum|minimum|max|min|limit)\b",
    re.IGNORECASE,
)


def terms(text: str) -> set[str]:
    """The terms of a sentence, table row or line of code.

    Identifiers and shapes count whole and by part. Word endings, the names of a data type and the spellings of a unit
    do not matter.
    """
    found = {_ENDING.sub("", word).rstrip("e") if word.isalpha() else word for word in query_words(text)}
    found.update(side for shape in _SHAPE.findall(text) for side in shape.split("x"))
    found.update(mention.means for mention in quantities().conditions["dtype"].mentions(text))
    if _PERCENT.search(text):
        found.add("percent")
    for match in _NUMBER.finditer(text):
        found.add(NUMBER)
        if match[1]:
            found.update(_kind(match[1]))
    return found


def asked_terms(question: str) -> set[str]:
    """The terms that an answer may share with `question`; if that asks for a number, also numbers in its unit."""
    found = terms(question) - {NUMBER}
    kinds = {kind for match in _UNIT.finditer(question) for kind in _kind(match.group())}
    for mention in quantities().names.mentions(question):
        kinds |= _kind(quantities().by_name[mention.means].unit)
    return found | kinds | ({NUMBER} if kinds or _COUNTED.search(question) else set())


def weights_of(asked: Iterable[str], said: Collection[Collection[str]]) -> dict[str, float]:
    """Weights of the asked terms, which add up to 1: a term weighs the more, the fewer texts have it.

    Args:
        said: The asked terms that each text has. A term that no text has weighs as much as the rarest.
    """
    among = Counter(term for own in said for term in own)
    raw = {term: log(1 + (1 + len(said)) / (1 + among[term])) for term in asked}
    total = sum(raw.values()) or 1.0
    return {term: weight / total for term, weight in raw.items()}


def states_amount(text: str) -> bool:
    """Whether `text` has a number with a unit or with what it counts."""
    return bool(_AMOUNT.search(text))


def _kind(unit: str) -> set[str]:
    known = unit_of(unit)
    return {f"{NUMBER} of {known.kind}"} if known else set()

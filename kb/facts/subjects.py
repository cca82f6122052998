"""Whether two values of a quantity that has several at once are about one thing, such as one cache."""

import re
from functools import cache

from kb.facts.quantities import plain, quantities
from kb.facts.select import conditions
from kb.types.fact import Fact
from kb.types.records import Form

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*")


def about_one_thing(a: Fact, b: Fact, labels: tuple[str, str]) -> bool:
    """Whether both are said of one thing: under equal conditions, with the same telling words in their labels.

    Headings that name two things (`L1 cache`, `L2 cache`) tell them apart. Values without names in
    kb/facts/quantities.toml, such as an alignment, are about one thing only if a condition says so.

    Args:
        labels: The words that stand beside each value: the quote, or the row and the column of a table.
    """
    if conditions(a) != conditions(b) or not (conditions(a) or quantities().by_name[a.quantity].names):
        return False
    ours, theirs = (
        _telling(f.quantity, "" if f.form is Form.STATED else label) for f, label in zip((a, b), labels, strict=True)
    )
    above, below = (_telling(f.quantity, " ".join(f.citation.section[-1:])) for f in (a, b))
    return ours == theirs and not (above and below and above.isdisjoint(below))


def _telling(quantity: str, text: str) -> frozenset[str]:
    """The words of `text` that name hardware, but not the quantity itself."""
    return frozenset(map(plain, _WORD.findall(text))) & _names() - frozenset(map(plain, quantity.split("_")))


@cache
def _names() -> frozenset[str]:
    words = (
        word for quantity in quantities().by_name.values() for name in quantity.names for word in _WORD.findall(name)
    )
    return frozenset(map(plain, words)) - quantities().filler

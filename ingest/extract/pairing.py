"""Pair the numbers of a sentence with the quantities that it names."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ingest.extract.values import Value, follows_per, same_kind, values
from kb.facts.quantities import Mention, Quantity, quantities

_BESIDE = re.compile(
    r"[\s,-]*(?:(?!(?:of|for|in|per|and|or|with|to|by|the|an?|from|on|as|is|are|at)\b)[\w/-]+\s+|\([^()]{1,12}\)\s*){0,4}",
    re.IGNORECASE,
)
"""Text between a count and what it counts: only adjectives."""
_OF = re.compile(
    r"\s*\)?\s*(?:wide|of|for|worth of|in)?\s*(?:the|each|its|an?)?\s*(?:[\w/-]+\s+){0,3}\(?", re.IGNORECASE
)
"""Text between a value with a unit and the quantity behind it."""
_IS = re.compile(
    r"""[\s"'`)*]*(?:\([^()]{0,40}\))?[\s"'`)*]*(?:per\s\w+(?:\s\w+)?)?\s*(?:size|count|number|capacity|width|bandwidth|rate|frequency|speed|limit|file|memory)?s?\s*
    (?:(?:is|are|was|of|=|:|has|have|at|to|up|a|an|the|with|total|about|most|maximum|limited|can|be|store|stores|contains?|around|approximately|theoretical|peak|running|fixed|sized|set|ranges?|from|between|\d+\s+to|process(?:es)?|operates?|for|on|of|in|as|each|大小|容量|为|是|：|（|,|-|—|–|\()\s*){0,6}""",
    re.IGNORECASE | re.VERBOSE,
)
"""Text between a quantity and the value behind it."""
_NO_COUNT = re.compile(r"[\s-]?(?:deep|way|stages?|cycles?|times|entry|entries|years?|percent|%)\b", re.IGNORECASE)
"""Text behind a number that counts something other than a known quantity."""
_HAS = re.compile(r"\b(?:has|have|with|contains?|stores?|supports?|can)\b", re.IGNORECASE)
_AT = re.compile(r"(?:@|\bat|\brun|\bup\sto|^\W*)\s*$", re.IGNORECASE)
"""Text before a clock rate whose quantity is not named."""
_ANOTHER_CLAUSE = re.compile(r"[;:]|\.\s")
_ASIDE = re.compile(r"[^()]{0,20}\((?:or|about|i\.e\.|up to|and|,|\s)*")
"""Text between a value and its restatement: `3.2 TB/s (1.6 TB/s per GCD)`."""
_CHOICE = re.compile(r"\s*,?\s*or\s+")
_OR = re.compile(r"\s*(?:,|or|and|/|\s)+\s*")
_LOOSE = 60
_APART = 20
"""Characters added to the distance of a word that often means something else, or that is not adjacent."""


@dataclass(frozen=True, slots=True)
class Pair:
    value: Value
    quantity: Quantity
    loose: bool
    """Whether the word for the quantity often means something else."""

    @property
    def number(self) -> str:
        return self._read[0]

    @property
    def unit(self) -> str:
        return self._read[1]

    @property
    def _read(self) -> tuple[str, str]:
        return self.value.read_as(self.quantity) or (self.value.text, self.value.unit)


def pairs(sentence: str, nameless: str) -> Iterator[Pair]:
    """Yield each value with its quantity, in order.

    Args:
        nameless: The sentence with blanks in place of the names of chips.
    """
    known = quantities()
    found = [v for v in values(sentence) if not _NO_COUNT.match(sentence, v.end)]
    found = [v for v in found if not follows_per(sentence, v)]
    units = [replace(m, start=v.start, end=v.end) for v in found for m in known.names.mentions(v.unit)]
    mentions = [(m, known.by_name[m.means]) for m in (*known.names.mentions(sentence), *units)]
    last: Pair | None = None
    for value in found:
        fitting = [(m, q) for m, q in mentions if value.read_as(q)]
        beside = [(gap, m, q) for m, q in fitting if (gap := _gap(nameless, value, m, q, found)) is not None]
        pair = _nearest(value, [*beside, *_same_clause(sentence, value, fitting, found)])
        if pair is None and last and _goes_on(sentence, last, value):
            pair = Pair(value, last.quantity, last.loose)
        if pair and (pair.quantity.many or not _is_choice(sentence, value, found)):
            yield pair
        last = pair or last


def _is_choice(sentence: str, value: Value, found: Sequence[Value]) -> bool:
    """Whether the value is one of two alternatives: `7 MB or 8 MB`, `7 or 8 MB`."""
    alike = [v for v in found if v.counts is None or same_kind(v, value)]
    joints = [sentence[min(value.end, v.end) : max(value.start, v.start)] for v in alike]
    return any(_CHOICE.fullmatch(joint) for joint in joints)


def _nearest(value: Value, beside: Sequence[tuple[int, Mention, Quantity]]) -> Pair | None:
    """Return the nearest quantity as a pair; None if two are equally near."""
    ranked = sorted((gap + _LOOSE * m.loose, q.name, m.loose, q) for gap, m, q in beside)
    if not ranked or any(gap == ranked[0][0] and name != ranked[0][1] for gap, name, _, _ in ranked):
        return None
    return Pair(value, ranked[0][3], ranked[0][2])


def _same_clause(
    sentence: str, value: Value, fitting: Sequence[tuple[Mention, Quantity]], found: Sequence[Value]
) -> list[tuple[int, Mention, Quantity]]:
    """Return the words in the value's clause that have no nearer number of their kind; none for a bare number."""
    if not value.unit:
        return []
    near = []
    for mention, quantity in fitting:
        if quantity.unit == "bit":  # a width in bits may belong to many things
            continue
        gap = _between(value, mention)
        rivals = [_between(other, mention) for other in found if other is not value and other.read_as(quantity)]
        clause = sentence[min(mention.start, value.start) : max(mention.end, value.end)]
        if gap < min(rivals, default=gap + 1) and not _ANOTHER_CLAUSE.search(clause):
            near.append((gap + _APART, mention, quantity))
    return near


def _between(value: Value, mention: Mention) -> int:
    return max(mention.start - value.end, value.start - mention.end, 0)


def _gap(sentence: str, value: Value, mention: Mention, quantity: Quantity, found: Sequence[Value]) -> int | None:
    """Count the characters between value and word; None if they are not adjacent."""
    if value.start <= mention.start < value.end:  # the unit names the quantity
        return 0 if quantity.unit == "FLOP/s" or _AT.search(sentence[: value.start]) else None
    before = mention.end <= value.start
    low, high = (mention.end, value.start) if before else (value.end, mention.start)
    counted = not value.unit and not value.is_shape
    rivals = any(low <= v.start < high and v.read_as(quantity) for v in found)
    between = sentence[low:high]
    if low > high or rivals or (before and counted and _HAS.search(between)):
        return None
    if counted and mention.loose and (before or not sentence[: mention.end].endswith("s")):
        return None  # `lane 25` is an index
    rule = _IS if before else _BESIDE if counted else _OF
    return len(between) + before if rule.fullmatch(between) else None


def _goes_on(sentence: str, last: Pair, value: Value) -> bool:
    """Whether a value is of the same quantity as the last: in brackets, or listed where several values can be true."""
    if not value.unit or not value.read_as(last.quantity):
        return False
    between = sentence[last.value.end : value.start]
    return bool(_ASIDE.fullmatch(between) or (last.quantity.many and _OR.fullmatch(between)))

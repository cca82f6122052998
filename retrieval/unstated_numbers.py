"""Detect a question for a number that no found passage states: the documents may have no answer.

A passage states it if it has a number in the unit that the question names, and the question's words. Most documents
have both somewhere, but together only where they answer.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import log

from kb.catalog import Catalog
from kb.catalog.words import query_words
from kb.types.passages import Hit

DEEP = 50
"""Number of hits examined."""

SUPPORT = 0.42
"""Least support of a question that the documents answer. Of 36 questions for a number in a unit, the 15 answerable ones
had .57 or more, with phrasings .49 or more; of the 21 unanswerable ones 17 had .37 or less."""

RAREST = 1e-4
"""Share of passages that counts for words that no passage has."""

_UNITS = {
    "rate": r"[KMGTP]?i?(?:B|b|[Bb]ytes?|[Bb]its?)(?: ?/ ?s(?:ec(?:ond)?)?|ps| per second)",
    "operations": r"[KMGTP]?(?:FLOPS?|FLOP/s|FLOPs|OPS|MACs?|MACC)(?:/s)?",
    "frequency": r"[kKMGT]?Hz",
    "power": r"[mk]?[Ww]atts?|[mk]?W",
    "time": r"[mnuµ]s(?:ecs?)?|(?:milli|micro|nano)?seconds?",
    "cycles": r"(?:clock )?cycles?|clocks?",
    "area": r"mm2|mm²|k?GE|gate equivalents?",
    "temperature": r"°C|degrees",
    "bytes": r"(?:[KMGTP]i?|kilo|mega|giga)?(?:B|[Bb](?:yte|it)s?)|[KMG]b",
}
"""Spellings of the units of each kind of number, with any prefix."""
_ASKED = re.compile(
    "|".join(
        rf"(?P<{kind}>\b(?i:in|how many|number of) (?:\w+ )??(?:{unit})(?![\w/-])"
        rf"|(?<![\w/-])(?<!\d )(?=\w+[A-Z])(?:{unit})(?![\w/-]))"
        for kind, unit in _UNITS.items()
    )
)
"""A unit behind `in` or `how many`, or with a capital as units have, not behind a number."""
_NUMBER = r"(?:\d[\d.,]*|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|sixteen|thirty-two|sixty-four)\b)"
_SAYS_LITTLE = frozenset(
    ("many", "much", "number", "count", "size", "large", "per", "each", "take", "takes", "need", "needs")
)
"""Words of a question for a number that passages need not have."""


@dataclass(frozen=True, slots=True)
class AskedNumber:
    unit: str
    """As the question writes it."""
    stated: re.Pattern[str]
    """Matches in a passage that has a number of this kind."""


def asked_number(question: str) -> AskedNumber | None:
    """The kind of number that `question` asks for; None if it names no unit."""
    match = _ASKED.search(question)
    if match is None:
        return None
    unit = _UNITS[str(match.lastgroup)]
    stated = rf"{_NUMBER}(?:[\s-]|\w+ (?=c))*(?:{unit})(?![A-Za-z])|[(\[](?:in )?(?:{unit})[)\]]|^\|.*\b(?:{unit})\b"
    return AskedNumber(match.group().rpartition(" ")[2], re.compile(stated, re.MULTILINE))


def support(
    catalog: Catalog, question: str, asked: AskedNumber, hits: Sequence[Hit], targets: Collection[str]
) -> float:
    """How well one of `hits` that states such a number has the question's words: 0 to 1, the share of their weight.

    A word weighs the more the fewer passages of `targets` have it, as in BM25; most if none has.
    """
    words = [word for word in query_words(question) if word not in _SAYS_LITTLE and word not in asked.unit.lower()]
    weights = {
        word: log(1 + 1 / max(share, RAREST)) for word, share in catalog.shares_with(words, targets=targets).items()
    }
    stating = [hit.passage.shown.lower() for hit in hits if asked.stated.search(hit.passage.shown)]
    shares = (sum(weight for word, weight in weights.items() if _has(text, word)) for text in stating)
    return max(shares, default=0.0) / sum(weights.values(), start=1e-9)


def _has(text: str, word: str) -> bool:
    """Whether the text has the word, perhaps with another ending, or an identifier with other separators."""
    return word[: max(4, len(word) - 3)] in text or word in re.sub(r"[^a-z0-9]", "", text)

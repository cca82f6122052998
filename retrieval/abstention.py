"""Tell that the documents in scope have no answer: no passage supports the question.

Three kinds of questions are doubtful: those of which no document has a word or another name; those with an identifier
or an acronym that no document has; and those for a number in a unit. The first kind is refused, the others if no
passage has enough of the question. Neither sign of these suffices alone: of 390 phrasings that a model wrote for
answerable questions 37 have a name that no document has, which was often the model's own. A plain word that no document
has is no sign, because a question has other words than its answer.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from math import log

from kb.catalog import Catalog
from kb.catalog.words import IDENTIFIER, is_identifier, query_words
from kb.facts.quantities import quantities
from kb.types.passages import Hit

# All words

_ANY = """about all anything describe explain find give help know list look many much need number please show something
tell there thing things want work working works"""
_ASKING = frozenset(_ANY.split())
"""Words of any question, which say nothing about hardware."""
_UNSPACED = re.compile(r"(?=([\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2}))")
"""Two letters of a script that runs words together: those of a question may be part of a longer word."""


def unknown_words(catalog: Catalog, question: str, *, targets: Collection[str]) -> list[str]:
    """All words of `question`, if no document of `targets` has any of them or of the other names for what it names.

    Args:
        question: Without the names of targets.
    """
    words = [word for word in query_words(question) if word not in _ASKING]
    named = {mention.means for mention in quantities().names.mentions(question)}
    aliases = [alias for name in named for alias in quantities().by_name[name].names]
    if not words or catalog.texts_with([*words, *aliases], targets=targets, limit=1):
        return []
    pieces = {piece for word in words for piece in _UNSPACED.findall(word) or [word]}
    return [] if any(catalog.holds(piece, targets=targets, whole=False) for piece in pieces) else words


# Names

LOOKED_INTO = 20
"""Number of passages in which a word is sought before all documents are read."""

_UNIT = re.compile(r"\d*[KMGTP]?i?(?:B|b|bits?|bytes?|Hz|FLOPS?|OPS?)(?:ps)?|[num]s|W", re.IGNORECASE)
_COUNTED = re.compile(r"\d+(?:x\d+)+|\d+-?[A-Za-z]+", re.IGNORECASE)
"""Shapes (`128x256`) and counts (`32-bit`, `2D`) are values, not names."""


def unknown_names(catalog: Catalog, question: str, *, targets: Collection[str]) -> list[str]:
    """Identifiers and acronyms of `question`, in order, that occur in no document of `targets`."""
    return [name for name in _names(question) if not _is_known(catalog, name, targets)]


def _names(question: str) -> list[str]:
    found = [match.group() for match in IDENTIFIER.finditer(question)]
    # Plain words are split at hyphens (`half-height`); next to a digit a hyphen is part of the name (`MI-300X`).
    words = [word for one in found for word in ([one] if re.search(r"[_.:\d]", one) else one.split("-"))]
    names = filter(is_identifier, dict.fromkeys(words))
    return [name for name in names if not (_UNIT.fullmatch(name) or _COUNTED.fullmatch(name))]


def _is_known(catalog: Catalog, name: str, targets: Collection[str]) -> bool:
    """Whether the documents have `name`, as written or joined into one word.

    An identifier may also be the beginning of a longer word, and a dotted one may occur without its prefix.
    """
    parts = re.findall(r"[A-Za-z0-9]+", name)
    stemmed = catalog.texts_with([" ".join(parts), "".join(parts)], targets=targets, limit=LOOKED_INTO)
    if name.isalpha():
        # The lexical index holds stems: it would take LDS for the instruction `ld`.
        acronym = name[:-1] if name.endswith("s") and name[:-1].isupper() else name
        word = re.compile(rf"(?<![A-Za-z0-9]){acronym}(?![A-Za-z0-9])", re.IGNORECASE)
        return any(map(word.search, stemmed)) or (bool(stemmed) and catalog.holds(acronym, targets=targets, whole=True))
    if stemmed or catalog.holds(name, targets=targets, whole=False):
        return True
    _, _, last = name.rpartition(".")
    return last != name and is_identifier(last) and _is_known(catalog, last, targets)


# Support

SUPPORT = 1.1
"""Least support of a doubtful question that is answered."""
UNCOMPARED = 0.5
"""The cosine that counts for a passage whose vector was not compared."""

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


def asked_number(question: str) -> tuple[str, re.Pattern[str]] | None:
    """The unit that `question` asks for, as it is written, and what matches in a passage with a number of its kind."""
    match = _ASKED.search(question)
    if match is None:
        return None
    unit = _UNITS[str(match.lastgroup)]
    stated = rf"{_NUMBER}(?:[\s-]|\w+ (?=c))*(?:{unit})(?![A-Za-z])|[(\[](?:in )?(?:{unit})[)\]]|^\|.*\b(?:{unit})\b"
    return match.group().rpartition(" ")[2], re.compile(stated, re.MULTILINE)


def is_supported(
    catalog: Catalog,
    phrasings: Sequence[str],
    hits: Sequence[Hit],
    stated: re.Pattern[str] | None,
    *,
    targets: Collection[str],
) -> bool:
    """Whether a passage has enough of a question: the share of its words, by weight, and the cosine add up to SUPPORT.

    Args:
        phrasings: Without the names of targets.
        stated: What the passage must match; None: nothing.
    """
    stating = [hit for hit in hits if stated is None or stated.search(hit.passage.shown)]
    weights = [_weights(catalog, phrasing, targets) for phrasing in phrasings]
    return any(_support(hit, own) >= SUPPORT for own in weights for hit in stating)


def _weights(catalog: Catalog, phrasing: str, targets: Collection[str]) -> dict[str, float]:
    """A word weighs the more the fewer passages of `targets` have it, as in BM25; most if none has."""
    telling = [word for word in query_words(phrasing) if word not in _SAYS_LITTLE]
    shares = catalog.shares_with(telling, targets=targets)
    return {word: log(1 + 1 / max(share, RAREST)) for word, share in shares.items()}


def _support(hit: Hit, weights: Mapping[str, float]) -> float:
    text = f"{hit.passage.citation.path}\n{hit.passage.trail}\n{hit.passage.shown}".lower()
    share = sum(weight for word, weight in weights.items() if _has(text, word)) / sum(weights.values(), start=1e-9)
    return share + (UNCOMPARED if hit.why.dense is None else hit.why.dense)


def _has(text: str, word: str) -> bool:
    """Whether the text has the word, perhaps with another ending, or an identifier with other separators."""
    return word[: max(4, len(word) - 3)] in text or word in re.sub(r"[^a-z0-9]", "", text)

"""Tell from the words of a question that the documents in scope have no answer.

Scores separate answerable from unanswerable questions badly (AUC .65 to .77 on 208 questions). Vocabulary does better.
Four signs count:

1. An identifier, acronym or proper name that no document has; none of the 195 answerable questions names one.
2. A plain word that says what the question is about and that no document has. Most words that the documents lack are
   no sign, because a question has other words than its answer: verbs, comparisons, other spellings. Two kinds are: the
   noun behind an article in a question for a number (`how many threads does a warp have`), and two terms side by side
   (`junction temperature`, `half-precision floating-point`).
3. No word at all that a document has, and no other name of a quantity that the question names.
4. A number in a unit that no found passage states together with the question's words. Most documents have both
   somewhere, but together only where they answer.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import log

from kb.catalog import Catalog
from kb.catalog.words import IDENTIFIER, STOP_WORDS, is_identifier, query_words
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
_PROPER = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,}\b(?! [A-Z])")
"""A capitalised word in the middle of a sentence; next to another one it may be part of a title."""
_COUNTED = re.compile(r"\d+(?:x\d+)+|\d+-?[A-Za-z]+", re.IGNORECASE)
"""Shapes (`128x256`) and counts (`32-bit`, `2D`) are values, not names."""


def unknown_names(catalog: Catalog, question: str, *, targets: Collection[str]) -> list[str]:
    """Identifiers, acronyms and proper names of `question`, in order, that occur in no document of `targets`."""
    return [name for name in _names(question) if not _is_known(catalog, name, targets)]


def _names(question: str) -> list[str]:
    words = [word for match in IDENTIFIER.finditer(question) for word in _unhyphenated(match.group())]
    proper = set(_PROPER.findall(question))
    names = (w for w in dict.fromkeys(words) if is_identifier(w) or w in proper)
    return [name for name in names if not (_UNIT.fullmatch(name) or _COUNTED.fullmatch(name))]


def _unhyphenated(word: str) -> list[str]:
    """Split plain words at hyphens (`half-height`); next to a digit a hyphen is part of the name (`MI-300X`)."""
    return [word] if re.search(r"[_.:\d]", word) else word.split("-")


def _is_known(catalog: Catalog, name: str, targets: Collection[str]) -> bool:
    """Whether the documents have `name`, as written or joined into one word.

    An identifier may also be the beginning of a longer word, and a dotted one may occur without its prefix.
    """
    parts = re.findall(r"[A-Za-z0-9]+", name)
    stemmed = catalog.texts_with([" ".join(parts), "".join(parts)], targets=targets, limit=LOOKED_INTO)
    if name.isalpha():
        # The lexical index holds stems: it would take LDS for the instruction `ld`.
        acronym = _singular(name)
        word = re.compile(rf"(?<![A-Za-z0-9]){acronym}(?![A-Za-z0-9])", re.IGNORECASE)
        return any(map(word.search, stemmed)) or (bool(stemmed) and catalog.holds(acronym, targets=targets, whole=True))
    if stemmed or catalog.holds(name, targets=targets, whole=False):
        return True
    _, _, last = name.rpartition(".")
    return last != name and is_identifier(last) and _is_known(catalog, last, targets)


def _singular(acronym: str) -> str:
    return acronym[:-1] if acronym.endswith("s") and acronym[:-1].isupper() else acronym


# Terms

_ASKS_NUMBER = re.compile(
    r"\b(?:how (?:many|much|large|big|wide|deep|long|fast|often|high)|number|count|size|capacity|bandwidth|latency|"
    r"throughput|rate|width|depth|cost|peak|maximum|minimum|cycles?|bytes?)\b",
    re.IGNORECASE,
)
"""Words that ask for a number."""
_ADVICE = re.compile(r"\b(?:why|how (?:to|do|does|can|should)|can|should|may)\b", re.IGNORECASE)
"""Words that ask for a reason or advice, which the documents may give in other terms."""
_ARTICLES = frozenset(("a", "an", "one", "each", "every", "per"))
_VERBS = frozenset(("have", "has", "had", "hold", "holds", "contain", "contains", "take", "takes", "need", "needs"))
"""Verbs that end a noun phrase; the stop words have the others."""
_OWN = frozenset(
    ("kernel", "program", "code", "function", "application", "user", "chip", "device", "machine", "system")
)
"""What a person who asks calls things that a manual may call otherwise."""
_TERM = re.compile(r"[A-Za-z]{3,}(?:-[A-Za-z]+)*")
_NO_TERM = re.compile(r"\w+(?:er|est|ly|ing|ed)", re.IGNORECASE)
"""Words that are verbs, adverbs or comparatives by their endings, and so name no thing."""
_WORD = re.compile(r"[\w./+-]*\w|[^\w\s]")


def unknown_terms(catalog: Catalog, question: str, *, targets: Collection[str]) -> list[str]:
    """The terms of `question` that occur in no document of `targets`."""
    words = _WORD.findall(question)
    nouns = dict.fromkeys(_nouns(words)) if _ASKS_NUMBER.search(question) else {}
    if unknown := [noun for noun in nouns if not catalog.has_word(noun, targets=targets)]:
        return unknown
    if _ADVICE.search(question):
        return []
    pairs = [pair for pair in pairwise(words) if all(_is_term(word) for word in pair)]
    return [f"{a} {b}" for a, b in pairs if not any(catalog.has_phrase(word, targets=targets) for word in (a, b))]


def _nouns(words: list[str]) -> Iterator[str]:
    """The last word of each noun phrase behind an article."""
    for start, word in enumerate(words, 1):
        if word.lower() in _ARTICLES:
            phrase = []
            for part in words[start:]:
                if not _TERM.fullmatch(part) or part.lower() in STOP_WORDS | _VERBS | _OWN:
                    break
                phrase.append(part)
            if phrase:
                yield phrase[-1]


def _is_term(word: str) -> bool:
    return bool(_TERM.fullmatch(word)) and not (word.lower() in STOP_WORDS | _VERBS or _NO_TERM.fullmatch(word))


# Numbers

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


def unsupported_unit(
    catalog: Catalog, question: str, words: str, rankings: Iterable[Sequence[Hit]], *, targets: Collection[str]
) -> str | None:
    """The unit in which `question` asks for a number, if it does and no hit supports an answer.

    Args:
        words: The question without the names of targets.
        rankings: Hits, the first ones first; the next are asked for only if these do not suffice.
    """
    if (asked := asked_number(question)) is None:
        return None
    unit, stated = asked
    weights = _weights(catalog, words, unit, targets)
    return None if any(_support(hits, stated, weights) >= SUPPORT for hits in rankings) else unit


def asked_number(question: str) -> tuple[str, re.Pattern[str]] | None:
    """The unit that `question` asks for, as it is written, and what matches in a passage with a number of its kind."""
    match = _ASKED.search(question)
    if match is None:
        return None
    unit = _UNITS[str(match.lastgroup)]
    stated = rf"{_NUMBER}(?:[\s-]|\w+ (?=c))*(?:{unit})(?![A-Za-z])|[(\[](?:in )?(?:{unit})[)\]]|^\|.*\b(?:{unit})\b"
    return match.group().rpartition(" ")[2], re.compile(stated, re.MULTILINE)


def _weights(catalog: Catalog, words: str, unit: str, targets: Collection[str]) -> dict[str, float]:
    """A word weighs the more the fewer passages of `targets` have it, as in BM25; most if none has."""
    telling = [word for word in query_words(words) if word not in _SAYS_LITTLE and word not in unit.lower()]
    shares = catalog.shares_with(telling, targets=targets)
    return {word: log(1 + 1 / max(share, RAREST)) for word, share in shares.items()}


def _support(hits: Sequence[Hit], stated: re.Pattern[str], weights: Mapping[str, float]) -> float:
    """How well a hit that states such a number has the question's words: 0 to 1, the share of their weight."""
    stating = [hit.passage.shown.lower() for hit in hits if stated.search(hit.passage.shown)]
    shares = (sum(weight for word, weight in weights.items() if _has(text, word)) for text in stating)
    return max(shares, default=0.0) / sum(weights.values(), start=1e-9)


def _has(text: str, word: str) -> bool:
    """Whether the text has the word, perhaps with another ending, or an identifier with other separators."""
    return word[: max(4, len(word) - 3)] in text or word in re.sub(r"[^a-z0-9]", "", text)

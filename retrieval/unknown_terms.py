"""Find plain words that say what a question is about and that no document in scope contains.

Most words that the documents lack are no sign of a missing answer, because a question has other words than its answer:
verbs, comparisons, other spellings. Two kinds are: the noun behind an article in a question for a number (`how many
threads does a warp have`), and two terms side by side (`junction temperature`, `half-precision floating-point`).
"""

import re
from collections.abc import Collection, Iterator
from itertools import pairwise

from kb.catalog import Catalog
from kb.catalog.words import STOP_WORDS

_NUMBER = re.compile(
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
    nouns = dict.fromkeys(_nouns(words)) if _NUMBER.search(question) else {}
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

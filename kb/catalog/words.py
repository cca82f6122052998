"""Split text and queries into words for the lexical index. Identifiers are searchable whole and by part.

FTS5 splits `v_mfma_f32_32x32x8_f16` at each underscore. The identifier column therefore also holds the joined form
(`vmfmaf3232x32x8f16`; `MI-300X` and `MI300X` join to the same word) and finer parts (`dwordx4` → `dword`, `x4`).
"""

import re
from collections.abc import Collection

IDENTIFIER = re.compile(r"[A-Za-z0-9]+(?:[_.:\-][A-Za-z0-9]+)*")
"""A plain word, or an identifier with all its parts."""
_LETTER = re.compile(r"[A-Za-z]")
_JOINT = re.compile(r"\d|_|[.:\-][A-Za-z0-9]|[a-z][A-Z]|[A-Z]{2}")
_HUMP = re.compile(r"\d+(?:x\d+)+|x\d+|[A-Z]+(?![a-z])|[A-Z]?[a-z]+?(?=x\d)|[A-Z]?[a-z]+|\d+")

_STOP = """a an and any are as at be been but by can could do does doing for from get had has have how i if in into
is it its me more my no not of on one or our should so than that the their them then there these they this to up use
used using was we what when where which while who why will with would you your"""
STOP_WORDS = frozenset(_STOP.split())
"""Words that say nothing about hardware; they are removed from a query."""


def identifier_words(text: str) -> str:
    """Words for the identifier column: the joined form and the parts of each identifier in `text`, each once."""
    words: dict[str, None] = {}
    for name in filter(is_identifier, dict.fromkeys(IDENTIFIER.findall(text))):
        words.update(dict.fromkeys(split_identifier(name)))
    return " ".join(words)


def is_identifier(word: str) -> bool:
    """Whether `word` has letters and also a digit, a separator between its parts, or inner capitals."""
    return bool(_JOINT.search(word) and _LETTER.search(word))


def split_identifier(name: str) -> list[str]:
    """The joined form, then the parts: split at separators, case changes and letter-digit borders, except `32x32x8`."""
    joined = re.sub(r"[^A-Za-z0-9]", "", name).lower()
    pieces = [piece for piece in re.split(r"[^A-Za-z0-9]+", name) if piece]
    humps = [hump for piece in pieces for hump in _HUMP.findall(piece)]
    return list(dict.fromkeys(w.lower() for w in (joined, *pieces, *humps) if len(w) > 1))


def query_words(query: str) -> list[str]:
    """Words to search for, in order, each once: plain words without stop words, identifiers whole and by part."""
    words: dict[str, None] = {}
    for match in IDENTIFIER.finditer(query):
        name = match.group()
        if is_identifier(name):
            words.update(dict.fromkeys(split_identifier(name)))
        else:
            words.update(dict.fromkeys(w for w in re.split(r"[_.:\-]", name.lower()) if w not in STOP_WORDS))
    # Other scripts may have no spaces and have no such identifiers; FTS5 splits them itself.
    words.update(dict.fromkeys(w.lower() for w in re.findall(r"[^\W\d_]+", query) if not w.isascii()))
    return list(words)


def match_expression(words: list[str]) -> str:
    """FTS5 expression that matches any of `words`; each is quoted so that none can act as an operator."""
    return " OR ".join('"' + word.replace('"', '""') + '"' for word in words)


def within(targets: Collection[str] | None, match: str) -> str:
    """The FTS5 expression `match`, limited to `targets`; None: not limited."""
    if targets is None:
        return match
    return f"target : ({scope_words(targets)}) AND ({match})"


def scope_words(targets: Collection[str]) -> str:
    """The FTS5 expression for the words of `targets` in the column `target`."""
    return " OR ".join(sorted(map(target_word, targets)) or [target_word("")])  # no target has the last word


def target_word(name: str) -> str:
    """A target's name as one word of the lexical index; the final digit prevents stemming."""
    return re.sub(r"[^a-z0-9]", "", name) + "0"

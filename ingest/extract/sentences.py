"""Facts from sentences and list entries: a number beside the name of its quantity."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

from ingest.extract.cells import Around, FoundFact, cell_facts
from ingest.extract.labels import Label, conditions, share
from ingest.extract.pairing import pairs
from ingest.extract.subjects import UNKNOWN, Named, Subjects
from ingest.extract.values import Value, same_kind, values

_END = re.compile(r"(?<=[.!?;])\s+(?=[A-Z(*`\"])|\n\s*\n")
_ENTRY = re.compile(
    r"\s*(?:[-*•+]|\d+[.)])?\s*(?P<label>[^:=.;]{2,60}?)\s*[:=]\s*(?P<rest>[^.;]{1,40}|[^;]*\d\.\d[^.;]{0,30})\.?\s*",
    re.DOTALL,
)
"""`Registers per thread: 255` is read like the label of a table and its cell."""
_THOUGHT = re.compile(
    r"""\b(?:suppose|assum\w+|would|let(?:'s|’s)|imagine|measured|achiev\w+|observ\w+|benchmark\w*|
    consum\w+|tun\w+|spill\w*|matrix\s+of|batch|tile\s+of|speedup|experiment\w*|th(?:is|e)\s+kernel)\b""",
    re.IGNORECASE | re.VERBOSE,
)
"""Words of sentences about a program, a measurement or an assumption, not about the hardware."""
_VAGUE = re.compile(
    r"""\b(?:e\.g|example|i\.e|say|if|could|should|we|our|you|your|not|never|less\s+than|more\s+than|fewer|rounds?|
    half(?!.precision)|requir\w+(?!.{0,60}align)|utiliz\w+|allocat\w+|reserv\w+|configur\w+|instead|previous\w*|
    earlier|sav\w+|overhead|problem|only\s+need\w*|traffic|transfer\w*|roughly|faster|slower)\b""",
    re.IGNORECASE | re.VERBOSE,
)
"""Words of sentences that may be about these if they name no chip."""
_COMPARED = re.compile(
    r"\b(?:than|unlike|versus|vs\.?|compared\s+(?:to|with)|instead\s+of)\s+(?:\w+\s+){0,4}$",
    re.IGNORECASE,
)
"""Text before the name of a chip that a sentence only compares with."""
_REACH = 60
"""Number of characters before a name that are searched for such a comparison."""
_ASIDE = re.compile(r"[\s*]*\(([^()]{2,40})\)")
_ENUMERATED = re.compile(r"[\s,/&]*(?:(?:and|or)\s+)?(?:the\s+)?", re.IGNORECASE)
MAX_SENTENCE = 600
"""Longest sentence, in characters; longer text is not read."""


def sentence_facts(text: str, *, around: Around, subjects: Subjects) -> Iterator[FoundFact]:
    """Yield the facts of a paragraph or list entry without markup; spans are in `text`."""
    for start, end in _sentences(text):
        sentence = text[start:end]
        for found in stated(sentence, around=around, subjects=subjects):
            yield replace(found, start=start, end=end)
        if names := subjects.most_specific(n.target for n in _named(sentence, around, subjects) if not n.compared):
            around = replace(around, targets=names, named=True)


def spec_lines(text: str, *, around: Around, subjects: Subjects) -> Iterator[FoundFact]:
    """Yield the facts of lines such as `Maximum warps per SM: 64` in a block of code; spans are in `text`."""
    start = 0
    for line in text.splitlines(keepends=True):
        entry = _ENTRY.fullmatch(line)
        if entry and ":" in line and any(sure for _, sure, _ in Label(entry["label"]).meanings()):
            for found in _labelled(entry, subjects.all_of(line), around, subjects):
                yield replace(found, start=start, end=start + len(line.rstrip()))
        start += len(line)


def stated(sentence: str, *, around: Around, subjects: Subjects) -> Iterator[FoundFact]:
    """Yield the facts of one sentence; their span is the whole sentence."""
    named = _named(sentence, around, subjects)
    if len(sentence) > MAX_SENTENCE or _THOUGHT.search(sentence) or (not named and _VAGUE.search(sentence)):
        return
    if entry := _ENTRY.fullmatch(sentence):
        names = subjects.most_specific(n.target for n in named if not n.compared)
        if labelled := list(_labelled(entry, names, around, subjects)):
            yield from labelled
            return
    for pair in pairs(sentence, subjects.without_names(sentence)):
        quantity, texts = pair.quantity, (*_clauses(sentence, pair.value), *around.texts)
        owners = _owners(sentence, named, pair.value) or around.targets
        if UNKNOWN in owners or (pair.loose and not quantity.per and "per" in quantity.needs and not share(texts)):
            continue
        for own, target in product(conditions(quantity, texts), owners):
            yield FoundFact(target, quantity.name, pair.number, pair.unit, tuple(own), 0, len(sentence))


def _labelled(entry: re.Match[str], names: tuple[str, ...], around: Around, subjects: Subjects) -> Iterator[FoundFact]:
    """Yield the facts of `label: value`; their span is the whole entry."""
    owners = names or around.targets
    if UNKNOWN not in owners:
        whole = (0, len(entry.string))
        yield from cell_facts(entry["rest"], whole, [entry["label"]], replace(around, targets=owners), subjects)


def _named(sentence: str, around: Around, subjects: Subjects) -> list[Named]:
    """Return the targets that a sentence names, without families of a chip named above; mark those only compared."""
    wider = subjects.families_of(around.targets) if around.named else frozenset()
    return [
        replace(n, compared=bool(_COMPARED.search(sentence[max(n.start - _REACH, 0) : n.start])))
        for n in subjects.named(sentence)
        if n.target not in wider
    ]


def _owners(sentence: str, named: Sequence[Named], value: Value) -> tuple[str, ...]:
    """Return the nearest name and those listed with it; empty if the sentence names none.

    Numbers behind a name that is only compared belong to that chip and are not read.
    """
    named = [n for n in named if not n.compared or n.end <= value.start]
    if not named:
        return ()
    at = min(range(len(named)), key=lambda i: _distance(named[i].start, named[i].end, value))
    if named[at].compared:
        return (UNKNOWN,)
    first = last = at
    while first and _enumerated(sentence, named[first - 1], named[first]):
        first -= 1
    while last + 1 < len(named) and _enumerated(sentence, named[last], named[last + 1]):
        last += 1
    return tuple(dict.fromkeys(n.target for n in named[first : last + 1]))


def _enumerated(sentence: str, one: Named, next_one: Named) -> bool:
    return not one.compared and bool(_ENUMERATED.fullmatch(sentence[one.end : next_one.start]))


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for end in _END.finditer(text):
        yield start, end.start()
        start = end.end()
    yield start, len(text)


def _clauses(sentence: str, value: Value) -> tuple[str, ...]:
    """Return the text in brackets behind a value, around it between commas, before it, and behind it.

    Text beside an earlier value of the same kind is left out: it belongs to that value.
    """
    start = max(sentence.rfind(mark, 0, value.start) for mark in (",", ";", ":", "(", " and ")) + 1
    end = min((at for mark in (",", ";", "(", " and ") if (at := sentence.find(mark, value.end)) >= 0), default=-1)
    end = len(sentence) if end < 0 else end
    aside = match[1] if (match := _ASIDE.match(sentence, value.end)) and not any(values(match[1])) else ""
    alike = [v for v in values(sentence[: value.start]) if v.unit and same_kind(v, value)]
    before = sentence[: alike[0].start if alike else value.end]
    behind = re.split(r"[;(]", sentence[end:].lstrip(" ,"), maxsplit=1)[0]
    return aside, sentence[start:end], before, "" if any(values(behind)) else behind


def _distance(start: int, end: int, value: Value) -> tuple[int, int]:
    """Return a sort key in which a name before a value is nearer than any name behind it."""
    return (0, value.start - end) if end <= value.start else (1, start - value.end)

"""Choose the parts of a passage that answer a question: whole sentences, table rows and lines of code."""

import re
from collections import Counter, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, log, sqrt

from kb.types.passages import Hit, Passage, SearchResult
from retrieval.boilerplate import without_notices
from retrieval.listings import begins_inside
from retrieval.terms import asked_terms, terms

SEARCH_CHARACTERS = 1200
"""What is shown of all hits of a search, to choose from."""
PAGE_CHARACTERS = 400
"""The lines on the first page of an answer; each further page has twice as many. benchmarks/README.md says how this and
the next two were chosen."""
TELLING = 3.0
"""Logarithm of the odds that the part of a passage with most words of the question answers, and not one with none."""
CITATION_CHARACTERS = 30
"""What a part costs beside its own characters when parts are weighed by how much room they take."""
SCORE = 2.5
"""A score in units of the logarithm of odds (retrieval/rerank.py)."""
NEIGHBOURS = 0.3
"""Share of a part's worth that its neighbours get: an answer stands beside the words of its question. A row gets none
from the row below it, which may go on with the cells of this one, but not the other way round."""
IN_HEADINGS = 0.3
"""Share of a term's weight that is left if the headings of the passage or its tables have it."""
LEFT_OUT = "[...]"

FACT = ("quantity", "value", "unit", "condition")
"""Header of kb's fact tables, without the source, which stands behind the citation."""

SENTENCE = re.compile(
    r".+?(?:[.!?](?<!\be\.g\.)(?<!\bi\.e\.)(?<!\b(?:ex|vs|cf|Eq|No)\.)(?<!\b(?:etc|Fig|Sec|Tab|Ref)\.)(?<!\bapprox\.)"
    r"[\"')\]`*]*\s+(?=[\"'(\[`*]*[A-Z0-9])|$)"
)
"""A sentence ends at a stop before a capital or a number, but not at an abbreviation."""
ITEM = re.compile(r"\s*(?:[-*+•]|\d+[.)])\s")
RULE = re.compile(r"\|(?:\s*:?-+:?\s*\|)+")

Place = tuple[int, int]
"""Rank of a hit and number of one of its parts, counted from 0."""


@dataclass(frozen=True, slots=True)
class Part:
    """What is shown whole or not at all."""

    kind: str
    """`sentence`, `row` or `line`."""
    text: str
    block: int
    """Number of its paragraph, table or listing."""
    header: tuple[str, ...] = ()
    """Header of a row's table; of a line of code, the language of its listing."""

    @property
    def cells(self) -> tuple[str, ...]:
        return _cells(self.text)


def with_excerpts(
    result: SearchResult, phrasings: Sequence[str], pages: Sequence[int] = (SEARCH_CHARACTERS,)
) -> SearchResult:
    """The hits with excerpts for a question: those of their parts that are on the last one of `pages`.

    The parts most likely to answer for the room they take come first, whichever hit has them.

    Args:
        pages: Number of characters on each page. The first part of a page is on it however long it is.
    """
    asked = Counter(term for phrasing in phrasings for term in asked_terms(phrasing))
    parts = [parts_of(hit.passage) for hit in result.hits]
    found = [[terms(part.text) & asked.keys() for part in own] for own in parts]
    weights = _weights(asked, [words for own in found for words in own])
    chances = {
        (rank, i): chance * exp(SCORE * (hit.score - result.hits[0].score))
        for rank, hit in enumerate(result.hits)
        for i, chance in enumerate(_chances(hit, parts[rank], found[rank], weights))
    }
    order = sorted(chances, key=lambda place: (-chances[place], place))
    shown = _on_last([(place, len(parts[place[0]][place[1]].text)) for place in order], pages)
    return result.with_hits(
        hit.model_copy(update={"excerpt": tuple(_shown(own, sorted(i for at, i in shown if at == rank), hit))})
        for rank, (hit, own) in enumerate(zip(result.hits, parts, strict=True))
    )


def _chances(
    hit: Hit, parts: Sequence[Part], found: Sequence[Collection[str]], weights: Mapping[str, float]
) -> list[float]:
    """For each part of a passage that answers, the chance that this part does, by the room that it takes."""
    telling = _telling(hit, parts, found)
    worth = [sum(weights[term] * telling[term] for term in words) for words in found]
    stating = {row.shown for row in hit.rows} if hit.why.states else set()
    for i, part in enumerate(parts):
        worth[i] += 1 + max(worth) if part.kind == "row" and with_headers(part) in stating else 0
    own = [0.0, *worth, 0.0]
    worth = [
        at + NEIGHBOURS * (before if part.kind == "row" else max(before, after))
        for part, before, at, after in zip(parts, own, worth, own[2:], strict=False)
    ]
    odds = [exp(TELLING * one / (max(worth) or 1)) for one in worth]
    room = [sqrt(len(part.text) + CITATION_CHARACTERS) for part in parts]
    return [one / sum(odds) / size for one, size in zip(odds, room, strict=True)]


def _on_last(sizes: Sequence[tuple[Place, int]], pages: Sequence[int]) -> list[Place]:
    """What is on the last page if pages are filled in order."""
    shown: list[Place] = []
    waiting = deque(sizes)
    for room in pages:
        shown, left = [], room
        while waiting and (not shown or waiting[0][1] <= left):
            place, size = waiting.popleft()
            shown.append(place)
            left -= size
    return shown


def _weights(asked: Mapping[str, int], parts: Collection[Collection[str]]) -> dict[str, float]:
    """A term weighs more the more phrasings have it and the fewer parts."""
    among = Counter(term for words in parts for term in words)
    return {term: times * log(1 + len(parts) / among[term]) for term, times in asked.items() if among[term]}


def _telling(hit: Hit, parts: Sequence[Part], found: Sequence[Collection[str]]) -> dict[str, float]:
    """How well a term tells the parts of one passage apart: 0 to 1, little if most parts or the headings have it."""
    among = Counter(term for words in found for term in words)
    above = terms(" ".join((hit.passage.trail, *{name for part in parts for name in part.header})))
    return {term: (1 - n / (len(parts) + 1)) * (IN_HEADINGS if term in above else 1) for term, n in among.items()}


def parts_of(passage: Passage) -> list[Part]:
    """The parts of a passage in order. A list item, a paragraph, a table and a listing are a block each."""
    text = without_notices(passage.body) or passage.body
    code = begins_inside(passage.text, passage.kind)
    parts: list[Part] = []
    paragraph: list[str] = []
    header: tuple[str, ...] = ()
    language: tuple[str, ...] = ("",)
    block = 0

    def end_paragraph() -> None:
        if paragraph:
            joined = " ".join([paragraph[0].rstrip(), *(line.strip() for line in paragraph[1:])])
            parts.extend(Part("sentence", sentence.rstrip(), block) for sentence in SENTENCE.findall(joined))
            paragraph.clear()

    lines = text.split("\n")
    for line, following in pairwise([*lines, ""]):
        if line.startswith("```"):
            end_paragraph()
            code, block, language = not code, block + 1, (line.strip("` "),)
        elif code:
            parts.append(Part("line", line, block, language))
        elif line.startswith("|"):
            end_paragraph()
            if RULE.fullmatch(following):
                header, block = _cells(line), block + 1
            elif not RULE.fullmatch(line):
                parts.append(Part("row", line, block, header))
        elif not line.strip() or ITEM.match(line):
            end_paragraph()
            block += 1
            paragraph += [line] if line.strip() else []
        else:
            paragraph.append(line)
    end_paragraph()
    return parts


def with_items_above(parts: Sequence[Part]) -> Iterator[tuple[Part, tuple[Part, ...]]]:
    """Each part with the list items that it stands below, which say what it is about."""
    above: list[Part] = []
    for part in parts:
        item = part.kind == "sentence" and ITEM.match(part.text)
        above = [one for one in above if item and _indent(one) < _indent(part)]
        yield part, tuple(above)
        above += [part] if item else []


def _indent(part: Part) -> int:
    return len(part.text) - len(part.text.lstrip())


def _shown(parts: Sequence[Part], chosen: Sequence[int], hit: Hit) -> Iterator[str]:
    """The lines of an excerpt, with `LEFT_OUT` in the place of what is left out; nothing if no part is chosen."""
    rows = Counter(parts[i].block for i in chosen if parts[i].kind == "row")
    line, after, block = "", 0, -1
    for i in chosen:
        part = parts[i]
        table = rows[part.block] > 1 and part.header
        gap = LEFT_OUT if any(p.text.strip() for p in parts[after:i]) else ""
        if part.kind == "sentence" and part.block == block:
            line = " ".join(filter(None, (line, gap, part.text)))
        else:
            header = " | ".join(part.header) if table and part.block != block else ""
            yield from filter(None, (line, gap, header))
            single = part.kind == "row" and not table
            line = _labelled(part, hit) if single else " | ".join(part.cells) if part.kind == "row" else part.text
        after, block = i + 1, part.block
    left = chosen and any(p.text.strip() for p in parts[after:])
    yield from filter(None, (line, LEFT_OUT if left else ""))


def _labelled(row: Part, hit: Hit) -> str:
    """A single row with its headers, and with its own id if the search found it; a fact as kb writes facts."""
    cells = row.cells
    if len(row.header) != len(cells):
        return " | ".join(cells)
    if row.header[: len(FACT)] == FACT:
        quantity, value, unit, condition = cells[: len(FACT)]
        stated = f"{quantity} = {value}" + (f" {unit}" if unit not in ("1", "shape") else "")
        return ", ".join(filter(None, (stated, condition)))
    shown = with_headers(row)
    ids = [found.citation.id for found in hit.rows if found.shown == shown]
    return f"{shown} (row {ids[0]})" if ids else shown


def with_headers(row: Part) -> str:
    """The cells of a row, each with its header."""
    return "; ".join(
        f"{name} = {cell}" if name else cell for name, cell in zip(row.header, row.cells, strict=False) if cell
    )


def _cells(line: str) -> tuple[str, ...]:
    return tuple(cell.replace("\\|", "|").strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1])

"""Choose the parts of a passage that answer a question: whole sentences, table rows and lines of code."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log

from kb.types.passages import Hit, Passage, SearchResult
from retrieval.boilerplate import without_notices
from retrieval.listings import begins_inside
from retrieval.terms import asked_terms, terms


@dataclass(frozen=True, slots=True)
class Room:
    """How much of each hit is shown, in characters. A passage that is not longer than its room is shown whole."""

    leading: int
    """Number of the first hits, which have the room of `first`."""
    first: int
    other: int
    lead: float
    """Lead of the first hit, in units of the fused score, over a hit that gets no excerpt, unless it is short."""


BRIEF = Room(leading=1, first=1000, other=240, lead=1.2)
"""To choose from: what makes a hit a hit.

On 183 development questions about a target, by words alone, the excerpts of five hits answer .629 of the questions and
have 1,690 characters; with 500 characters for the first, .596 and 1,490. With two more phrasings: .798 and .765.
"""
FOR_PROMPT = Room(leading=3, first=1600, other=600, lead=1.8)
"""To answer from, with ten hits. benchmarks/README.md says how it was chosen."""
SHORT_CHARACTERS = 100
"""A passage up to this length is shown wherever it stands."""
NEIGHBOURS = 0.3
"""Share of a part's worth that its neighbours get: an answer stands beside the words of its question. A row gets none
from the row below it, which may go on with the cells of this one, but not the other way round."""
IN_HEADINGS = 0.3
"""Share of a term's weight that is left if the headings of the passage or its tables have it."""
LEAST = 0.3
"""Least worth of a further part, as a share of the best part's."""

FACT = ("quantity", "value", "unit", "condition")
"""Header of kb's fact tables, without the source, which stands behind the citation."""

SENTENCE = re.compile(
    r".+?(?:[.!?](?<!\be\.g\.)(?<!\bi\.e\.)(?<!\b(?:ex|vs|cf|Eq|No)\.)(?<!\b(?:etc|Fig|Sec|Tab|Ref)\.)(?<!\bapprox\.)"
    r"[\"')\]`*]*\s+(?=[\"'(\[`*]*[A-Z0-9])|$)"
)
"""A sentence ends at a stop before a capital or a number, but not at an abbreviation."""
ITEM = re.compile(r"\s*(?:[-*+•]|\d+[.)])\s")
RULE = re.compile(r"\|(?:\s*:?-+:?\s*\|)+")


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


def with_excerpts(result: SearchResult, phrasings: Sequence[str], room: Room = BRIEF) -> SearchResult:
    """The hits with excerpts for a question, except long passages that are clearly behind the first hit."""
    asked = Counter(term for phrasing in phrasings for term in asked_terms(phrasing))
    parts = [parts_of(hit.passage) for hit in result.hits]
    found = [[terms(part.text) & asked.keys() for part in own] for own in parts]
    weights = _weights(asked, [words for own in found for words in own])
    hits = []
    for rank, hit in enumerate(result.hits):
        near = result.hits[0].score - hit.score < room.lead
        characters = room.first if rank < room.leading else room.other
        short = sum(len(part.text) for part in parts[rank]) <= SHORT_CHARACTERS
        telling = _telling(hit, parts[rank], found[rank])
        worth = [sum(weights[term] * telling[term] for term in words) for words in found[rank]]
        stating = {row.shown for row in hit.rows} if hit.why.states else set()
        for i, part in enumerate(parts[rank]):
            worth[i] += 1 + max(worth) if part.kind == "row" and with_headers(part) in stating else 0
        chosen = _chosen(parts[rank], worth, characters) if near or short else []
        hits.append(hit.model_copy(update={"excerpt": tuple(_shown(parts[rank], chosen, hit)) if chosen else ()}))
    return result.with_hits(hits)


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


def _chosen(parts: Sequence[Part], worths: Sequence[float], room: int) -> list[int]:
    """Indices of the parts to show: all if they fit, or else the best one and the next best that fit."""
    sizes = [len(part.text) for part in parts]
    if sum(sizes) <= room:
        return list(range(len(parts)))
    own = [0.0, *worths, 0.0]
    worth = [
        at + NEIGHBOURS * (before if part.kind == "row" else max(before, after))
        for part, before, at, after in zip(parts, own, worths, own[2:], strict=False)
    ]
    chosen: list[int] = []
    for i in sorted(range(len(parts)), key=lambda i: (-worth[i], i)):
        if not chosen or (sizes[i] <= room and worth[i] >= LEAST * worth[chosen[0]]):
            chosen.append(i)
            room -= sizes[i]
    return sorted(chosen)


def _shown(parts: Sequence[Part], chosen: Sequence[int], hit: Hit) -> Iterator[str]:
    """The lines of an excerpt; what is left out is counted in its place."""
    rows = Counter(parts[i].block for i in chosen if parts[i].kind == "row")
    line, shown, block = "", 0, -1
    for i in chosen:
        part = parts[i]
        table = rows[part.block] > 1 and part.header
        above = _left_out([p for p in parts[shown:i] if p.block != part.block])
        gap = _left_out([p for p in parts[shown:i] if p.block == part.block])
        if part.kind == "sentence" and part.block == block:
            line = " ".join(filter(None, (line, gap, part.text)))
        else:
            header = " | ".join(part.header) if table and part.block != block else ""
            yield from filter(None, (line, above, header, gap))
            single = part.kind == "row" and not table
            line = _labelled(part, hit) if single else " | ".join(part.cells) if part.kind == "row" else part.text
        shown, block = i + 1, part.block
    yield from filter(None, (line, _left_out(parts[shown:])))


def _left_out(parts: Sequence[Part]) -> str:
    counts = Counter(part.kind for part in parts if part.text.strip())
    said = ", ".join(f"{n} {kind}{'s' * (n > 1)}" for kind, n in counts.items())
    return f"[+{said}]" if said else ""


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
    """The cells of a row, each with its header; a cell that spans columns of one name once."""
    cells = zip(row.header, row.cells, strict=False)
    return "; ".join(dict.fromkeys(f"{name} = {cell}" if name else cell for name, cell in cells if cell))


def _cells(line: str) -> tuple[str, ...]:
    return tuple(cell.replace("\\|", "|").strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1])

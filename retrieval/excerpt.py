"""Choose the parts of a passage that answer a question: whole sentences, table rows and lines of code."""

import re
from collections import Counter, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, log

from kb.types.passages import Hit, Passage, SearchResult
from retrieval.boilerplate import without_notices
from retrieval.listings import begins_inside
from retrieval.terms import asked_terms, terms

SEARCH_CHARACTERS = 1200
"""What is shown of all hits of a search, to choose from."""
PAGE_CHARACTERS = 100
"""The lines on the first page of an answer; each further page has twice as many. benchmarks/README.md says how this and
`TELLING` were chosen."""
TELLING = 3.0
"""Logarithm of the odds that the part of a passage with most words of the question answers, and not one with none."""
BESIDE = 30
"""What a part costs beside its own characters."""
SCORE = 2.5
"""A score in units of the logarithm of odds (retrieval/rerank.py)."""
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
        pages: Number of characters on each page, which the last part on it may exceed.
    """
    asked = Counter(term for phrasing in phrasings for term in asked_terms(phrasing))
    parts = [parts_of(hit.passage) for hit in result.hits]
    found = [[terms(part.text) & asked.keys() for part in own] for own in parts]
    weights = _weights(asked, [words for own in found for words in own])
    worth = [[sum(weights[term] for term in words) for words in own] for own in found]
    sizes = [[len(_alone(part, hit)) for part in own] for hit, own in zip(result.hits, parts, strict=True)]
    chances = {
        (rank, i): chance * exp(SCORE * (hit.score - result.hits[0].score)) / (sizes[rank][i] + BESIDE)
        for rank, hit in enumerate(result.hits)
        for i, chance in enumerate(_chances(hit, parts[rank], worth[rank]))
    }
    waiting = deque(sorted(chances, key=lambda place: (-chances[place], place)))
    shown: list[tuple[int, int]] = []
    for room in pages:
        shown, left = [], room
        while waiting and left > 0:
            rank, i = waiting.popleft()
            shown.append((rank, i))
            left -= sizes[rank][i]
    return result.with_hits(
        hit.model_copy(update={"excerpt": tuple(_shown(own, sorted(i for at, i in shown if at == rank), hit))})
        for rank, (hit, own) in enumerate(zip(result.hits, parts, strict=True))
    )


def _chances(hit: Hit, parts: Sequence[Part], worth: Sequence[float]) -> list[float]:
    """For each part of a passage that answers, the chance that this part does."""
    stating = {row.shown for row in hit.rows} if hit.why.states else set()
    stated = [part.kind == "row" and with_headers(part) in stating for part in parts]
    most = max(worth, default=0) or 1
    odds = [exp(TELLING * (own / most + states)) for own, states in zip(worth, stated, strict=True)]
    return [one / sum(odds) for one in odds]


def _weights(asked: Mapping[str, int], parts: Collection[Collection[str]]) -> dict[str, float]:
    """A term weighs more the more phrasings have it and the fewer parts."""
    among = Counter(term for words in parts for term in words)
    return {term: times * log(1 + len(parts) / among[term]) for term, times in asked.items() if among[term]}


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

    for line, following in pairwise([*text.split("\n"), ""]):
        if line.startswith("```"):
            end_paragraph()
            code, block, language = not code, block + 1, (line.strip("` "),)
        elif code:
            said = re.search(r"\w|^\s*$", line) or not parts or parts[-1].block != block  # `}` alone says nothing
            parts.append(Part("line", line if said else f"{parts.pop().text}\n{line}", block, language))
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
    """The lines of an excerpt, with `LEFT_OUT` for what is left out between two of them; none if no part is chosen."""
    rows = Counter(parts[i].block for i in chosen if parts[i].kind == "row")
    line, after, block = "", 0, -1
    for i in chosen:
        part = parts[i]
        table = rows[part.block] > 1 and part.header
        gap = LEFT_OUT if after and any(p.text.strip() for p in parts[after:i]) else ""
        if part.kind == "sentence" and part.block == block:
            line = " ".join(filter(None, (line, gap, part.text)))
        else:
            header = " | ".join(part.header) if table and part.block != block else ""
            yield from filter(None, (line, gap, header))
            line = " | ".join(part.cells) if part.kind == "row" and table else _alone(part, hit)
        after, block = i + 1, part.block
    yield from filter(None, (line,))


def _alone(part: Part, hit: Hit) -> str:
    """A part beside which no row of its table stands: a row has its headers, and its own id if the search found it."""
    cells = part.cells if part.kind == "row" else ()
    if len(part.header) != len(cells) or not cells:
        return " | ".join(cells) or part.text
    if part.header[: len(FACT)] == FACT:
        quantity, value, unit, condition = cells[: len(FACT)]
        stated = f"{quantity} = {value}" + (f" {unit}" if unit not in ("1", "shape") else "")
        return ", ".join(filter(None, (stated, condition)))
    shown = with_headers(part)
    ids = [row.citation.id for row in hit.rows if row.shown == shown]
    return f"{shown} (row {ids[0]})" if ids else shown


def with_headers(row: Part) -> str:
    """The cells of a row, each with its header; a cell that spans columns of one name once."""
    cells = [cell for cell in zip(row.header, row.cells, strict=False) if cell[1]]
    apart = [cell for cell, before in zip(cells, [None, *cells], strict=False) if cell != before or not cell[0]]
    return "; ".join(f"{name} = {cell}" if name else cell for name, cell in apart)


def _cells(line: str) -> tuple[str, ...]:
    return tuple(cell.replace("\\|", "|").strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1])

"""Leaves out what a passage says about siblings of the target: sentences, list items, rows, cells and columns."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from kb.siblings import ONLY_NAMES, Mention, Siblings
from kb.types.passages import Hit, Passage
from retrieval.excerpt import ITEM, RULE, SENTENCE, parts_of, with_headers
from retrieval.listings import begins_inside

Owners = frozenset[str]
"""The siblings that a part is about; empty: the target."""
Span = tuple[int, int, Owners]
"""Start and end of a part of a text, and whose it is."""

TARGETS: Owners = frozenset()

_CELL = re.compile(r"((?:[^|\\]|\\.)*)\|")
_CLAUSE = re.compile(r",(?!\d)|[;()]|\b(?:and|while|whereas|but|vs|versus)\b")
_MARKUP = re.compile(r"^\|?(?:[-:| ]*\|)?$|^```.*$", re.MULTILINE)


def of_target(hit: Hit, siblings: Siblings) -> Hit:
    """The hit without what it says about siblings of the target; its passage is marked if nothing else is left."""
    passage = without_siblings(hit.passage, siblings)
    if passage is hit.passage:
        return hit
    left = {with_headers(part) for part in parts_of(passage) if part.kind == "row"}
    cells = (tuple(cell for cell in row.cells if not siblings.named(cell[0])) for row in hit.rows)
    rows = (row.model_copy(update={"cells": own}) for row, own in zip(hit.rows, cells, strict=True))
    return hit.model_copy(update={"passage": passage, "rows": tuple(row for row in rows if row.shown in left)})


def marked(hit: Hit, siblings: Siblings) -> Hit:
    """The hit, marked if its headings are about siblings."""
    about = siblings.of_headings(_titles(hit.passage, siblings))
    return hit.model_copy(update={"passage": hit.passage.model_copy(update={"about": tuple(sorted(about))})})


def without_siblings(passage: Passage, siblings: Siblings) -> Passage:
    """The passage without what it says about siblings; marked if it says nothing else."""
    spans = siblings_spans(passage, siblings)
    if not spans:
        return passage
    about = tuple(sorted(TARGETS.union(*(owners for *_, owners in spans))))
    body, lead = passage.body, len(passage.lead)
    text = _cut(body, spans, lead + bool(lead), len(body))
    if not re.search(r"\w", _MARKUP.sub("", text)):
        return passage.model_copy(update={"about": about})
    return passage.model_copy(update={"lead": _cut(body, spans, 0, lead), "text": text, "without": about})


def blanked(passage: Passage, siblings: Siblings) -> str:
    """The text of a passage with blanks in place of what it says about siblings, down to the clauses of a sentence."""
    body, lead = passage.body, len(passage.lead)
    for start, end, _ in siblings_spans(passage, siblings, clauses=True):
        body = body[:start] + " " * (end - start) + body[end:]
    return body[lead + bool(lead) :]


def siblings_spans(passage: Passage, siblings: Siblings, *, clauses: bool = False) -> list[Span]:
    """The parts of a passage's body that are about siblings, in order; a part may lie in the one before it.

    Args:
        clauses: Also the clauses about a sibling in sentences that name the target, too.
    """
    headings = siblings.of_headings(_titles(passage, siblings))
    if not headings and not siblings.mentions(passage.body):
        return []
    code = begins_inside(passage.text, passage.kind)
    return sorted(_Reading(passage.body, siblings, headings, clauses).spans(inside_code=code))


def _titles(passage: Passage, siblings: Siblings) -> Sequence[str]:
    """What may name the chip that a passage is about: folders and file, the document's title, and the headings."""
    return (*siblings.below_own(passage.citation.path), passage.title, *passage.citation.section)


def _cut(text: str, spans: Sequence[Span], start: int, end: int) -> str:
    """`text[start:end]` without these spans, and without the blank lines that they leave."""
    kept, at = [], start
    for first, last, _ in spans:
        if first < end:
            kept.append(text[at : max(at, first)])
            at = min(max(at, last), end)
    return re.sub(r"\n{3,}", "\n\n", "".join([*kept, text[at:end]])).strip("\n")


@dataclass(frozen=True, slots=True)
class _Block:
    kind: str
    """`text`, `item`, `table` or `code`."""
    start: int
    end: int


@dataclass(slots=True)
class _Reading:
    """One reading of a text from top to bottom."""

    text: str
    siblings: Siblings
    headings: Owners
    clauses: bool
    _label: Owners | None = None
    """Whose all below is: what a line in bold names, or a line of nothing but names."""
    _intro: Owners | None = None
    """Whose the next blocks are: what a caption or a paragraph with a colon at its end names..."""
    _introduced: bool = False
    """... and whether one of them was read: the next paragraph ends them."""
    _items: list[tuple[int, Owners]] = field(default_factory=list)
    """The list items around, each with its indentation."""

    def spans(self, *, inside_code: bool) -> Iterator[Span]:
        blocks = list(self._blocks(inside_code=inside_code))
        for block, following in zip(blocks, [*blocks[1:], None], strict=True):
            if block.kind != "item":
                self._items.clear()
            match block.kind:
                case "text":
                    directly_above = following and following.kind == "table" and following.start == block.end
                    yield from self._paragraph(block, is_caption=bool(directly_above))
                case "item":
                    yield from self._item(block)
                case "table":
                    yield from self._table(block)
                case "code":
                    self._introduced = True
                    if owners := self._around:
                        yield block.start, block.end, owners

    def _blocks(self, *, inside_code: bool) -> Iterator[_Block]:
        """The blocks of the text; each ends with its line break."""
        at, start, kind = 0, 0, ""
        for line in self.text.splitlines(keepends=True):
            fence = line.startswith("```")
            if inside_code or fence:
                now = "code"
                inside_code ^= fence
            elif line.startswith("|"):
                now = "table"
            elif not line.strip():
                now = ""
            else:
                now = "item" if ITEM.match(line) or kind == "item" else "text"
            if now != kind or (now == "item" and ITEM.match(line)):
                if kind:
                    yield _Block(kind, start, at)
                start, kind = at, now
            at += len(line)
        if kind:
            yield _Block(kind, start, at)

    @property
    def _around(self) -> Owners:
        return next((o for o in (self._intro, self._label) if o is not None), self.headings)

    def _paragraph(self, block: _Block, *, is_caption: bool) -> Iterator[Span]:
        text = self.text[block.start : block.end].strip()
        introduces = is_caption or text.rstrip("*_").endswith(":")
        labels = text.startswith(("**", "__")) and text.endswith(("**", "__"))
        if (introduces or labels or self._only_names(text)) and (owners := self.siblings.named(text)) is not None:
            if introduces:
                self._intro, self._introduced = owners, False
            else:
                self._label, self._intro = owners, None
            if owners:
                yield block.start, block.end, owners
            return
        if self._introduced:
            self._intro = None
        yield from self._sentences(block, self._around)
        self._introduced = True

    def _item(self, block: _Block) -> Iterator[Span]:
        line = self.text[block.start : block.end]
        indent = len(line) - len(line.lstrip())
        while self._items and self._items[-1][0] >= indent:
            self._items.pop()
        found = list(self._sentences(block, self._items[-1][1] if self._items else self._around))
        self._items.append((indent, found[0][2] if found and found[0][0] == block.start else TARGETS))
        self._introduced = True
        yield from found

    def _sentences(self, block: _Block, owners: Owners) -> Iterator[Span]:
        """The sentences about siblings; one that names no chip goes on with that of the sentence before it."""
        text, around = self.text[block.start : block.end].replace("\n", " "), owners
        for match in SENTENCE.finditer(text):
            clauses = list(_clauses(match[0], self.siblings, around))
            named = self.siblings.named(match[0])
            owners = owners if named is None else named
            at = block.start + match.start()
            if owners and (named is None or all(own for *_, own in clauses)):
                yield at, block.start + match.end(), owners
            elif self.clauses:
                yield from ((at + start, at + end, own) for start, end, own in clauses if own)

    def _table(self, block: _Block) -> Iterator[Span]:
        """The rows about siblings, or in the other rows the cells and, from the header on, the columns."""
        lines = list(_lines(self.text, block))
        top = 2 if len(lines) > 1 and RULE.fullmatch(self.text[lines[1].start : lines[1].end].strip()) else 0
        columns = [self.siblings.named(cell) for *_, cell in lines[0].cells] if top else []
        around = next((own for own in columns[:1] if own is not None), self._around)
        rows = [[self._of_cell(row, i, columns, around) for i in range(len(row.cells))] for row in lines[top:]]
        whole = [all(own[1:] or own) for own in rows]
        for line, own, is_whole in zip(lines[top:], rows, whole, strict=True):
            if is_whole:
                yield line.start, line.end, TARGETS.union(*own)
            else:
                yield from ((start, end - 1, o) for (start, end, _), o in zip(line.cells, own, strict=True) if o)
        if all(whole) and rows:
            yield from ((line.start, line.end, TARGETS.union(*rows[0])) for line in lines[:top])
        for line in (line for place, line in enumerate(lines) if place < top or not whole[place - top]):
            yield from ((start, end, own) for (start, end, _), own in zip(line.cells, columns, strict=False) if own)
        self._introduced = True

    def _of_cell(self, row: "_Line", i: int, columns: Sequence[Owners | None], around: Owners) -> Owners:
        """Whose a cell is: by itself, by what labels its row, by its column, or by what stands around the table."""
        text = row.cells[i][2]
        own = self.siblings.named(text)
        if own is not None and i and not self._only_names(text):
            return own if all(own for *_, own in _clauses(text, self.siblings)) else TARGETS
        labels = [cell for place, (*_, cell) in enumerate(row.cells) if not place or self._only_names(cell)]
        of_row = self.siblings.named(" | ".join(labels))
        above = columns[i] if i < len(columns) else None
        return next((owners for owners in (of_row, above) if owners is not None), around)

    def _only_names(self, text: str) -> bool:
        return bool(self.siblings.mentions(text) and ONLY_NAMES.fullmatch(self.siblings.without_names(text)))


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    end: int
    cells: list[tuple[int, int, str]]
    """Start of each cell, end of the rule behind it, and its text."""


def _lines(text: str, table: _Block) -> Iterator[_Line]:
    at = table.start
    for line in text[table.start : table.end].splitlines(keepends=True):
        cells = [(at + 1 + m.start(), at + 1 + m.end(), m[1]) for m in _CELL.finditer(line[1:])]
        yield _Line(at, at + len(line), cells)
        at += len(line)


def _clauses(sentence: str, siblings: Siblings, around: Owners = TARGETS) -> Iterator[Span]:
    """The clauses of a sentence that have a number, each with its siblings: those `around` if nothing names a chip.

    A clause without a number names the chip of the next one; behind parentheses, or in them with nothing but a name,
    that of the numbers before it: `On the VX12 it is 120 MHz, and 50 MHz (VX10)`.
    """
    if not siblings.mentions(sentence):
        return
    plain = siblings.without_names(sentence)
    begins = [0]
    for cut in _CLAUSE.finditer(sentence):
        if not cut[0].isalpha() or re.search(r"\d", plain[begins[-1] : cut.start()]):
            begins.append(cut.start())
    found: list[tuple[int, int, list[Mention]]] = []
    carried: list[Mention] = []
    for start, end in pairwise([*begins, len(sentence)]):
        named = [m for m in siblings.mentions(sentence) if start <= m.start < end]
        if number := re.search(r"\d", plain[start:end]):
            carried = [m for m in named if not m.contrast or m.end <= start + number.start()] or carried
            found.append((start, end, carried))
        elif found and named and sentence[start] == "(" and ONLY_NAMES.fullmatch(plain[start:end]):
            found[-1] = (found[-1][0], end, named)
        else:
            carried = [m for m in named if not m.contrast or sentence[end : end + 1] == "("] or carried
            if sentence[start] == ")" and named:
                opened = sentence.rfind("(", 0, start)
                found = [(first, last, own or carried * (last >= opened)) for first, last, own in found]
    yield from ((start, end, siblings.among(named) if named else around) for start, end, named in found)

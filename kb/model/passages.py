"""Citations, passages, hits and what a search gives."""

from enum import StrEnum
from itertools import accumulate, pairwise
from typing import Self

from kb.errors import CitationError
from kb.model.base import Frozen, tokens_of
from kb.model.records import Trust


class Citation(Frozen):
    """A place in one version of one document, precise enough for a person to open it."""

    id: str
    """What `kb cite` takes."""
    path: str
    """The file, from the ingested folder's own name downwards."""
    sha256: str
    """Of the file's bytes when it was read."""
    section: tuple[str, ...]
    """Headings from the document's top to the passage."""
    line_start: int
    line_end: int
    """First and last line in the file, of a PDF its pages, counted from 1, inclusive."""

    @property
    def place(self) -> str:
        """File and lines as editors take them, of a PDF as browsers do."""
        return f"{self.path}{'#page=' if self._has_pages else ':'}{self._range}"

    @property
    def brief(self) -> str:
        """Without the section."""
        return f"[{self.path}@{self.sha256[:8]} {self._lines}]"

    def __str__(self) -> str:
        section = f" §{' > '.join(self.section[-2:])}" if self.section else ""
        return f"[{self.path}@{self.sha256[:8]}{section} {self._lines}]"

    @property
    def _has_pages(self) -> bool:
        return self.path.lower().endswith(".pdf")

    @property
    def _range(self) -> str:
        return f"{self.line_start}" + (f"-{self.line_end}" if self.line_end > self.line_start else "")

    @property
    def _lines(self) -> str:
        return ("p." if self._has_pages else "L") + self._range


class Passage(Frozen):
    """A stored piece of a document, as it is shown."""

    citation: Citation
    target: str
    title: str
    kind: str
    """`text`, `table` or `code`."""
    lead: str
    """Caption and header of the table this is a part of; empty otherwise."""
    text: str
    trust: Trust = Trust.VENDOR
    licence: str = ""
    """Of the document, as it or a licence file beside it says."""
    about: tuple[str, ...] = ()
    """Siblings of the target asked for that its headings speak of instead: their numbers are not the target's."""

    @property
    def trail(self) -> str:
        """Title and headings."""
        return " > ".join(dict.fromkeys((self.title, *self.citation.section)))

    @property
    def body(self) -> str:
        """Table header and text."""
        return "\n".join(part for part in (self.lead, self.text) if part)

    @property
    def shown(self) -> str:
        """Trail and body: all a reader without the document needs."""
        return "\n".join(part for part in (self.trail, self.body) if part)

    @property
    def tokens(self) -> int:
        return tokens_of(self.shown)

    @property
    def cited(self) -> str:
        """As it stands in a prompt: below its citation, its trail, and what a reader must know before believing it."""
        head = " ".join((self.citation.brief, self.trail, *(f"({mark})" for mark in self.marks)))
        return f"{head}\n{self.body}"

    @property
    def marks(self) -> tuple[str, ...]:
        """Who says so, where it is not the vendor, and of which sibling it speaks."""
        by = () if self.trust is Trust.VENDOR else (str(self.trust),)
        return (*by, f"speaks of {', '.join(self.about)}") if self.about else by


class TableRow(Frozen):
    """A row of a stored table; `kb cite ID` opens it, `kb cite ID.N` names its Nth cell."""

    citation: Citation
    cells: tuple[tuple[str, str], ...]
    """Header and text of each cell that is not empty."""

    @property
    def shown(self) -> str:
        return "; ".join(map(_stated, self.cells))

    def cell(self, nth: str) -> str:
        """The `nth` cell with its header, counted from 1 over those that are not empty.

        Raises:
            CitationError: there is no such cell.
        """
        if not (nth.isdecimal() and 1 <= int(nth) <= len(self.cells)):
            raise CitationError(
                f"row {self.citation.id} has no cell {nth!r}", hint=f"its cells are 1 to {len(self.cells)}"
            )
        return _stated(self.cells[int(nth) - 1])


def _stated(cell: tuple[str, str]) -> str:
    header, text = cell
    return f"{header} = {text}" if header else text


class Why(Frozen):
    """How a hit came to its rank. Scores are z-scores within their list; None: not in that list."""

    lexical: float | None
    dense: float | None
    phrasings: int
    """How many of the phrasings found it."""


class Hit(Frozen):
    """A passage with its score; higher is better, comparable within one search only."""

    passage: Passage
    score: float
    why: Why
    rows: tuple[TableRow, ...] = ()
    """Rows of its tables that answer on their own, best first."""
    before: tuple[Passage, ...] = ()
    after: tuple[Passage, ...] = ()
    """What stands around the first hits in their documents, in document order."""
    also_in: tuple[Citation, ...] = ()
    """Where else the same stands, word for word or nearly so, without a number of its own."""

    @property
    def shown(self) -> str:
        """The passage with what stands around it; headings and the header of a table are not repeated."""
        passages = (*self.before, self.passage, *self.after)
        parts = [passages[0].shown]
        for previous, p in pairwise(passages):
            if p.trail != previous.trail:
                parts.append(f"\n{p.shown}")
            elif p.lead and p.lead == previous.lead:
                parts.append(p.text)
            else:
                parts.append(f"\n{p.body}")
        return "\n".join(parts)


class Status(StrEnum):
    OK = "ok"
    INSUFFICIENT = "insufficient"


class SearchResult(Frozen):
    """Hits, best first, and in `notes` what to know of them. `insufficient`: the documents in scope do not say, as the
    notes explain."""

    status: Status
    hits: tuple[Hit, ...]
    notes: tuple[str, ...] = ()

    def within(self, budget_tokens: int) -> Self:
        """The leading hits that fit into a token budget; the first is always kept."""
        totals = accumulate(hit.passage.tokens for hit in self.hits)
        fitting = sum(total <= budget_tokens for total in totals)
        return self.model_copy(update={"hits": self.hits[: max(1, fitting)]})


class Context(Frozen):
    """Whole passages packed into a token budget, ready for a prompt."""

    status: Status
    passages: tuple[Passage, ...]
    left_out: tuple[Citation, ...]
    """What ranked high enough but did not fit or said nothing new."""
    tokens: int
    budget_tokens: int
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return "\n\n".join(p.cited for p in self.passages)


class CitedPlace(Frozen):
    """The place a citation names, with the lines around it, as the document stood when it was read."""

    citation: Citation
    file: str
    lines: tuple[tuple[int, str, bool], ...]
    """Line number in the file, text, and whether it belongs to the cited passage."""
    cell: str = ""
    """The cell of a table's row that was asked for, with its header."""
    file_exists: bool
    file_same: bool
    """Whether the file still holds what was read."""

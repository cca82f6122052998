"""Citations, passages, hits and search results."""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from itertools import pairwise
from typing import Self

from kb.errors import CitationError
from kb.types.base import Frozen, tokens_of
from kb.types.records import Trust


class Citation(Frozen):
    """A place in one version of one document, precise enough for a person to open it."""

    id: str
    """Argument for `kb cite`."""
    path: str
    """Path of the file, from the folder that names its target on."""
    sha256: str
    """SHA-256 of the file when it was read."""
    section: tuple[str, ...]
    """Headings from the document's top to the passage."""
    line_start: int
    line_end: int
    """First and last line in the file, or page in a PDF, counted from 1, inclusive."""

    @property
    def place(self) -> str:
        """File and lines in the form that editors accept; for a PDF, the form that browsers accept."""
        return f"{self.path}{'#page=' if self._has_pages else ':'}{self._range}"

    @property
    def brief(self) -> str:
        """The citation without the section."""
        return f"[{self.path}@{self.sha256[:8]} {self.lines}]"

    def __str__(self) -> str:
        section = f" §{' > '.join(self.section[-2:])}" if self.section else ""
        return f"[{self.path}@{self.sha256[:8]}{section} {self.lines}]"

    @property
    def _has_pages(self) -> bool:
        return self.path.lower().endswith(".pdf")

    @property
    def _range(self) -> str:
        return f"{self.line_start}" + (f"-{self.line_end}" if self.line_end > self.line_start else "")

    @property
    def lines(self) -> str:
        """`L12-20`, or `p.3` for a PDF."""
        return ("p." if self._has_pages else "L") + self._range


class Passage(Frozen):
    """A stored piece of a document."""

    citation: Citation
    target: str
    title: str
    kind: str
    """`text`, `table` or `code`."""
    lead: str
    """Caption and header of the table that the passage is part of; otherwise empty."""
    text: str
    ordinal: int = 0
    """Place among the passages of its document, counted from 0."""
    trust: Trust = Trust.VENDOR
    about: tuple[str, ...] = ()
    """Siblings of the requested target that all of it is about: the numbers are theirs, not the target's."""
    without: tuple[str, ...] = ()
    """Siblings of the requested target about which it says more, which is left out."""

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
        """Trail and body, which is all that a reader without the document needs."""
        return "\n".join(part for part in (self.trail, self.body) if part)

    @property
    def tokens(self) -> int:
        return tokens_of(self.shown)

    @property
    def cited(self) -> str:
        """The passage as it appears in a prompt: citation, trail and marks in one line, then the body."""
        head = " ".join((self.citation.brief, self.trail, *(f"({mark})" for mark in self.marks)))
        return f"{head}\n{self.body}"

    @property
    def source(self) -> str:
        """The file and its version."""
        return f"{self.citation.path}@{self.citation.sha256[:8]}"

    @property
    def marks(self) -> tuple[str, ...]:
        return marks_of(self.trust, self.about, self.without)


def marks_of(trust: Trust, about: Sequence[str], without: Sequence[str]) -> tuple[str, ...]:
    """Who states a passage, unless it is the vendor; the siblings it is about, or those whose part is left out."""
    by = () if trust is Trust.VENDOR else (trust.value,)
    of_others = (f"speaks of {', '.join(about)}",) if about else ()
    cut = (f"without what it says of {', '.join(without)}",) if without else ()
    return (*by, *of_others, *cut)


class TableRow(Frozen):
    """A row of a stored table; `kb cite ID` opens it, `kb cite ID.N` shows its Nth cell."""

    citation: Citation
    cells: tuple[tuple[str, str], ...]
    """Header and text of each cell that is not empty."""

    @property
    def shown(self) -> str:
        return "; ".join(map(_stated, self.cells))

    def cell(self, nth: str) -> str:
        """The `nth` non-empty cell with its header, counted from 1.

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


class ScoreParts(Frozen):
    """The best BM25 score and cosine of a hit over the phrasings; None if words or vectors did not find it."""

    lexical: float | None
    dense: float | None
    phrasings: int
    """Number of phrasings that found it."""
    states: tuple[str, ...] = ()
    """The quantities that the question asks for, if the passage is first because it states their facts."""


class Hit(Frozen):
    """A passage with its score. Higher is better; scores are comparable only within one search."""

    passage: Passage
    score: float
    why: ScoreParts
    rows: tuple[TableRow, ...] = ()
    """Matching rows of its table, best first."""
    before: tuple[Passage, ...] = ()
    after: tuple[Passage, ...] = ()
    """Neighbouring passages of the first hits, in document order."""
    also_in: tuple[Citation, ...] = ()
    """Other places with the same words in the same order."""
    excerpt: tuple[str, ...] = ()
    """The lines of the passage that answer, with counts of what is left out; empty if a better hit is clearly ahead."""

    @property
    def shown(self) -> str:
        """The passage with its neighbours; headings and table headers are not repeated."""
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


class SearchFilter(Frozen):
    """What a search is limited to, within the documents of its target."""

    within: tuple[str, ...] = ()
    """Only these documents and folders, each named by its path or a part of it (`isa`, `isa/mma.md`)."""
    numbers: bool = False
    """Only tables and passages that state an amount."""
    seen: frozenset[str] = frozenset()
    """Not the passages with these ids."""


class SearchResult(Frozen):
    """Hits, best first, with `notes` about them. `insufficient`: the documents in scope have no answer; the notes say
    why."""

    status: Status
    hits: tuple[Hit, ...]
    notes: tuple[str, ...] = ()

    def with_hits(self, hits: Iterable[Hit]) -> Self:
        return self.model_copy(update={"hits": tuple(hits)})


class Context(Frozen):
    """Whole passages packed into a token budget, ready for a prompt."""

    status: Status
    passages: tuple[Passage, ...]
    left_out: tuple[Citation, ...]
    """Passages that are relevant enough but did not fit, best first."""
    less_relevant: int
    """Number of passages found that are too far behind the best one."""
    tokens: int
    budget_tokens: int
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return text_of(self.passages)


def text_of(passages: Sequence[Passage]) -> str:
    """The passages below their documents, each with its id, lines and headings; no heading is repeated in a row."""
    runs = _runs(passages)
    return "\n\n".join(_text_of_run(run, above) for above, run in zip(([], *runs), runs, strict=False))


def _runs(passages: Sequence[Passage]) -> list[list[Passage]]:
    """The passages, together where a listing of code runs from one into the next."""
    runs: list[list[Passage]] = []
    for passage in passages:
        last = runs[-1] if runs else []
        follows = last and (last[-1].source, last[-1].ordinal + 1) == (passage.source, passage.ordinal)
        fences = sum(line.startswith("```") for p in last for line in p.text.split("\n"))
        if follows and fences % 2:
            last.append(passage)
        else:
            runs.append([passage])
    return runs


def _text_of_run(run: Sequence[Passage], above: Sequence[Passage]) -> str:
    """The passages of a run, below the run `above`."""
    first, last = run[0], above[-1] if above else None
    same = last is not None and last.source == first.source
    document = "" if same else f"# {first.source} {first.title} [{first.target}]\n"
    headings = "" if same and last and last.trail == first.trail else first.trail.removeprefix(first.title)
    lead = "" if same and last and last.lead == first.lead else first.lead
    ids = ", ".join(f"{p.citation.id} {p.citation.lines}" for p in run)
    head = " ".join(filter(None, (f"[{ids}]", headings.removeprefix(" > "), *(f"({mark})" for mark in first.marks))))
    return document + "\n".join(filter(None, (head, lead, *(p.text for p in run))))


class CitedPlace(Frozen):
    """A cited place with the lines around it, as the document was when it was read."""

    citation: Citation
    file: str
    lines: tuple[tuple[int, str, bool], ...]
    """Line number in the file, text, and whether it belongs to the cited passage."""
    cell: str = ""
    """The requested cell of a table row, with its header."""
    file_exists: bool
    file_same: bool
    """Whether the file is unchanged since it was read."""

"""Lists, outlines, cites, compares and removes the documents of a home."""

import os
import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

from ingest.page_image import page_image
from ingest.scan import file_digest, file_of, place_of
from kb.catalog import Catalog, write_lock
from kb.errors import CitationError, DocumentError, did_you_mean, nearest
from kb.targets import Targets
from kb.types.documents import Document, Outline, Section
from kb.types.passages import CitedPlace, Passage

CITED_LINES_AROUND = 3
NAMES_SHOWN = 6
_PLACE = re.compile(r"\[?(.+?)(?:@([0-9a-f]{8}))?(?::| L| p\.|#page=)(\d+)(?:-(\d+))?\]?")
"""Matches a citation that has no id: its path, the start of the SHA-256, and the first and last line or page."""
SHORT_CHARACTERS = 20_000
"""Longest document of code or without headings that is shown whole unasked."""


class Documents:
    """The documents of a home. A name is the path that citations show, the end of that path, or the file.

    Args:
        publish: Rebuilds the vector index if the home is large enough to use one.
    """

    def __init__(self, catalog: Catalog, targets: Targets, *, publish: Callable[[], None]) -> None:
        self._catalog = catalog
        self._targets = targets
        self._publish = publish

    def stored(self, target: str | None = None) -> list[Document]:
        """All documents by target and path; with `target`, those in its scope.

        Raises:
            TargetError: `target` is unknown.
        """
        scope = self._targets.scope(target) if target else None
        return [d for d in self._catalog.documents() if scope is None or d.target in scope]

    def get(self, name: str) -> Document:
        """The document with this name.

        Raises:
            DocumentError: no document or several documents have it.
        """
        documents = self._catalog.documents()
        if found := _named(name, documents):
            return found
        raise _unknown(name, documents)

    def below(self, names: Sequence[str], *, target: str | None = None) -> list[Document]:
        """The documents with these names and those in folders with these names, each once, by target and path.

        Args:
            target: Limit to documents of this target itself, without its ancestors and descendants.

        Raises:
            TargetError: `target` is unknown.
            DocumentError: a name matches no document and no folder, or several documents.
        """
        own = self._targets.get(target).name if target else None
        documents = [d for d in self._catalog.documents() if own in (None, d.target)]
        chosen: set[str] = set()
        for name in names:
            found = _named(name, documents)
            inside = [found] if found else _inside(name, documents)
            if not inside:
                raise _unknown(name, documents)
            chosen.update(d.source for d in inside)
        return [d for d in documents if d.source in chosen]

    def outline(self, name: str, *, section: str | None = None, whole: bool = False) -> Outline:
        """A document with its tree of headings; a short one of code or without headings with all passages.

        Args:
            section: A heading or the end of its trail (`Memory > LDS`). Limits the outline to sections with that
                heading, or else with headings that contain it, and adds their subsections and passages.
            whole: Add all passages.

        Raises:
            DocumentError: the document or the section does not exist.
        """
        document = self.get(name)
        sections = self._catalog.outline(document.source)
        chosen = range(len(sections)) if section is None else _subtrees(section, sections)
        if section is not None and not chosen:
            raise _unknown_section(section, sections, document)
        digest = _digest(file_of(document.source, self._catalog.home))
        holds = self._catalog.holdings(document.source)
        listed = document.format == "code" or not sections
        whole = whole or (listed and holds.characters <= SHORT_CHARACTERS)
        wanted = chosen if section is not None else None if whole else ()
        shown = self._catalog.chunk_ids(document.source, wanted)
        return Outline(
            document=document,
            file=str(place_of(document.source)),
            file_exists=digest is not None,
            file_same=digest == document.sha256,
            holds=holds,
            sections=tuple(sections[i] for i in chosen),
            passages=tuple(self._catalog.passages(shown)),
        )

    def passage(self, citation_id: str) -> Passage:
        """The passage that a citation's id names or that contains the cited row or fact.

        Raises:
            CitationError: the id is unknown, or the stored text differs from the cited text.
        """
        place = self._catalog.place(citation_id.partition(".")[0])
        if place is None:
            raise CitationError(f"no passage has the id {citation_id!r}", hint="`kb search` and `kb facts` show ids")
        return self._catalog.passages([place[1]])[0]

    def page_image(self, name: str, page: int) -> bytes:
        """A page of a PDF, counted from 1, as a PNG.

        Raises:
            DocumentError: there is no such document or page, or the file is not what was ingested.
        """
        document = self.get(name)
        file = file_of(document.source, self._catalog.home)
        if document.format != "pdf" or _digest(file) != document.sha256:
            hint = "`kb ingest` reads the file as it is now"
            raise DocumentError(f"{document.path} is not the PDF that was ingested", hint=hint)
        return page_image(file, page)

    def cite(self, citation_id: str, *, around: int = CITED_LINES_AROUND) -> CitedPlace:
        """The place that a citation refers to, as it was when the document was ingested.

        Args:
            citation_id: An id, or the place that a prompt cites: `PATH:LINE`, `PATH@DIGEST:LINE-LINE`.
            around: Most lines to add on both sides.

        Raises:
            CitationError: the id is unknown, nothing is at the place, or the stored text differs from the cited text.
            DocumentError: no document has the path.
        """
        key, _, nth = self._id_of(citation_id).partition(".")
        row = self._catalog.row(key)
        stated = row or self._catalog.fact(key) or self._catalog.passage(key)
        if nth and row is None:
            raise CitationError(f"{key} is not a table row, so it has no cell {nth!r}", hint=f"`kb cite {key}`")
        source, lines = self._catalog.source_lines(key, around=around)
        digest = _digest(file_of(source, self._catalog.home))
        return CitedPlace(
            citation=stated.citation,
            file=str(place_of(source)),
            lines=tuple(lines),
            cell=row.cell(nth) if row and nth else "",
            file_exists=digest is not None,
            file_same=digest == stated.citation.sha256,
        )

    def _id_of(self, cited: str) -> str:
        """An id as it is; for a place, the id of the passage there that fits its lines best."""
        if not (place := _PLACE.fullmatch(cited)):
            return cited
        name, digest, first, last = place.groups()
        document, start, end = self.get(name), int(first), int(last or first)
        found = self._catalog.passages(self._catalog.chunks_on(document.source, start))
        if not found or not document.sha256.startswith(digest or ""):
            message = f"{document.path}@{document.sha256[:8]}, the stored version, has no passage at {cited}"
            raise CitationError(message, hint=f"`kb docs show {shlex.quote(document.path)}` shows what it has")
        return min((p.citation for p in found), key=lambda c: abs(c.line_start - start) + abs(c.line_end - end)).id

    def stands(self, citation_id: str) -> bool:
        """Whether what the id cites is still in the documents, unchanged."""
        try:
            self.cite(citation_id)
        except CitationError:
            return False
        return True

    def removable(self, names: Sequence[str], *, target: str | None = None) -> list[Document]:
        """The documents of `below`, if none of them ships with kb: kb would ingest it again by itself.

        Raises:
            TargetError, DocumentError: as in `below`; or a document ships with kb.
        """
        chosen = self.below(names, target=target)
        for document in chosen:
            if document.ships_with_kb and file_of(document.source, self._catalog.home).is_file():
                raise DocumentError(
                    f"{document.path} ships with kb: kb would add it again when {document.target} is next used",
                    hint="nothing was removed; name only the other documents",
                )
        return chosen

    def remove(self, names: Sequence[str]) -> list[Document]:
        """Remove the documents of `removable` with their passages, facts and vectors, all or none.

        The next ingest of their folder reads them again.

        Raises:
            DocumentError: as in `removable`.
            StoreError: the home cannot be written, or another process is writing it.
        """
        with write_lock(self._catalog.home):
            chosen = self.removable(names)
            self._catalog.remove(d.source for d in chosen)
            self._catalog.drop_unused_vectors()
            self._publish()
        return chosen


def _digest(file: Path) -> str | None:
    """The sha256 of the file; None if it cannot be read."""
    try:
        return file_digest(file)
    except OSError:
        return None


def _named(name: str, documents: Sequence[Document]) -> Document | None:
    """The only document with this name. Raises DocumentError for several."""
    plain, file = _spellings(name)
    found = [d for d in documents if d.path == plain or d.source in (name, file)] or [
        d for d in documents if d.path.endswith(f"/{plain}")
    ]
    if len(found) > 1:
        paths = [d.path for d in found]
        shown = paths if len(set(paths)) == len(paths) else [d.source for d in found]
        more = f" and {len(shown) - NAMES_SHOWN} more" if len(shown) > NAMES_SHOWN else ""
        hint = f"name one of {', '.join(shown[:NAMES_SHOWN])}{more}"
        raise DocumentError(f"{len(found)} documents are called {name!r}", hint=hint)
    return found[0] if found else None


def _inside(name: str, documents: Sequence[Document]) -> list[Document]:
    """The documents in folders with this name."""
    plain, file = _spellings(name)
    return [d for d in documents if d.path.startswith(f"{plain}/") or d.source.startswith(f"{file}/")]


def _spellings(name: str) -> tuple[str, str]:
    """The name as a path in citations and as a file on this machine; an empty name must not match all files."""
    plain = name.removeprefix("./").removeprefix("…/").rstrip("/")
    return plain, os.path.realpath(plain.replace("\0", "") or "/")


def _unknown(name: str, documents: Sequence[Document]) -> DocumentError:
    parts = name.strip("/").count("/") + 1
    ends = {"/".join(d.path.split("/")[-parts:]): d.path for d in documents}
    hint = f"{did_you_mean(nearest(name, ends))}`kb docs list` shows all"
    return DocumentError(f"no document is called {name!r}", hint=hint)


def _subtrees(heading: str, sections: Sequence[Section]) -> list[int]:
    """Indexes of the sections with this heading and of their subsections."""
    wanted = " ".join(heading.split()).casefold()
    trails = [" > ".join(s.trail).casefold() for s in sections]
    roots = [i for i, t in enumerate(trails) if t == wanted or t.endswith(f" > {wanted}")] or [
        i for i, s in enumerate(sections) if wanted in s.trail[-1].casefold()
    ]
    chosen: set[int] = set()
    for root in roots:
        depth = len(sections[root].trail)
        end = next((i for i in range(root + 1, len(sections)) if len(sections[i].trail) <= depth), len(sections))
        chosen.update(range(root, end))
    return sorted(chosen)


def _unknown_section(heading: str, sections: Sequence[Section], document: Document) -> DocumentError:
    titles = {s.trail[-1].casefold(): repr(s.trail[-1]) for s in sections}
    near, command = nearest(heading.casefold(), titles), f"kb docs show {shlex.quote(document.path)}"
    hint = f"{did_you_mean(near)}`{command}` shows its headings"
    return DocumentError(f"{document.path} has no section {heading!r}", hint=hint)

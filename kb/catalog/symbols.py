"""Find the documents that contain an identifier, and cite one of their lines."""

import re
from collections.abc import Collection
from dataclasses import dataclass

from kb.catalog.citations import Trails, unpacked_lines
from kb.catalog.documents import DocumentTables
from kb.catalog.words import match_expression, within
from kb.types.passages import Citation


@dataclass(frozen=True, slots=True)
class NamingDocument:
    """A document that has a name, with its searched text."""

    id: int
    path: str
    target: str
    title: str
    version: str
    format: str
    trust: str
    text: str


class SymbolTables(DocumentTables):
    def documents_naming(self, name: str, *, targets: Collection[str] | None) -> list[NamingDocument]:
        """The documents of `targets` in whose headings or passages the words of `name` stand one after the other."""
        words = " ".join(re.findall(r"[^\W_]+", name))
        rows = self._all(
            """SELECT d.id, d.path, d.target, d.title, d.version, d.format, d.trust, d.text,
                      (SELECT max(end) FROM chunk WHERE document_id = d.id) AS end
               FROM document d WHERE d.id IN (
                   SELECT c.document_id FROM lexical JOIN chunk c ON c.id = lexical.rowid WHERE lexical MATCH ?)
               ORDER BY d.path""",
            (within(targets, f"{{heading body}} : {match_expression([words])}"),),
        )
        names = ("id", "path", "target", "title", "version", "format", "trust")
        return [NamingDocument(**{name: row[name] for name in names}, text=row["text"][: row["end"]]) for row in rows]

    def citation_at(self, document: NamingDocument, offset: int) -> Citation:
        """The line at `offset`, cited with the passage that holds it; for a heading, with the passage below it."""
        row = self._all(
            """SELECT c.*, d.path, d.sha256, d.lines AS numbers FROM chunk c JOIN document d ON d.id = c.document_id
               WHERE d.id = ? AND c.end > ? ORDER BY c.ordinal LIMIT 1""",
            (document.id, offset),
        )[0]
        line = unpacked_lines(row["numbers"])[document.text.count("\n", 0, offset)]
        return Trails(self.heading_path).citation(row).model_copy(update={"line_start": line, "line_end": line})

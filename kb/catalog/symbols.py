"""Find the documents that contain an identifier, and cite one of their lines."""

import json
import re
import sqlite3
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
        rows = self._all(
            """SELECT d.id, d.path, d.target, d.title, d.version, d.format, d.trust, d.text,
                      (SELECT max(end) FROM chunk WHERE document_id = d.id) AS end
               FROM document d WHERE d.id IN (
                   SELECT c.document_id FROM lexical JOIN chunk c ON c.id = lexical.rowid WHERE lexical MATCH ?)
               ORDER BY d.path""",
            (self._naming(name, targets),),
        )
        return [_document(row, row["text"][: row["end"]]) for row in rows]

    def citation_at(self, document: NamingDocument, offset: int) -> Citation:
        """The line at `offset`, cited with the passage that holds it; for a heading, with the passage below it."""
        row = self._all(
            """SELECT c.*, d.path, d.sha256, d.lines AS numbers FROM chunk c JOIN document d ON d.id = c.document_id
               WHERE d.id = ? AND c.end > ? ORDER BY c.ordinal LIMIT 1""",
            (document.id, offset),
        )[0]
        line = unpacked_lines(row["numbers"])[document.text.count("\n", 0, offset)]
        return Trails(self.heading_path).citation(row).model_copy(update={"line_start": line, "line_end": line})

    def passages_naming(self, name: str, *, targets: Collection[str] | None, limit: int) -> list[NamingDocument]:
        """As `documents_naming`, but each with the text of one passage below its heading, and the likeliest first."""
        rows = self._all(
            """SELECT d.id, d.path, d.target, d.title, d.version, d.format, d.trust,
                      s.title AS heading, found.body, c.kind
               FROM (SELECT rowid AS id, body FROM lexical WHERE lexical MATCH ?
                     ORDER BY bm25(lexical, 0, 10, 1, 0, 0, 0), rowid LIMIT ?) found
               JOIN chunk c ON c.id = found.id JOIN document d ON d.id = c.document_id
               LEFT JOIN section s ON s.document_id = d.id AND s.ordinal = c.section""",
            (self._naming(name, targets), limit),
        )
        return [_document(row, f"# {row['heading'] or ''}\n\n{fenced(row['body'], row['kind'])}") for row in rows]

    def editions(self) -> list[tuple[str, str, str]]:
        """Path, target and version of each document that states a version."""
        return [tuple(row) for row in self._all("SELECT path, target, version FROM document WHERE version != ''")]

    def is_named_in(self, name: str, paths: Collection[str], *, targets: Collection[str]) -> bool:
        """Whether the words of `name` stand one after the other in one of the documents with these paths."""
        row = self._one(
            """SELECT 1 FROM lexical JOIN chunk c ON c.id = lexical.rowid JOIN document d ON d.id = c.document_id
               WHERE lexical MATCH ? AND d.path IN (SELECT value FROM json_each(?)) LIMIT 1""",
            (self._naming(name, targets), json.dumps(list(paths))),
        )
        return row is not None

    def _naming(self, name: str, targets: Collection[str] | None) -> str:
        words = " ".join(re.findall(r"[^\W_]+", name))
        return within(targets, f"{{heading body}} : {match_expression([words])}")


def _document(row: sqlite3.Row, text: str) -> NamingDocument:
    names = ("id", "path", "target", "title", "version", "format", "trust")
    return NamingDocument(**{name: row[name] for name in names}, text=text)


def fenced(body: str, kind: str) -> str:
    """A part of a long listing between fences, as a whole one is."""
    return body if kind != "code" or body.startswith("```") else f"```\n{body}\n```"

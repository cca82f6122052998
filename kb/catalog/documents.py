"""Queries about documents: their properties, their headings and the order of their passages."""

import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection
from datetime import UTC, datetime
from itertools import accumulate
from typing import Any

from kb.catalog.citations import unpacked_lines
from kb.catalog.database import PRIVATE, Database, among
from kb.types.documents import Document, Holdings, Section
from kb.types.records import SectionRecord, ancestry

_CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_TABLE = re.compile(r"(?:^\|.*\|(?:\n|\Z))+", re.MULTILINE)
_RULE = re.compile(r"^\|(?:---\|)+$", re.MULTILINE)


class DocumentTables(Database):
    """The documents of a catalog, identified by their sources."""

    def documents(self) -> list[Document]:
        """All documents, sorted by target and path."""
        rows = self._all(
            """SELECT d.source, d.path, d.target, d.title, d.format, d.version, d.licence, d.trust, d.private, d.sha256,
                      d.stamp,
                      coalesce(c.n, 0) AS passages, coalesce(f.n, 0) AS facts
               FROM document d
               LEFT JOIN (SELECT document_id, count(*) AS n FROM chunk GROUP BY 1) c ON c.document_id = d.id
               LEFT JOIN (SELECT document_id, count(*) AS n FROM fact GROUP BY 1) f ON f.document_id = d.id
               ORDER BY d.target, d.path, d.source"""
        )
        return [_document(dict(row)) for row in rows]

    def held_back(self, targets: Collection[str] | None) -> list[str]:
        """Paths of the documents of `targets` (None: of all) that this catalog was opened without."""
        of, names = among(targets)
        unseen = f"d.id IN ({PRIVATE}) AND d.id NOT IN (SELECT id FROM document)"
        rows = self._all(f"SELECT d.path FROM main.document d WHERE {unseen} {of} ORDER BY d.path", names)
        return [row["path"] for row in rows]

    def unseen_ids(self) -> set[str]:
        """Ids of the passages, rows and facts of the documents that this catalog was opened without."""
        unseen = f"document_id IN ({PRIVATE}) AND document_id NOT IN (SELECT id FROM document)"
        rows = self._all(
            f"""SELECT key FROM chunk WHERE {unseen} UNION SELECT key FROM fact WHERE {unseen}
                UNION SELECT r.key FROM table_row r JOIN chunk c ON c.id = r.chunk_id WHERE {unseen}"""
        )
        return {row["key"] for row in rows}

    def text(self, source: str) -> str:
        return str(self._all("SELECT text FROM document WHERE source = ?", (source,))[0][0])

    def holdings(self, source: str) -> Holdings:
        row = self._all(
            """SELECT text, warnings,
                      (SELECT count(*) FROM section WHERE document_id = d.id) AS sections,
                      (SELECT count(*) FROM chunk WHERE document_id = d.id) AS passages,
                      (SELECT count(*) FROM fact WHERE document_id = d.id) AS facts
               FROM document d WHERE source = ?""",
            (source,),
        )[0]
        prose, code_blocks = _CODE.subn("", row["text"])
        tables = _TABLE.findall(prose)
        return Holdings(
            characters=len(row["text"]),
            sections=row["sections"],
            passages=row["passages"],
            tables=len(tables),
            rows=sum(table.count("\n|") + 1 - 2 * len(_RULE.findall(table)) for table in tables),
            code_blocks=code_blocks,
            facts=row["facts"],
            warnings=json.loads(row["warnings"]),
        )

    def outline(self, source: str) -> list[Section]:
        """All headings in document order; the list index of a section is its `ordinal` in the catalog."""
        document = self._all("SELECT id, text, lines FROM document WHERE source = ?", (source,))[0]
        records = self.sections(document["id"])
        trails = [ancestry(records, i) for i in range(len(records))]
        counts = self._passages_below(document["id"], trails)
        numbers = unpacked_lines(document["lines"])
        starts = [0, *accumulate(len(line) + 1 for line in document["text"].split("\n"))]
        return [
            Section(
                trail=tuple(records[j].title for j in trails[i]),
                line=numbers[bisect_right(starts, record.start) - 1],
                passages=counts[i],
            )
            for i, record in enumerate(records)
        ]

    def _passages_below(self, document_id: int, trails: list[list[int]]) -> Counter[int]:
        """Number of passages in each section, including its subsections."""
        counts: Counter[int] = Counter()
        rows = self._all(
            "SELECT section, count(*) AS n FROM chunk WHERE document_id = ? AND section IS NOT NULL GROUP BY 1",
            (document_id,),
        )
        for row in rows:
            counts.update(dict.fromkeys(trails[row["section"]], row["n"]))
        return counts

    def chunk_ids(self, source: str, sections: Collection[int] | None = None) -> list[int]:
        """Ids of the passages of a document, or only of these sections of it, in document order."""
        limit, ordinals = among(sections, column="c.section")
        rows = self._all(
            f"SELECT c.id FROM chunk c JOIN document d ON d.id = c.document_id WHERE d.source = ? {limit} "
            "ORDER BY c.ordinal",
            (source, *ordinals),
        )
        return [row["id"] for row in rows]

    def chunks_on(self, source: str, line: int) -> list[int]:
        """Ids of the passages on a line (in a PDF: a page), in document order."""
        rows = self._all(
            """SELECT c.id FROM chunk c JOIN document d ON d.id = c.document_id
               WHERE d.source = ? AND ? BETWEEN c.line_start AND c.line_end ORDER BY c.ordinal""",
            (source, line),
        )
        return [row["id"] for row in rows]

    def last_line(self, source: str) -> int:
        """The last line (in a PDF: page) with a passage; 0 if the document has none."""
        query = "SELECT max(c.line_end) FROM chunk c JOIN document d ON d.id = c.document_id WHERE d.source = ?"
        return int(self._all(query, (source,))[0][0] or 0)

    def place(self, key: str) -> tuple[str, int, int] | None:
        """Document source, passage id and start of the passage in the document's text, in characters, for the passage,
        row or fact cited as `key`; None if there is none.
        """
        row = self._one(
            """SELECT d.source, c.id, c.start FROM chunk c JOIN document d ON d.id = c.document_id
               WHERE c.key = :key OR c.id IN (
                   SELECT chunk_id FROM table_row WHERE key = :key
                   UNION ALL SELECT p.id FROM fact f JOIN chunk p ON p.document_id = f.document_id
                             AND p.start <= f.start AND f.start < p.end WHERE f.key = :key)""",
            {"key": key},
        )
        return (row["source"], row["id"], row["start"]) if row else None

    def span(self, key: str) -> tuple[int, int] | None:
        """Where the row or fact cited as `key` starts and ends in the text of its passage; None if it is neither."""
        row = self._one(
            """SELECT max(p.start, c.start) - c.start AS start, min(p.end, c.end) - c.start AS end FROM (
                   SELECT document_id, start, end FROM fact WHERE key = :key
                   UNION ALL SELECT o.document_id, r.start, r.end FROM table_row r JOIN chunk o ON o.id = r.chunk_id
                             WHERE r.key = :key) p
               JOIN chunk c ON c.document_id = p.document_id AND c.start <= p.start AND p.start < c.end""",
            {"key": key},
        )
        return (row["start"], row["end"]) if row else None

    def heading_path(self, document_id: int, section: int) -> tuple[str, ...]:
        """Titles from the outermost enclosing section down to `section`."""
        rows = self._all(
            """WITH RECURSIVE up(title, parent, level) AS (
                   SELECT title, parent, 0 FROM section WHERE document_id = :document AND ordinal = :section
                   UNION ALL SELECT s.title, s.parent, up.level + 1 FROM up
                             JOIN section s ON s.document_id = :document AND s.ordinal = up.parent)
               SELECT title FROM up ORDER BY level DESC""",
            {"document": document_id, "section": section},
        )
        return tuple(row["title"] for row in rows)

    def sections(self, document_id: int) -> list[SectionRecord]:
        rows = self._all(
            "SELECT level, title, start, end, parent FROM section WHERE document_id = ? ORDER BY ordinal",
            (document_id,),
        )
        return [SectionRecord(**dict(row)) for row in rows]


def _document(row: dict[str, Any]) -> Document:
    file = json.loads(row.pop("stamp"))[0]
    day = datetime.fromtimestamp(file[2] / 1e9, UTC).date().isoformat() if len(file) > 1 else ""
    return Document(**row, changed_on=day)

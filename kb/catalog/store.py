"""Reading and writing the catalog. Writers hold `write_lock`; one document is one transaction."""

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields
from functools import partial

from kb.catalog.citations import Places, Trails, check, packed_lines, unpacked_lines
from kb.catalog.connection import storage_errors
from kb.catalog.database import among
from kb.catalog.facts import FactTables
from kb.catalog.health import Health
from kb.catalog.symbols import SymbolTables
from kb.catalog.vectors import VectorTables
from kb.catalog.vocabulary import VocabularyTables
from kb.catalog.words import identifier_words, target_word, within
from kb.errors import CitationError
from kb.types.passages import Passage, TableRow
from kb.types.records import ChunkRecord, DocumentRecord, DocumentState, Generation, text_digest

COLUMNS = ("title", "heading", "body", "path", "identifiers")
"""Columns of the lexical index, in the order of the weights of `lexical`. One more column, `target`, only limits the
scope and has weight 0."""
ROW_COLUMNS = ("heading", "body", "identifiers")
"""Columns of the lexical index of table rows; it too has the column `target`."""

_STORED_OTHERWISE = ("lines", "warnings", "sections", "chunks", "facts")
_STORED_AS_THEY_ARE = [field.name for field in fields(DocumentRecord) if field.name not in _STORED_OTHERWISE]
_CHUNK = """SELECT c.*, d.path, d.sha256, d.target, d.title, d.trust,
                   substr(d.text, c.start + 1, c.end - c.start) AS quote
            FROM chunk c JOIN document d ON d.id = c.document_id"""
_ROW = """SELECT r.*, c.document_id, c.section, d.path, d.sha256, substr(d.text, r.start + 1, r.end - r.start) AS quote
          FROM table_row r JOIN chunk c ON c.id = r.chunk_id JOIN document d ON d.id = c.document_id"""


class Catalog(FactTables, SymbolTables, VocabularyTables, VectorTables, Health):
    """An open catalog; not for use by several threads."""

    # Documents

    def states(self) -> dict[str, DocumentState]:
        """Every stored document, by source."""
        names = ", ".join(field.name for field in fields(DocumentState))
        rows = self._all(f"SELECT {names} FROM document ORDER BY source")
        return {row["source"]: DocumentState(**dict(row)) for row in rows}

    def digests(self, sources: Collection[str]) -> dict[str, str]:
        """SHA-256 by source, for those of `sources` that are stored."""
        limit, names = among(sources, column="source")
        return dict(map(tuple, self._all(f"SELECT source, sha256 FROM document WHERE true {limit}", names)))

    @contextmanager
    def bulk(self) -> Iterator[None]:
        """Inside, a power cut may undo the last changes and harms no other; at the end all are on the disk.

        Waiting for the disk after each of 3,600 small documents takes half of the time of storing them.
        """
        self._db.execute("PRAGMA synchronous = NORMAL")
        try:
            yield
        finally:
            self._db.execute("PRAGMA synchronous = FULL")
            with storage_errors(self.home):  # this writes to the disk what was logged before it, too
                self._db.execute("INSERT OR REPLACE INTO state SELECT * FROM state WHERE key = 'revision'")

    def put(self, document: DocumentRecord, *, model: str | None) -> None:
        """Store `document`, replacing an earlier version of the same source, all at once or not at all.

        Words find it from now on. Texts without a vector of `model` wait for `put_vectors`; with None, none is needed.
        Facts that a reader answered stay if the document still has their quote.
        """
        with self._transaction() as db:
            answers = self._answers(document.source, document.text)
            db.execute("DELETE FROM main.document WHERE source = ?", (document.source,))
            values: dict[str, object] = {name: getattr(document, name) for name in _STORED_AS_THEY_ARE}
            values |= {"lines": packed_lines(document.lines), "warnings": json.dumps(document.warnings)}
            document_id = self._insert("document", values)
            for ordinal, section in enumerate(document.sections):
                self._insert("section", {"document_id": document_id, "ordinal": ordinal, **asdict(section)})
            self._put_chunks(document_id, document)
            places = Places.in_document(document)
            for fact in document.facts:
                self._put_fact(document_id, fact, document.text, places)
            self._add_facts(document_id, answers, document.text, partial(Places.in_document, document))
            if model is not None:
                self._put_unembedded(document.window_digests(), model)

    def _put_chunks(self, document_id: int, document: DocumentRecord) -> None:
        places = Places.in_document(document)
        target = target_word(document.target)
        for ordinal, chunk in enumerate(document.chunks):
            text = document.text[chunk.start : chunk.end]
            place = places.of(chunk.section, chunk.start, chunk.end, chunk.lead + text)
            fields = {k: getattr(chunk, k) for k in ("section", "kind", "lead", "start", "end")}
            fields |= {"document_id": document_id, "ordinal": ordinal, "digest": text_digest(chunk.lead, text)}
            chunk_id = self._insert("chunk", {**fields, **place})
            identifiers = identifier_words(f"{chunk.heading}\n{chunk.body}")
            self._db.execute(
                f"INSERT INTO lexical (rowid, {', '.join(COLUMNS)}, target) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (chunk_id, document.title, chunk.heading, chunk.body, document.path, identifiers, target),
            )
            self._db.executemany(
                "INSERT INTO embedded VALUES (?, ?, ?)",
                ((chunk_id, i, text_digest(window)) for i, window in enumerate(chunk.windows)),
            )
            self._put_rows(chunk_id, chunk, document, places)

    def _put_rows(self, chunk_id: int, chunk: ChunkRecord, document: DocumentRecord, places: Places) -> None:
        for row in chunk.rows:
            text = document.text[row.start : row.end]
            place = places.of(chunk.section, row.start, row.end, "row" + text)
            fields = {"chunk_id": chunk_id, "start": row.start, "end": row.end, "digest": text_digest(text)}
            row_id = self._insert("table_row", {**fields, "cells": json.dumps(row.cells), **place})
            self._db.execute(
                f"INSERT INTO lexical_row (rowid, {', '.join(ROW_COLUMNS)}, target) VALUES (?, ?, ?, ?, ?)",
                (row_id, chunk.heading, row.statement, identifier_words(row.statement), target_word(document.target)),
            )

    def remove(self, sources: Iterable[str]) -> None:
        """Delete these documents and everything derived from them, in one transaction."""
        with self._transaction() as db:
            db.executemany("DELETE FROM main.document WHERE source = ?", ((s,) for s in sources))

    def touched(self, source: str, *, stamp: str) -> None:
        """Record a new stamp for a file whose content is the same."""
        with storage_errors(self.home):
            self._db.execute("UPDATE main.document SET stamp = ? WHERE source = ?", (stamp, source))

    def moved(self, sources: Mapping[str, str]) -> None:
        """Record the new sources of documents whose files moved, by their old sources, in one transaction."""
        with self._transaction() as db:
            db.executemany(
                "UPDATE main.document SET source = ? WHERE source = ?", ((new, old) for old, new in sources.items())
            )

    # Search

    def lexical(
        self, match: str, *, weights: Sequence[float] = (1.0,) * 5, targets: Collection[str] | None, limit: int
    ) -> list[tuple[int, float]]:
        """Chunk ids with BM25 scores, highest first, for the FTS5 expression `match` and one weight per column."""
        rows = self._all(
            f"""SELECT rowid AS id, -bm25(lexical, {", ".join(map(str, (*weights, 0.0)))}) AS score
                FROM lexical WHERE lexical MATCH ? {self._of_seen.format(id="rowid")}
                ORDER BY score DESC, rowid LIMIT ?""",
            (within(targets, match), limit),
        )
        return [(row["id"], row["score"]) for row in rows]

    def lexical_rows(self, match: str, *, targets: Collection[str] | None, limit: int) -> list[tuple[int, int, float]]:
        """Like `lexical` for table rows: (chunk id, row id, score). All columns of ROW_COLUMNS weigh the same."""
        seen = self._of_seen.format(id="(SELECT chunk_id FROM table_row t WHERE t.id = lexical_row.rowid)")
        rows = self._all(
            f"""SELECT r.chunk_id, found.id, found.score FROM (
                    SELECT rowid AS id, -bm25(lexical_row, 1.0, 1.0, 1.0, 0.0) AS score
                    FROM lexical_row WHERE lexical_row MATCH ? {seen} ORDER BY score DESC, rowid LIMIT ?
                ) found JOIN table_row r ON r.id = found.id ORDER BY found.score DESC, found.id""",
            (within(targets, match), limit),
        )
        return [(row["chunk_id"], row["id"], row["score"]) for row in rows]

    def chunks_of(self, paths: Collection[str] | None) -> dict[int, tuple[str, str]]:
        """Kind and searched text by chunk id, for the documents with these paths (None: for all)."""
        limit, values = among(paths, column="d.path")
        rows = self._all(
            f"""SELECT c.id, c.kind, l.body FROM chunk c JOIN document d ON d.id = c.document_id
                JOIN lexical l ON l.rowid = c.id WHERE true {limit} ORDER BY c.id""",
            values,
        )
        return {row["id"]: (row["kind"], row["body"]) for row in rows}

    def neighbours(self, key: str, *, reach: int) -> tuple[list[int], list[int]]:
        """Up to `reach` chunks before the one cited as `key`, and up to `reach` after it, nearest first."""
        rows = self._all(
            """SELECT n.id, n.ordinal - c.ordinal AS steps FROM chunk c JOIN chunk n ON n.document_id = c.document_id
               AND n.ordinal BETWEEN c.ordinal - :reach AND c.ordinal + :reach AND n.id != c.id
               WHERE c.key = :key ORDER BY abs(steps)""",
            {"key": key, "reach": reach},
        )
        return [r["id"] for r in rows if r["steps"] < 0], [r["id"] for r in rows if r["steps"] > 0]

    def targets_of(self, chunks: Collection[int]) -> dict[int, str]:
        limit, ids = among(chunks, column="c.id")
        query = f"SELECT c.id, d.target FROM chunk c JOIN document d ON d.id = c.document_id WHERE true {limit}"
        return {row["id"]: row["target"] for row in self._all(query, ids)}

    # Passages and rows; each is checked against the document before it is returned

    def passages(self, chunk_ids: Sequence[int]) -> list[Passage]:
        """The passages with these chunk ids, in this order.

        Raises:
            CitationError: a passage is gone or differs from the text of its document.
        """
        trails = Trails(self.heading_path)
        limit, ids = among([*map(int, chunk_ids)], column="c.id")
        rows = {row["id"]: row for row in self._all(f"{_CHUNK} WHERE true {limit}", ids)}
        if gone := [i for i in chunk_ids if int(i) not in rows]:
            raise CitationError(f"{len(gone)} passages are no longer stored", hint="search again")
        return [self._passage(rows[int(i)], trails) for i in chunk_ids]

    def passage(self, key: str) -> Passage:
        """The passage cited as `key`.

        Raises:
            CitationError: there is none, or it differs from the text of its document.
        """
        row = self._one(f"{_CHUNK} WHERE c.key = ?", (key,))
        if row is None:
            raise _unknown_id(key)
        return self._passage(row, Trails(self.heading_path))

    def rows(self, row_ids: Sequence[int]) -> list[TableRow]:
        """The table rows with these ids, in this order; errors as in `passages`."""
        trails = Trails(self.heading_path)
        limit, ids = among(row_ids, column="r.id")
        rows = {row["id"]: self._row(row, trails) for row in self._all(f"{_ROW} WHERE true {limit}", ids)}
        return [rows[i] for i in row_ids]

    def row(self, key: str) -> TableRow | None:
        row = self._one(f"{_ROW} WHERE r.key = ?", (key,))
        return self._row(row, Trails(self.heading_path)) if row is not None else None

    def source_lines(self, key: str, *, around: int) -> tuple[str, list[tuple[int, str, bool]]]:
        """Source of the document with chunk, row or fact `key`, and its lines with `around` more on each side.

        Each line is (number in the file, text, whether it belongs to the passage).
        """
        row = self._one(
            """SELECT d.source, d.text, d.lines, p.start, p.end FROM document d JOIN (
                   SELECT key, document_id, start, end FROM chunk WHERE key = :key
                   UNION ALL SELECT key, document_id, start, end FROM fact WHERE key = :key
                   UNION ALL SELECT r.key, c.document_id, r.start, r.end FROM table_row r
                             JOIN chunk c ON c.id = r.chunk_id WHERE r.key = :key) p ON p.document_id = d.id""",
            {"key": key},
        )
        if row is None:
            raise _unknown_id(key)
        numbers = unpacked_lines(row["lines"])
        first = row["text"].count("\n", 0, row["start"])
        last = row["text"].count("\n", 0, row["end"])
        lines = row["text"].split("\n")
        shown = range(max(0, first - around), min(len(lines), last + around + 1))
        return row["source"], [(numbers[i], lines[i], first <= i <= last) for i in shown]

    def _passage(self, row: sqlite3.Row, trails: Trails) -> Passage:
        check(row, text_digest(row["lead"], row["quote"]))
        return Passage(
            citation=trails.citation(row),
            target=row["target"],
            title=row["title"],
            kind=row["kind"],
            lead=row["lead"],
            text=row["quote"],
            ordinal=row["ordinal"],
            trust=row["trust"],
        )

    def _row(self, row: sqlite3.Row, trails: Trails) -> TableRow:
        check(row, text_digest(row["quote"]))
        quote, cells = row["quote"], json.loads(row["cells"])
        texts = tuple((header, quote[start:end].replace("\\|", "|")) for header, start, end in cells)
        return TableRow(citation=trails.citation(row), cells=texts)

    # State

    @property
    def generation(self) -> Generation | None:
        row = self._one("SELECT value FROM state WHERE key = 'generation'")
        return Generation(**json.loads(row["value"])) if row else None

    def publish(self, generation: Generation) -> None:
        with storage_errors(self.home):
            self._db.execute("INSERT OR REPLACE INTO state VALUES ('generation', ?)", (json.dumps(asdict(generation)),))

    def counts(self) -> dict[str, int]:
        tables = ("document", "section", "chunk", "fact", "vector")
        return {t: self._all(f"SELECT count(*) AS n FROM {t}")[0]["n"] for t in tables}


def _unknown_id(key: str) -> CitationError:
    return CitationError(f"no passage has the id {key!r}", hint="`kb search` shows ids; also `kb cite PATH:LINE` works")

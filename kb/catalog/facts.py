"""Facts in the catalog, and people's verdicts on them."""

import json
import sqlite3
import zlib
from array import array
from collections.abc import Collection, Sequence
from dataclasses import asdict

from kb.catalog.citations import Places, Trails, check
from kb.catalog.database import scope_of
from kb.catalog.documents import DocumentTables
from kb.model.fact import Fact
from kb.model.records import DocumentRecord, FactRecord, Form, text_digest

_FACT_FIELDS = (
    "target",
    "quantity",
    "value",
    "number",
    "unit",
    "condition",
    "source",
    "trust",
    "form",
    "version",
    "quote",
)
_FACT = """SELECT f.*, d.path, d.sha256, d.trust, d.version, substr(d.text, f.start + 1, f.end - f.start) AS quote
           FROM fact f JOIN document d ON d.id = f.document_id"""


class FactTables(DocumentTables):
    def facts(self, targets: Collection[str] | None, *, quantities: Collection[str] | None = None) -> list[Fact]:
        """All facts of `quantities` about `targets` (None: of and about all), in the order of their documents."""
        about, names = scope_of(targets, column="f.target")
        among, wanted = scope_of(quantities, column="f.quantity")
        trails = Trails(self.heading_path)
        rows = self._all(f"{_FACT} WHERE true {about} {among} ORDER BY f.id", (*names, *wanted))
        return [self._fact(row, trails) for row in rows]

    def fact(self, key: str) -> Fact | None:
        row = self._one(f"{_FACT} WHERE f.key = ?", (key,))
        return self._fact(row, Trails(self.heading_path)) if row is not None else None

    def stated_in(self, keys: Sequence[str]) -> list[tuple[str, int, int | None]]:
        """Fact key, chunk id and, for a fact in a table, row id of the place where each of these facts is stated."""
        rows = self._all(
            """SELECT f.key, c.id AS chunk, r.id AS row FROM fact f
               JOIN chunk c ON c.document_id = f.document_id AND c.start <= f.start AND f.start < c.end
               LEFT JOIN table_row r ON r.chunk_id = c.id AND r.start <= f.start AND f.start < r.end
               WHERE f.key IN (SELECT value FROM json_each(?))""",
            (json.dumps(list(keys)),),
        )
        return [(row["key"], row["chunk"], row["row"]) for row in rows]

    def verdicts(self) -> dict[str, str]:
        """Verdicts on facts, by fact key."""
        return {row["key"]: row["verdict"] for row in self._all("SELECT key, verdict FROM fact_verdict")}

    def put_verdict(self, key: str, verdict: str | None, *, reason: str, at: str) -> None:
        """Replace the verdict on a fact; None removes it."""
        with self._transaction() as db:
            db.execute("DELETE FROM fact_verdict WHERE key = ?", (key,))
            if verdict is not None:
                db.execute("INSERT INTO fact_verdict VALUES (?, ?, ?, ?)", (key, verdict, reason, at))

    def _put_facts(self, document_id: int, document: DocumentRecord) -> None:
        places = Places.in_document(document)
        for fact in document.facts:
            self._put_fact(document_id, fact, document.text, places)

    def _put_fact(self, document_id: int, fact: FactRecord, document: str, places: Places) -> str:
        """Store a fact and return its key, which does not depend on other facts of the same sentence."""
        text = document[fact.start : fact.end]
        said = "\x1f".join((fact.target, fact.quantity, fact.value, fact.unit, fact.condition, text))
        place = places.of(fact.section, fact.start, fact.end, "fact" + said)
        self._insert("fact", {"document_id": document_id, "digest": text_digest(text), **asdict(fact), **place})
        return str(place["key"])

    def add_facts(self, source: str, facts: Sequence[FactRecord]) -> list[str]:
        """Replace the facts that a model proposed from a document; return the keys of the new ones."""
        [row] = self._all("SELECT id, text, lines FROM document WHERE source = ?", (source,))
        places = Places(source, row["text"], array("I", zlib.decompress(row["lines"])), self.sections(row["id"]))
        with self._transaction() as db:
            db.execute("DELETE FROM fact WHERE document_id = ? AND form = ?", (row["id"], Form.PROPOSED))
            return [self._put_fact(row["id"], fact, row["text"], places) for fact in facts]

    def _fact(self, row: sqlite3.Row, trails: Trails) -> Fact:
        check(row, text_digest(row["quote"]))
        fields = {k: row[k] for k in _FACT_FIELDS}
        return Fact(**fields, citation=trails.citation(row))

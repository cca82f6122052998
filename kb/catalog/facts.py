"""Facts in the catalog, and what people decided about them."""

import json
import re
import sqlite3
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, fields, replace
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from kb.catalog.citations import Places, Trails, check, unpacked_lines
from kb.catalog.database import among
from kb.catalog.documents import DocumentTables
from kb.types.fact import Fact
from kb.types.records import FactRecord, Form, text_digest

_FACT_FIELDS = tuple(name for name in Fact.model_fields if name != "citation")
_FACT = """SELECT f.*, d.path, d.sha256, d.trust, d.version, substr(d.text, f.start + 1, f.end - f.start) AS quote
           FROM fact f JOIN document d ON d.id = f.document_id"""


class Decided(NamedTuple):
    """A person's decision about a fact."""

    verdict: str
    reason: str
    at: str
    """Time in UTC, ISO 8601."""
    condition: str
    """A condition that a person added in an earlier version."""

    def __str__(self) -> str:
        return f"{self.verdict} {self.at[:10]}: {self.reason}" if self.reason else f"{self.verdict} {self.at[:10]}"


class FactTables(DocumentTables):
    """The facts of a catalog, and what it has of each target."""

    def facts(self, targets: Collection[str] | None, *, quantities: Collection[str] | None = None) -> list[Fact]:
        """All facts of `quantities` about `targets` (None: of and about all), in the order of their documents."""
        about, names = among(targets, column="f.target")
        of, wanted = among(quantities, column="f.quantity")
        trails = Trails(self.heading_path)
        rows = self._all(f"{_FACT} WHERE true {about} {of} ORDER BY f.id", (*names, *wanted))
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

    def label(self, key: str) -> str:
        """The header of the cell with this fact, and the first cell of its row; empty if it stands in no table."""
        row = self._one(
            """SELECT r.cells, f.start - r.start AS at, substr(d.text, r.start + 1, r.end - r.start) AS line FROM fact f
               JOIN document d ON d.id = f.document_id
               JOIN chunk c ON c.document_id = d.id AND c.start <= f.start AND f.start < c.end
               JOIN table_row r ON r.chunk_id = c.id AND r.start <= f.start AND f.start < r.end WHERE f.key = ?""",
            (key,),
        )
        cells = json.loads(row["cells"]) if row else []
        first = [row["line"][start:end] for _, start, end in cells[:1]] if row else []
        return " ".join((*first, *(header for header, start, end in cells if row and start <= row["at"] < end)))

    def decisions(self) -> dict[str, Decided]:
        """Each decision about a fact, by fact key."""
        rows = self._all("SELECT key, verdict, reason, at, condition FROM fact_verdict ORDER BY key")
        return {key: Decided(*decided) for key, *decided in rows}

    def put_decisions(self, keys: Collection[str], verdict: str | None, *, reason: str) -> None:
        """Replace the decisions about these facts by those of now, all or none; None removes them."""
        with self._transaction() as db:
            db.executemany("DELETE FROM fact_verdict WHERE key = ?", ((key,) for key in keys))
            if verdict is not None:
                now = datetime.now(UTC).isoformat(timespec="seconds")
                rows = ((key, str(verdict), reason, now) for key in keys)
                db.executemany("INSERT INTO fact_verdict VALUES (?, ?, ?, ?, '')", rows)

    def count_by_target(self) -> dict[str, int]:
        """Number of documents of each target that has some."""
        rows = self._all("SELECT target, count(*) AS n FROM document GROUP BY target ORDER BY 1")
        return {row["target"]: row["n"] for row in rows}

    def count_of_target(self, target: str) -> dict[str, int]:
        """Numbers of documents, passages, facts and verdicts on facts of one target."""
        row = self._all(
            """SELECT (SELECT count(*) FROM document WHERE target = :target) AS documents,
                      (SELECT count(*) FROM chunk c JOIN document d ON d.id = c.document_id WHERE d.target = :target)
                          AS passages,
                      (SELECT count(*) FROM fact WHERE target = :target) AS facts,
                      (SELECT count(*) FROM fact_verdict WHERE key IN (SELECT key FROM fact WHERE target = :target))
                          AS verdicts""",
            {"target": target},
        )[0]
        return dict(row)

    def remove_target(self, target: str) -> None:
        """Delete the documents of a target, and the facts about it in others, in one transaction."""
        with self._transaction() as db:
            db.execute("DELETE FROM main.document WHERE target = ?", (target,))
            db.execute("DELETE FROM fact WHERE target = ?", (target,))

    def _put_fact(self, document_id: int, fact: FactRecord, document: str, places: Places) -> str:
        """Store a fact and return its key: it says what the fact says, whatever others the sentence states."""
        text = document[fact.start : fact.end]
        said = "\x1f".join((fact.target, fact.quantity, fact.value, fact.unit, fact.condition, text))
        place = places.of(fact.section, fact.start, fact.end, "fact" + said)
        if not self._one("SELECT 1 FROM fact WHERE key = ? AND document_id = ?", (place["key"], document_id)):
            self._insert("fact", {"document_id": document_id, "digest": text_digest(text), **asdict(fact), **place})
        return str(place["key"])

    def add_facts(self, source: str, facts: Sequence[FactRecord]) -> list[str]:
        """Add readers' answers to a document and return their keys; a fact that is stored already stays as it is."""
        [row] = self._all("SELECT id, origin, text, lines FROM document WHERE source = ?", (source,))
        lines, sections = unpacked_lines(row["lines"]), self.sections(row["id"])
        with self._transaction():
            places = partial(Places, row["origin"], row["text"], lines, sections)
            return self._add_facts(row["id"], facts, row["text"], places)

    def _add_facts(
        self, document_id: int, facts: Sequence[FactRecord], text: str, places: Callable[[], Places]
    ) -> list[str]:
        """Store each fact in the section where it stands; `places` are new for each, so that equal facts are one."""
        sections = self.sections(document_id)
        keys = []
        for fact in facts:
            inner = max((i for i, s in enumerate(sections) if s.start <= fact.start < s.end), default=None)
            keys.append(self._put_fact(document_id, replace(fact, section=inner), text, places()))
        return keys

    def _answers(self, source: str, text: str) -> list[FactRecord]:
        """The readers' answers about the stored document, placed in its new `text`; without those no longer in it.

        Of several equal places a quote keeps its number: the second stays the second.
        """
        rows = self._all(f"{_FACT} WHERE d.source = ? AND f.form = ?", (source, Form.PROPOSED))
        before = self.text(source) if rows else ""
        found = []
        for row in rows:
            quote, names = row["quote"], (field.name for field in fields(FactRecord))
            fact = FactRecord(**{name: row[name] for name in names})
            starts = [place.start() for place in re.finditer(re.escape(quote), text)]
            if starts:
                start = starts[min(before.count(quote, 0, fact.start), len(starts) - 1)]
                found.append(replace(fact, start=start, end=start + len(quote)))
        return found

    def _fact(self, row: sqlite3.Row, trails: Trails) -> Fact:
        check(row, text_digest(row["quote"]))
        return Fact(**{name: row[name] for name in _FACT_FIELDS}, citation=trails.citation(row))

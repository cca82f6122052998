"""The targets of the documents and facts in the catalog: counts, another name, removal."""

import sqlite3
from dataclasses import replace

from kb.catalog.facts import FactTables, place_of_fact, record_of
from kb.catalog.words import target_word
from kb.types.records import Form


class TargetTables(FactTables):
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

    def rename_target(self, old: str, new: str) -> None:
        """Give the documents and facts of a target to another name, with the verdicts on the facts."""
        with self._transaction() as db:
            for document in self._all(
                """SELECT id, origin, text, lines FROM document
                   WHERE id IN (SELECT document_id FROM fact WHERE target = ?)""",
                (old,),
            ):
                self._rename_facts(document, old, new)
            db.execute("UPDATE document SET target = ? WHERE target = ?", (new, old))
            chunks = "SELECT c.id FROM chunk c JOIN document d ON d.id = c.document_id WHERE d.target = ?"
            rows = f"SELECT id FROM table_row WHERE chunk_id IN ({chunks})"
            for index, ids in (("lexical", chunks), ("lexical_row", rows)):
                db.execute(f"UPDATE {index} SET target = ? WHERE rowid IN ({ids})", (target_word(new), new))

    def _rename_facts(self, document: sqlite3.Row, old: str, new: str) -> None:
        """Rename the target of a document's facts. A fact's key holds the target, so that the keys change."""
        rows = self._all("SELECT * FROM fact WHERE document_id = ? ORDER BY id", (document["id"],))
        places_of = self._places_of(document)
        read = places_of()
        for row in rows:
            fact = record_of(row)
            renamed = replace(fact, target=new if fact.target == old else fact.target)
            places = places_of() if fact.form == Form.PROPOSED else read
            key = place_of_fact(renamed, document["text"][fact.start : fact.end], places)["key"]
            self._db.execute("UPDATE fact SET target = ?, key = ? WHERE id = ?", (renamed.target, key, row["id"]))
            self._db.execute("UPDATE OR REPLACE fact_verdict SET key = ? WHERE key = ?", (key, row["key"]))

    def remove_target(self, target: str) -> None:
        """Delete the documents of a target, and the facts about it in others, in one transaction."""
        with self._transaction() as db:
            db.execute("DELETE FROM document WHERE target = ?", (target,))
            db.execute("DELETE FROM fact WHERE target = ?", (target,))

"""The targets of the documents and facts in the catalog: counts and removal."""

from kb.catalog.facts import FactTables


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

    def remove_target(self, target: str) -> None:
        """Delete the documents of a target, and the facts about it in others, in one transaction."""
        with self._transaction() as db:
            db.execute("DELETE FROM main.document WHERE target = ?", (target,))
            db.execute("DELETE FROM fact WHERE target = ?", (target,))

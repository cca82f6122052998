"""Look up words and names in the documents of some targets."""

import re
from collections.abc import Collection, Sequence

from kb.catalog.database import Database, among
from kb.catalog.words import is_identifier, match_expression, scope_words, within


class VocabularyTables(Database):
    def texts_with(self, phrases: Sequence[str], *, targets: Collection[str], limit: int) -> list[str]:
        """Up to `limit` passages of `targets` that contain one of `phrases`, compared by word stems."""
        rows = self._all(
            f"SELECT body FROM lexical WHERE lexical MATCH ? {self._of_seen.format(id='rowid')} LIMIT ?",
            (within(targets, match_expression(list(phrases))), limit),
        )
        return [row["body"] for row in rows]

    def shares_with(self, words: Collection[str], *, targets: Collection[str]) -> dict[str, float]:
        """For each word the share of the passages of `targets` that have it in text, headings or path, by stems."""
        total = self._all("SELECT count(*) FROM lexical WHERE lexical MATCH ?", (f"target : ({scope_words(targets)})",))
        counts = {
            word: self._all(
                "SELECT count(*) FROM lexical WHERE lexical MATCH ?", (within(targets, match_expression([word])),)
            )
            for word in words
        }
        return {word: rows[0][0] / max(1, total[0][0]) for word, rows in counts.items()}

    def passages_with(
        self, name: str, *, columns: Collection[str], targets: Collection[str] | None, limit: int
    ) -> list[tuple[int, str]]:
        """Up to `limit` chunks of `targets` with `name` in these columns of the lexical index, and the columns' text.

        Names are compared by word stems, and `name` may be part of a longer one.
        """
        rows = self._all(
            f"SELECT rowid AS id, {', '.join(columns)} FROM lexical WHERE lexical MATCH ? "
            f"{self._of_seen.format(id='rowid')} LIMIT ?",
            (within(targets, f"{{{' '.join(columns)}}} : {match_expression([name])}"), limit),
        )
        return [(row["id"], "\n".join(row[column] for column in columns)) for row in rows]

    def holds(self, word: str, *, targets: Collection[str], whole: bool) -> bool:
        """Whether documents of `targets` contain `word`, or, unless `whole`, a longer word that begins with it.

        Case does not matter. Anything but letters and digits separates words: `v_mfma_f32` contains `mfma`. Slow: reads
        all the text.
        """
        pattern = f"*[^a-z0-9]{word.lower()}{'[^a-z0-9]' if whole else ''}*"
        scope, names = among(targets, column="target")
        query = f"SELECT 1 FROM document WHERE true {scope} AND lower(' ' || text || ' ') GLOB ? LIMIT 1"
        return bool(self._all(query, (*names, pattern)))

    def names(self, beginning: str, *, targets: Collection[str]) -> set[str]:
        """Identifiers in the documents of `targets` that begin with `beginning` in any case, as they are written."""
        scope, spellings = among(targets, column="target")
        rows = self._all(f"SELECT text FROM document WHERE true {scope}", spellings)
        name = re.compile(rf"\b{re.escape(beginning)}\w*(?:\.\w+)*", re.ASCII | re.IGNORECASE)
        return {found for row in rows for found in name.findall(row["text"]) if is_identifier(found)}

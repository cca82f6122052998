"""Which words the documents of some targets hold."""

import json
import re
from collections.abc import Collection, Sequence

from kb.catalog.database import Database
from kb.catalog.words import is_identifier, match_expression, within


class VocabularyTables(Database):
    def texts_with(self, phrases: Sequence[str], *, targets: Collection[str], limit: int) -> list[str]:
        """Some passages of `targets` that have one of `phrases`, by the stems of its words."""
        rows = self._all(
            "SELECT body FROM lexical WHERE lexical MATCH ? LIMIT ?",
            (within(targets, match_expression(list(phrases))), limit),
        )
        return [row["body"] for row in rows]

    def holds(self, word: str, *, targets: Collection[str], whole: bool) -> bool:
        """Whether `word`, or if not `whole` a longer one that begins so, stands in documents of `targets`, in any case.

        Words are joined by what is no letter and no digit: `mfma` is one in `v_mfma_f32`. Reads all the text.
        """
        pattern = f"*[^a-z0-9]{word.lower()}{'[^a-z0-9]' if whole else ''}*"
        return bool(
            self._all(
                """SELECT 1 FROM document WHERE target IN (SELECT value FROM json_each(?))
                   AND lower(' ' || text || ' ') GLOB ? LIMIT 1""",
                (json.dumps(sorted(targets)), pattern),
            )
        )

    def names(self, beginning: str, *, targets: Collection[str]) -> set[str]:
        """The identifiers in the documents of `targets` that begin so, as they are written and in any case."""
        rows = self._all(
            "SELECT text FROM document WHERE target IN (SELECT value FROM json_each(?))", (json.dumps(sorted(targets)),)
        )
        name = re.compile(rf"\b{re.escape(beginning)}\w*(?:\.\w+)*", re.ASCII | re.IGNORECASE)
        return {found for row in rows for found in name.findall(row["text"]) if is_identifier(found)}

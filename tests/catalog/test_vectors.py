"""The vectors of some chunks are read without those of all others."""

from collections.abc import Collection
from pathlib import Path

import pytest

from kb.catalog import Catalog


@pytest.mark.parametrize(("targets", "chunks"), [(None, [1, 2]), (["mi210"], None), (["mi210"], [1])])
def test_a_query_for_some_vectors_finds_each_by_its_text(
    home: Path, targets: Collection[str] | None, chunks: Collection[int] | None
) -> None:
    asked: list[str] = []
    with Catalog(home) as catalog:
        catalog._db.set_trace_callback(asked.append)
        catalog.vectors("model", targets=targets, chunks=chunks)
        plan = [row["detail"] for row in catalog._db.execute(f"EXPLAIN QUERY PLAN {asked[0]}")]

    assert "SEARCH v USING PRIMARY KEY (model=? AND text_digest=?)" in plan

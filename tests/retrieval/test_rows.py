"""A table row is found by its cells, raises the score of its table, and can be cited cell by cell."""

from pathlib import Path

import pytest

from kb.errors import CitationError
from kb.types.passages import Hit
from kb.usecases.knowledge_base import KnowledgeBase

ROWS = 60
TABLE = "\n".join(
    [
        "# Registers\n\nTable 3: sizes of a unit\n\n| Unit | LDS (KiB) | Note |\n|---|---|---|",
        *(f"| unit{n} | {n * 2} | {'lane ' * 12} |" for n in range(ROWS)),
    ]
)


@pytest.fixture
def asked(kb: KnowledgeBase, tmp_path: Path) -> KnowledgeBase:
    folder = tmp_path / "mi300x"
    folder.mkdir()
    (folder / "registers.md").write_text(TABLE, encoding="utf-8")
    (folder / "prose.md").write_text("# Units\n\nA unit has a local data share, and unit47 too.\n", encoding="utf-8")
    kb.ingest([folder])
    return kb


def best(kb: KnowledgeBase, question: str) -> Hit:
    """The first hit that is part of the table."""
    return next(hit for hit in kb.search(question, target="mi300x").hits if hit.passage.kind == "table")


def test_a_row_is_found_by_its_cells_and_raises_its_part_of_the_table(asked: KnowledgeBase) -> None:
    hit = best(asked, "LDS of unit47")

    assert "unit47" in hit.passage.text
    assert hit.rows[0].cells[:2] == (("Unit", "unit47"), ("LDS (KiB)", "94"))
    assert hit.rows[0].shown.startswith("Unit = unit47; LDS (KiB) = 94")


def test_a_row_is_cited_by_its_own_line_and_each_of_its_cells_by_number(asked: KnowledgeBase) -> None:
    row = best(asked, "LDS of unit47").rows[0]

    place = asked.cite(row.citation.id)
    cell = asked.cite(f"{row.citation.id}.2")

    line = TABLE.split("\n").index(next(part for part in TABLE.split("\n") if "unit47" in part)) + 1
    assert (row.citation.line_start, row.citation.line_end) == (line, line)
    assert next(text for _, text, cited in place.lines if cited).startswith("| unit47 | 94 |")
    assert (place.cell, cell.cell) == ("", "LDS (KiB) = 94")


@pytest.mark.parametrize("nth", ["0", "4", "x", "-1"])
def test_a_cell_number_that_does_not_exist_is_refused(asked: KnowledgeBase, nth: str) -> None:
    row = best(asked, "LDS of unit47").rows[0]

    with pytest.raises(CitationError, match="has no cell"):
        asked.cite(f"{row.citation.id}.{nth}")


def test_rows_vanish_with_their_file(asked: KnowledgeBase, tmp_path: Path) -> None:
    row = best(asked, "LDS of unit47").rows[0]
    (tmp_path / "mi300x" / "registers.md").unlink()

    asked.ingest([tmp_path / "mi300x"])

    assert asked.catalog.row(row.citation.id) is None
    assert not any(hit.rows for hit in asked.search("unit47", target="mi300x").hits)


def test_a_passage_that_is_not_a_row_has_no_cells(asked: KnowledgeBase) -> None:
    passage = best(asked, "LDS of unit47").passage

    with pytest.raises(CitationError, match="is not a table row"):
        asked.cite(f"{passage.citation.id}.1")

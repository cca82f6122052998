"""Real tables of all formats: values stand in their rows, under their headers."""

from collections.abc import Sequence

import pytest

from tests.conftest import CORPUS, needs_corpus
from tests.ingest.tables import Gold, faults, gold_tables

FOUND_SHARE = 0.97

pytestmark = needs_corpus


def check(tables: Sequence[Gold]) -> None:
    total = sum(len(table.cells) for table in tables)
    wrong = list(faults(tables, CORPUS))

    listing = "\n".join(f"{fault.table} {tuple(fault.cell)}: {fault.reason}" for fault in wrong)
    assert total - len(wrong) >= FOUND_SHARE * total, f"{len(wrong)} of {total} cells are not found\n{listing}"


@pytest.mark.slow
def test_cells_of_tables_in_text_files_stand_under_their_headers() -> None:
    check([table for table in gold_tables() if table.kind != "pdf"])


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_cells_of_all_tables_stand_under_their_headers() -> None:
    check(gold_tables())

"""Real tables of all formats: values stand under their headers, in their rows."""

import pytest

from tests.conftest import CORPUS, needs_corpus
from tests.ingest.tables import faults, gold_tables

FOUND_SHARE = 0.97
SLOW_KINDS = {"pdf"}

pytestmark = needs_corpus


def check(*, slow: bool) -> None:
    tables = [table for table in gold_tables() if (table.kind in SLOW_KINDS) == slow]
    total = sum(len(table.cells) for table in tables)
    wrong = list(faults(tables, CORPUS))

    listing = "\n".join(f"{fault.table} {tuple(fault.cell)}: {fault.reason}" for fault in wrong)
    assert total - len(wrong) >= FOUND_SHARE * total, f"{len(wrong)} of {total} cells are not found\n{listing}"


def test_cells_of_real_tables_stand_under_their_headers() -> None:
    check(slow=False)


@pytest.mark.slow
def test_cells_of_tables_in_pdf_files_stand_under_their_headers() -> None:
    check(slow=True)

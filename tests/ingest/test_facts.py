"""Fact tables: each row is a fact with its unit, or is refused with the reason."""

from pathlib import Path

import pytest

from ingest.builder import ParsedDocument
from ingest.readers import read
from tests.ingest.documents import facts_of

HEADER = "| quantity | value | unit | condition | source |\n|---|---|---|---|---|\n"


def parse(text: str, name: str = "sheet.md") -> ParsedDocument:
    return read(Path(name), text.encode(), root=Path("/"))


def of_rows(*rows: str) -> tuple[list[tuple[object, ...]], list[str]]:
    found, refused = facts_of(parse("# Head\n\n" + HEADER + "\n".join(rows) + "\n"), target="mi300x")
    return [(f.quantity, f.value, f.number, f.unit, f.condition, f.source) for f in found], refused


@pytest.mark.parametrize(
    ("row", "number"),
    [
        ("| lds_size | 64 | KiB | per compute unit | guide, 3.1 |", 64.0),
        ("| hbm_bandwidth | 5.3 | TB/s | | guide |", 5.3),
        ("| latency | 1e-6 | s | | guide |", 1e-6),
        ("| offset | -4 | byte | | guide |", -4.0),
        ("| matrix_shape | 32x32x8 | MxNxK | float16 | guide |", None),
        ("| tile | 16x16 | 1 | | guide |", None),
    ],
)
def test_a_complete_row_is_a_fact_as_written(row: str, number: float | None) -> None:
    found, refused = of_rows(row)

    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert found == [(cells[0], cells[1], number, *cells[2:])]
    assert refused == []


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("| lds_size | 64 |  | | guide |", "no unit"),
        ("| lds_size |  | KiB | | guide |", "no value"),
        ("|  | 64 | KiB | | guide |", "no quantity"),
        ("| lds_size | 64 | KiB | per unit |  |", "no source"),
        ("| lds_size | many | KiB | | guide |", "'many'"),
        ("| lds_size | 64 KiB | KiB | | guide |", "'64 KiB'"),
        ("| lds_size | ~64 | KiB | | guide |", "'~64'"),
        ("| lds_size | 1,024 | KiB | | guide |", "'1,024'"),
        ("| lds_size | 1_024 | KiB | | guide |", "'1_024'"),
        ("| lds_size | 32-64 | KiB | | guide |", "'32-64'"),
        ("| lds_size | 32x | KiB | | guide |", "'32x'"),
        ("| lds_size | nan | KiB | | guide |", "'nan'"),
        ("| lds_size | inf | KiB | | guide |", "'inf'"),
        ("| lds_size | 1e999 | KiB | | guide |", "'1e999'"),
    ],
)
def test_an_invalid_row_is_refused_with_the_reason_and_the_others_are_kept(row: str, reason: str) -> None:
    found, refused = of_rows("| lds_banks | 32 | 1 | | guide |", row, "| lds_bank_width | 4 | byte | | guide |")

    assert [fact[0] for fact in found] == ["lds_banks", "lds_bank_width"]
    assert len(refused) == 1
    assert reason in refused[0]


@pytest.mark.parametrize(
    "header",
    [
        "| quantity | value | unit | source |",
        "| quantity | value | unit | source | condition |",
        "| name | value | unit | condition | source |",
        "| quantity | value | unit | condition | source | note |",
    ],
)
def test_other_tables_give_no_facts(header: str) -> None:
    columns = header.count("|") - 1
    row = "|".join(["", "lds_size", "64", "KiB", "x", "guide", "y"][: columns + 1]) + "|"

    assert facts_of(parse(f"{header}\n{'|---' * columns}|\n{row}\n"), target="any") == ([], [])


def test_the_header_may_be_in_capitals() -> None:
    text = HEADER.replace("quantity", "Quantity").replace("unit", "UNIT") + "| lds_size | 64 | KiB | | guide |\n"

    assert len(facts_of(parse(text), target="any")[0]) == 1


def test_a_table_in_rst_gives_facts_too() -> None:
    cells = ["quantity", "value", "unit", "condition", "source", "lds_size", "64", "KiB", "per unit", "guide"]
    lines = [("   * - " if i % 5 == 0 else "     - ") + cell for i, cell in enumerate(cells)]
    text = ".. list-table::\n   :header-rows: 1\n\n" + "\n".join(lines) + "\n"

    [fact], refused = facts_of(parse(text, "sheet.rst"), target="mi300x")

    assert (fact.target, fact.quantity, fact.number, refused) == ("mi300x", "lds_size", 64.0, [])


def test_a_fact_cites_its_row_and_its_section() -> None:
    document = parse(
        "# A\n\n## B\n\n" + HEADER + "| lds_size | 64 | KiB | | guide |\n| lds_banks | 32 | 1 | | guide |\n"
    )

    found, _ = facts_of(document, target="any")

    assert [document.text[f.start : f.end] for f in found] == document.text.splitlines()[-2:]
    assert {document.sections[f.section or 0].title for f in found} == {"B"}

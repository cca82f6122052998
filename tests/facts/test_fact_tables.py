"""Fact tables: a value in a unit of another kind is refused, and so is a table that lost its header."""

from pathlib import Path

import pytest

from kb.errors import FactError
from kb.facts.quantities import SHAPE, quantities
from kb.types.records import Trust
from kb.types.units import PIECES, unit_of
from kb.usecases.knowledge_base import KnowledgeBase
from tests.facts.documents import FACT_HEADER, parse, records
from tests.ingest.documents import facts_of

UNITS = ["KiB", "TB/s", "B/clock", "TFLOPS", "FLOP/clock", "GHz", "W", "1", "lane", "bit"]
KIN = [{"byte", "bit"}, {*PIECES, "bit"}]
"""Kinds that may replace each other: a width of 512 bit is 64 byte, and a bare number may count bits."""


def row(quantity: str, unit: str) -> str:
    return f"| {quantity} | 65 | {unit} | made up | guide |\n"


def test_a_unit_of_another_kind_is_refused_with_both_names_and_the_other_rows_are_kept() -> None:
    for quantity in quantities().by_name.values():
        for unit in UNITS:
            counted = unit_of(unit)
            assert counted is not None
            if counted.kind == quantity.unit or any({counted.kind, quantity.unit} <= kin for kin in KIN):
                continue
            found, refused = facts_of(
                parse(f"# A\n\n{FACT_HEADER}{row(quantity.name, unit)}{row('own', 'W')}"), target="m1"
            )

            assert [f.quantity for f in found] == ["own"]
            [reason] = refused
            assert f"{quantity.name} is counted in {quantity.unit}, not in {unit}" in reason


def test_a_value_in_the_unit_of_its_quantity_or_in_an_unknown_unit_is_kept() -> None:
    for quantity in quantities().by_name.values():
        for unit in (quantity.unit, "MxNxK"):
            plain = row(quantity.name, unit)
            if quantity.unit == SHAPE:
                plain = plain.replace("65", "65x66")
            elif quantity.prefix:
                plain = plain.replace(" byte ", " KiB ")

            found, refused = facts_of(parse(f"# A\n\n{FACT_HEADER}{plain}"), target="m1")

            assert ([f.quantity for f in found], refused) == ([quantity.name], [])


@pytest.mark.parametrize(("value", "kept"), [("1 to 64", True), ("1 to", False), ("many", False)])
def test_a_value_may_be_a_range_of_two_numbers(value: str, kept: bool) -> None:
    found, refused = facts_of(parse(f"# A\n\n{FACT_HEADER}{row('own', 'KiB').replace('65', value)}"), target="m1")

    assert ([(f.value, f.number) for f in found], bool(refused)) == ([(value, None)] * kept, not kept)


LOST = {
    "no header": "|  |  |  |  |  |\n|---|---|---|---|---|\n" + row("lds_size", "KiB"),
    "the first row as header": row("l2_size", "MiB") + "|---|---|---|---|---|\n" + row("lds_size", "KiB"),
    "a lost column": FACT_HEADER.replace(" condition |", "").replace("|---", "", 1)
    + "| lds_size | 65 | KiB | guide |\n",
    "no line below the header": FACT_HEADER.splitlines()[0] + "\n" + row("lds_size", "KiB"),
    "a renamed column": FACT_HEADER.replace("unit", "in") + row("lds_size", "KiB"),
}


@pytest.mark.parametrize("text", LOST.values(), ids=LOST.keys())
def test_a_fact_table_that_lost_its_header_states_nothing(text: str) -> None:
    assert facts_of(parse(f"# A\n\n{text}"), target="mi300x") == ([], [])


@pytest.mark.parametrize("name", ["no header", "the first row as header", "no line below the header"])
def test_nothing_is_extracted_from_a_fact_table_that_lost_its_header(name: str) -> None:
    assert records(f"# A\n\n{LOST[name]}") == []


def test_an_ingest_reports_a_refused_fact_and_never_gives_it_later(kb: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "mi210").mkdir()
    (tmp_path / "mi210" / "sheet.md").write_text(
        f"# A\n\n{FACT_HEADER}{row('lds_size', 'GHz')}{row('l2_size', 'MiB')}", encoding="utf-8"
    )

    [report] = kb.ingest([tmp_path / "mi210"]).files

    assert report.facts == 1
    assert [w for w in report.warnings if "lds_size is counted in byte, not in GHz" in w]
    assert [f.quantity for f in kb.facts("mi210")] == ["l2_size"]
    with pytest.raises(FactError, match="'lds_size' of mi210"):
        kb.facts("mi210", "lds_size")


def test_a_document_with_a_fact_table_gives_no_other_facts(kb: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "mi210").mkdir()
    (tmp_path / "mi210" / "sheet.md").write_text(
        f"# A\n\nThe L3 cache is 7 MB.\n\n{FACT_HEADER}{row('l2_size', 'MiB')}", encoding="utf-8"
    )
    kb.ingest([tmp_path / "mi210"])

    assert [s.fact.quantity for s in kb.factbook.standings("mi210")] == ["l2_size"]


def test_an_untrusted_document_gives_no_facts(kb: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "mi210").mkdir()
    (tmp_path / "mi210" / "sheet.md").write_text(f"# A\n\n{FACT_HEADER}{row('l2_size', 'MiB')}", encoding="utf-8")
    (tmp_path / "mi210" / "words.md").write_text("# A\n\nThe L2 cache is 7 MB.\n", encoding="utf-8")
    kb.ingest([tmp_path / "mi210"], trust=Trust.UNTRUSTED)

    assert kb.factbook.standings("mi210") == []

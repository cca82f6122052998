"""What is asked of a target: its own and inherited facts, a refusal for all else, and what a person decided."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kb.errors import CitationError, FactError, TargetError
from kb.facts.resolution import FactDecision, FactStanding
from kb.settings import Settings
from kb.types.fact import Fact
from kb.usecases.knowledge_base import KnowledgeBase
from tests.conftest import HashEmbedder
from tests.facts.documents import FACT_HEADER, table
from tests.ingest.knowledge import edit

GUIDES = {
    "cdna2": f"# Family\n\n{FACT_HEADER}| wavefront_size | 66 | lane |  | guide |\n",
    "mi210": f"# Chip\n\n{FACT_HEADER}| lds_size | 65 | KiB | per compute unit | guide |\n"
    "| lds_size | 130 | KiB | per 2 compute units | guide |\n"
    "| peak_flops | 301 | TFLOPS | float16, dense, matrix, whole device | guide |\n"
    "| peak_flops | 602 | TFLOPS | float16, sparse, matrix, whole device | guide |\n"
    "| peak_flops | 603 | TFLOPS | float8_e4m3fnuz, dense, matrix, whole device | guide |\n"
    "| matrix_unit_shape | 5x6 | shape |  | guide |\n| own_thing | 7 | 1 |  | guide |\n",
    "mi250": f"# Sibling\n\n{FACT_HEADER}| lds_size | 97 | KiB | per compute unit | guide |\n"
    "| l3_size | 777 | MB | per device | guide |\n",
}
NOTES = f"# Notes\n\n{table('Chip | L2 cache (MB)', 'MI210 | 8')}"
OTHER_NOTES = f"# Other notes\n\n{table('Chip | L2 cache (MB)', 'MI210 | 9')}"


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """Sheets of two siblings and their family, and two notes that contradict each other."""
    for target, text in GUIDES.items():
        (tmp_path / "docs" / target).mkdir(parents=True)
        (tmp_path / "docs" / target / "sheet.md").write_text(text, encoding="utf-8")
    (tmp_path / "docs" / "mi210" / "notes.md").write_text(NOTES, encoding="utf-8")
    (tmp_path / "docs" / "mi210" / "other.md").write_text(OTHER_NOTES, encoding="utf-8")
    return tmp_path / "docs"


@pytest.fixture
def known(kb: KnowledgeBase, docs: Path) -> KnowledgeBase:
    kb.ingest([docs])
    return kb


def values(kb: KnowledgeBase, target: str, *asked: str) -> list[tuple[str, str]]:
    return [(f.value, f.unit) for f in kb.facts(target, *asked)]


@pytest.mark.parametrize("spelling", ["lds_size", "LDS size", "LDS", "local data share", "LDS_SIZE", "Shared memory"])
def test_a_quantity_is_found_by_its_own_name_or_a_vendors(known: KnowledgeBase, spelling: str) -> None:
    assert values(known, "MI-210", spelling) == [("65", "KiB"), ("130", "KiB")]


@pytest.mark.parametrize(
    ("asked", "value"),
    [
        (("lds_size", "per compute unit"), "65"),
        (("lds_size", "per 2 compute units"), "130"),
        (("peak_flops", "float16", "dense"), "301"),
        (("peak_flops", "float16", "sparse", "matrix"), "602"),
        (("peak_flops", "float8"), "603"),
        (("peak_flops", "per device", "sparse"), "602"),
        (("own_thing",), "7"),
    ],
)
def test_conditions_choose_among_the_values_of_a_quantity(
    known: KnowledgeBase, asked: tuple[str, ...], value: str
) -> None:
    assert [f.value for f in known.facts("mi210", *asked)] == [value]


@pytest.mark.parametrize("phrase", ["float8_e4m3fnuz", "whole device"])
def test_a_condition_that_is_shown_can_be_asked_for(known: KnowledgeBase, phrase: str) -> None:
    assert known.facts("mi210", "peak_flops", phrase)


def test_an_inherited_fact_names_its_ancestor(known: KnowledgeBase) -> None:
    [fact] = known.facts("mi210", "wavefront_size")

    assert (fact.value, fact.target) == ("66", "cdna2")


REFUSALS = {
    "an unknown chip": (("mi21O",), TargetError, "'mi21O'", "mi210"),
    "a quantity that is nearly known": (("mi210", "lds_sice"), FactError, "'lds_sice' of mi210", "lds_size"),
    "a part of the name": (("mi210", "thing"), FactError, "'thing'", "own_thing"),
    "an unknown quantity": (("mi210", "voltage"), FactError, "'voltage'", "lds_size, matrix_unit_shape, own_thing"),
    "only a sibling has it": (("mi210", "l3_size"), FactError, "'l3_size' of mi210", "mi250"),
    "only a sibling has it, in other words": (("mi210", "infinity cache"), FactError, "of mi210", "mi250"),
    "only a descendant has it": (("cdna2", "lds_size"), FactError, "'lds_size' of cdna2", "mi210, mi250"),
    "it is in conflict": (("mi210", "l2_size"), FactError, "that holds", "--all` shows 2: conflict"),
    "not for this data type": (("mi210", "peak_flops", "int8"), FactError, "for int8", "float16, dense, matrix"),
    "not for both": (("mi210", "peak_flops", "float8", "sparse"), FactError, "float8, sparse", "float8_e4m3fnuz"),
    "a target without facts": (("hexagon",), FactError, "facts of hexagon", "ingest"),
    "a family whose chips have some": (("cdna",), FactError, "facts of cdna", "cdna2, mi210, mi250"),
}


@pytest.mark.parametrize(("asked", "error", "said", "advised"), REFUSALS.values(), ids=REFUSALS.keys())
def test_an_unknown_fact_is_refused_and_the_hint_names_known_ones(
    known: KnowledgeBase, asked: tuple[str, ...], error: type[FactError | TargetError], said: str, advised: str
) -> None:
    with pytest.raises(error) as refused:
        known.facts(*asked)

    assert said in refused.value.message
    assert advised in refused.value.hint
    assert "777" not in refused.value.message + refused.value.hint


def test_a_conflict_names_both_citations_and_holds_neither(known: KnowledgeBase) -> None:
    [conflict] = known.factbook.conflicts("mi210")

    assert (conflict.target, conflict.quantity, conflict.state) == ("mi210", "l2_size", "open")
    assert {(s.fact.value, s.fact.citation.path, s.standing) for s in conflict.sides} == {
        ("8", "mi210/notes.md", FactStanding.CONFLICT),
        ("9", "mi210/other.md", FactStanding.CONFLICT),
    }
    assert known.factbook.conflicts() == [conflict]
    assert known.factbook.conflicts("mi250") == []


def l2(kb: KnowledgeBase, value: str) -> Fact:
    return next(s.fact for s in kb.factbook.standings("mi210") if (s.fact.quantity, s.fact.value) == ("l2_size", value))


@pytest.mark.parametrize(("verdict", "of"), [(FactDecision.ACCEPTED, "9"), (FactDecision.REJECTED, "8")])
def test_a_decision_settles_a_conflict_and_is_taken_back(known: KnowledgeBase, verdict: FactDecision, of: str) -> None:
    key = l2(known, of).citation.id

    assert known.factbook.decide(key, verdict, reason="seen").fact == l2(known, of)
    assert values(known, "mi210", "l2_size") == [("9", "MB")]
    assert [c for c in known.factbook.conflicts("mi210") if c.state == "open"] == []

    known.factbook.decide(key, None)
    assert [c.state == "open" for c in known.factbook.conflicts("mi210")] == [True]


def test_a_later_decision_replaces_an_earlier_one(known: KnowledgeBase) -> None:
    key = l2(known, "8").citation.id
    known.factbook.decide(key, FactDecision.REJECTED)
    known.factbook.decide(key, FactDecision.ACCEPTED)

    assert values(known, "mi210", "l2_size") == [("8", "MB")]


def test_a_decision_about_an_unknown_id_is_refused(known: KnowledgeBase) -> None:
    with pytest.raises(CitationError, match="000000000000"):
        known.factbook.decide("000000000000", FactDecision.ACCEPTED)

    assert known.catalog.decisions() == {}


def test_a_decision_outlives_a_new_reading_of_its_document_and_the_process(
    known: KnowledgeBase, docs: Path, home: Path
) -> None:
    known.factbook.decide(l2(known, "8").citation.id, FactDecision.REJECTED)
    edit(docs / "mi210" / "notes.md", "# Notes\n", "# Notes\n\nWords that were added above.\n")
    known.ingest([docs])
    assert values(known, "mi210", "l2_size") == [("9", "MB")]
    known.close()

    with KnowledgeBase(Settings.load(home), embedder=HashEmbedder()) as again:
        assert values(again, "mi210", "l2_size") == [("9", "MB")]
        again.factbook.decide(l2(again, "8").citation.id, None)
        assert [c.state == "open" for c in again.factbook.conflicts("mi210")] == [True]


def test_a_decision_is_about_what_was_said_not_about_what_is_said_there_later(known: KnowledgeBase, docs: Path) -> None:
    known.factbook.decide(l2(known, "8").citation.id, FactDecision.REJECTED)
    edit(docs / "mi210" / "notes.md", "| 8 |", "| 10 |")
    known.ingest([docs])

    assert [c.state == "open" for c in known.factbook.conflicts("mi210")] == [True]


@pytest.fixture
def reopened(known: KnowledgeBase, home: Path) -> Iterator[KnowledgeBase]:
    known.close()
    with KnowledgeBase(Settings.load(home), embedder=HashEmbedder()) as again:
        yield again


def test_what_is_known_is_the_same_in_a_home_that_is_opened_again(reopened: KnowledgeBase) -> None:
    assert values(reopened, "mi210", "lds_size") == [("65", "KiB"), ("130", "KiB")]
    assert [c.state == "open" for c in reopened.factbook.conflicts()] == [True]


@pytest.mark.parametrize(
    ("header", "row", "is_open"),
    [("property | value", "Cache line size | 128 bytes", [True]), ("Chip | L2 line size", "MI210 | 128 bytes", [])],
)
def test_two_documents_that_state_two_values_of_one_thing_contradict_each_other(
    kb: KnowledgeBase, docs: Path, header: str, row: str, is_open: list[bool]
) -> None:
    (docs / "mi210" / "notes.md").write_text(f"# Notes\n\n{table('Chip | Cache line size', 'MI210 | 64 bytes')}")
    (docs / "mi210" / "other.md").write_text(f"# MI210 notes\n\n{table(header, row)}")
    kb.ingest([docs])

    assert {f.value for f in kb.catalog.facts(["mi210"], quantities=["cache_line_size"])} == {"64", "128"}
    assert [c.state == "open" for c in kb.factbook.conflicts("mi210")] == is_open

"""Decisions about facts go from one home to another: only with the words that they rest on, and against no own one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kb.facts.resolution import FactDecision
from kb.settings import Settings
from kb.types.fact import DecidedFact, Fact, FactAnswer
from kb.usecases.fact_exchange import decided_facts, import_decisions
from kb.usecases.knowledge_base import KnowledgeBase

MANUAL = """# Zchip manual

Each core has 128 KiB of scratchpad memory. The host side has 64 KiB of scratchpad memory.

| Chip | L2 cache (MB) |
|---|---|
| Zchip | 8 |
"""
SIZE = FactAnswer(quantity="lds_size", value="128", unit="KiB", quote="128 KiB of scratchpad memory")
HOST = FactAnswer(quantity="lds_size", value="64", unit="KiB", quote="64 KiB of scratchpad memory")
ACCEPTED, REJECTED = FactDecision


@pytest.fixture
def homes(tmp_path: Path) -> Iterator[tuple[KnowledgeBase, KnowledgeBase]]:
    """Two homes with the same manual; in the first, two answers wait."""
    folder = tmp_path / "zchip"
    folder.mkdir()
    (folder / "manual.md").write_text(MANUAL)
    with (
        KnowledgeBase(Settings(home=tmp_path / "ours", embedding_model="none")) as ours,
        KnowledgeBase(Settings(home=tmp_path / "theirs", embedding_model="none")) as theirs,
    ):
        ours.ingest([folder])
        theirs.ingest([folder])
        ours.answer_facts("zchip", [SIZE, HOST])
        yield ours, theirs


def fact(kb: KnowledgeBase, value: str) -> Fact:
    return next(s.fact for s in kb.standings("zchip") if s.fact.value == value)


def decide(kb: KnowledgeBase, value: str, decision: FactDecision) -> None:
    kb.factbook.decide(fact(kb, value).citation.id, decision, reason="read it")


def outcomes(kb: KnowledgeBase, given: list[DecidedFact]) -> dict[str, str]:
    return {one.given.value: f"{one.outcome} {one.reason}".strip() for one in import_decisions(kb, given)}


def test_decisions_are_taken_over_with_their_reasons_and_once(homes: tuple[KnowledgeBase, KnowledgeBase]) -> None:
    ours, theirs = homes
    for value, decision in {"128": ACCEPTED, "64": REJECTED, "8": REJECTED}.items():
        decide(ours, value, decision)

    assert outcomes(theirs, decided_facts(ours)) == dict.fromkeys(("128", "64", "8"), "taken over")
    assert [f.value for f in theirs.facts("zchip")] == ["128"]
    assert fact(theirs, "128").citation.id == fact(ours, "128").citation.id
    assert {d.reason for d in theirs.catalog.decisions().values()} == {"read it (imported)"}
    assert set(outcomes(theirs, decided_facts(ours)).values()) == {"known"}


def test_what_was_decided_here_stays_and_the_difference_is_told(homes: tuple[KnowledgeBase, KnowledgeBase]) -> None:
    ours, theirs = homes
    theirs.answer_facts("zchip", [HOST])
    decide(theirs, "64", ACCEPTED)
    decide(theirs, "8", ACCEPTED)
    for value, decision in {"128": ACCEPTED, "8": REJECTED}.items():
        decide(ours, value, decision)
    before = theirs.catalog.decisions()

    found = outcomes(theirs, decided_facts(ours))

    assert found["8"].startswith(f"left out here 8 MB [{fact(theirs, '8').citation.id}] is accepted 20")
    assert found["128"].startswith(f"left out here 64 KiB [{fact(theirs, '64').citation.id}] is accepted 20")
    assert theirs.catalog.decisions() == before


@pytest.mark.parametrize(
    ("old", "new", "outcome"),
    [
        ("128 KiB of scratchpad", "130 KiB of scratchpad", "left out no document of zchip has the words"),
        ("# Zchip manual\n", "# Zchip manual\n\nSecond edition.\n", "taken over as zchip/manual.md:5 states it"),
        ("| 8 |", "| 9 |", "left out no document here states it in a row and column named 'Zchip L2 cache (MB)'"),
    ],
)
def test_a_decision_needs_the_words_that_it_rests_on(
    homes: tuple[KnowledgeBase, KnowledgeBase], tmp_path: Path, old: str, new: str, outcome: str
) -> None:
    ours, theirs = homes
    decide(ours, "128", ACCEPTED)
    decide(ours, "8", ACCEPTED)
    given = decided_facts(ours)
    (tmp_path / "zchip" / "manual.md").write_text(MANUAL.replace(old, new))
    theirs.ingest([tmp_path / "zchip"])

    assert any(found.startswith(outcome) for found in outcomes(theirs, given).values())


def test_a_home_without_the_chip_takes_nothing_over(homes: tuple[KnowledgeBase, KnowledgeBase], tmp_path: Path) -> None:
    decide(homes[0], "128", ACCEPTED)
    with KnowledgeBase(Settings(home=tmp_path / "empty", embedding_model="none")) as empty:
        assert outcomes(empty, decided_facts(homes[0])) == {"128": "left out unknown target 'zchip'"}
        assert empty.catalog.decisions() == {}


@pytest.mark.parametrize(
    ("header", "outcome"),
    [
        ("L2 cache (MB)", "taken over as zchip/guide.md:9 states it, another text or edition"),
        ("Level 2 cache (MB)", "left out no document here states it in a row and column named 'Zchip L2 cache (MB)'"),
    ],
)
def test_a_decision_about_a_number_of_a_table_needs_the_names_of_its_row_and_column(
    homes: tuple[KnowledgeBase, KnowledgeBase], tmp_path: Path, header: str, outcome: str
) -> None:
    ours, theirs = homes
    decide(ours, "8", REJECTED)
    edition = "Second edition.\n\n" + MANUAL.replace("L2 cache (MB)", header)
    (tmp_path / "zchip" / "manual.md").unlink()
    (tmp_path / "zchip" / "guide.md").write_text(edition)
    theirs.ingest([tmp_path / "zchip"])

    assert outcomes(theirs, decided_facts(ours)) == {"8": outcome}

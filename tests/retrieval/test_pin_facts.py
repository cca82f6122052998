"""The passage that states the asked fact is the first hit, and only for a question that asks for it."""

from pathlib import Path

import pytest

from kb.usecases.knowledge_base import KnowledgeBase

SHEET = """# Chip

## Memory

| quantity | value | unit | condition | source |
|---|---|---|---|---|
| lds_size | 64 | KiB | per compute unit | guide, page 1 |
| l2_size | 4 | MiB | per die | guide, page 1 |
"""
COUNTERS = "\n\n".join(
    f"## LDS size counter {n}\n\nThe LDS size per compute unit: the LDS that the MI250 or MI210 has used, counter {n}."
    for n in range(8)
)


@pytest.fixture
def profiled(kb: KnowledgeBase, tmp_path: Path) -> KnowledgeBase:
    """A home of two chips whose profiler counters repeat the words of every question about LDS."""
    for target, size in (("mi210", "64"), ("mi250", "96")):
        folder = tmp_path / target
        folder.mkdir()
        (folder / "chip.md").write_text(SHEET.replace("64", size), encoding="utf-8")
        (folder / "counters.md").write_text(f"# Counters\n\n{COUNTERS}\n", encoding="utf-8")
        kb.ingest([folder])
    return kb


@pytest.mark.parametrize(
    ("question", "target", "row"),
    [
        ("LDS size per compute unit", "mi210", "| 64 |"),
        ("LDS size per compute unit of MI250", None, "| 96 |"),
        ("How much local data share does one compute unit have?", "mi250", "| 96 |"),
        (["size of what a counter counts", "LDS size in KiB"], "mi210", "| 64 |"),
    ],
)
def test_the_row_that_states_the_asked_fact_is_the_first_hit(
    profiled: KnowledgeBase, question: str | list[str], target: str | None, row: str
) -> None:
    hits = profiled.search(question, target=target).hits

    assert row in hits[0].passage.text
    assert hits[0].why.states == ("lds_size",)
    assert len({hit.passage.citation.id for hit in hits}) == len(hits) == 5


@pytest.mark.parametrize(
    ("question", "target"),
    [
        ("which counter shows the LDS size of a compute unit", "mi210"),
        ("LDS size per workgroup", "mi210"),
        ("LDS size per compute unit of MI250 and MI210", None),
        ("LDS size per compute unit", None),
        ("LDS size per compute unit of the MI250", "mi210"),
    ],
)
def test_no_fact_is_put_first_for_another_question_condition_or_several_chips(
    profiled: KnowledgeBase, question: str, target: str | None
) -> None:
    assert all(not hit.why.states for hit in profiled.search(question, target=target).hits)


def test_a_sibling_named_in_the_question_is_said_to_be_another_target(profiled: KnowledgeBase) -> None:
    found = profiled.search("LDS size per compute unit of the MI250", target="mi210")

    assert "mi250 is another target: search for it with --target mi250" in found.notes
    assert all("another target" not in note for note in profiled.search("LDS size", target="mi210").notes)


def test_a_siblings_document_that_confirms_the_fact_is_not_shown(profiled: KnowledgeBase, tmp_path: Path) -> None:
    table = "# Memories\n\n| Chip | LDS (KiB) |\n|---|---|\n| MI210 | 64 per CU |\n"
    (tmp_path / "mi250" / "table.md").write_text(table, encoding="utf-8")
    profiled.ingest([tmp_path / "mi250"])
    [stated] = [f for f in profiled.facts("mi210", "lds_size") if f.value == "64"]
    [standing] = [s for s in profiled.standings("mi210") if s.fact == stated]

    hits = profiled.search("LDS size per compute unit", target="mi210").hits

    assert [fact.citation.path for fact in standing.confirmed_by] == ["mi250/table.md"]
    assert hits[0].why.states == ("lds_size",)
    assert {hit.passage.target for hit in hits} == {"mi210"}

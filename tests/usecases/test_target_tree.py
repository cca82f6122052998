"""Documents, facts, verdicts, skills and runs follow a target that is moved or removed."""

from pathlib import Path

import pytest

from kb.errors import CitationError
from kb.facts.resolution import FactDecision
from kb.runs.journal import Plan, SynthesizerKind
from kb.skillbook.files import skill_files
from kb.targets import Targets
from kb.types.kernels import Candidate, Task
from kb.types.skill import Skill
from kb.usecases.knowledge_base import KnowledgeBase
from tests.skillbook.conftest import write_files

TEXT = """# Memory

The quibble of the chip.

| quantity | value | unit | condition | source |
|---|---|---|---|---|
| quibbles | 7 | 1 | | guide |
| quibbles | 8 | 1 | | guide |
| quibbles | 8 | 1 | | guide |
"""


@pytest.fixture
def base(kb: KnowledgeBase, tmp_path: Path) -> KnowledgeBase:
    """The chip `chip9` below `maker` with a document, a verdict, a skill and a run."""
    (tmp_path / "maker" / "chip9").mkdir(parents=True)
    (tmp_path / "maker" / "chip9" / "memory.md").write_text(TEXT, encoding="utf-8")
    kb.ingest([tmp_path / "maker"])
    wrong = next(s for s in kb.standings("chip9", "quibbles") if s.fact.value == "7")
    kb.factbook.decide(wrong.fact.citation.id, FactDecision.REJECTED)
    skill = Skill(
        name="a-skill", description="It is for tests.", body="## When to use it\n\nNever.\n", target="chip9",
        language="torch", candidate=Candidate(language="torch", source="x = 1\n"), suffix=".py",
    )  # fmt: skip
    write_files(kb.settings.home / "skills" / skill.name, skill_files(skill))
    plan = Plan(
        task=Task(name="t", source="x"),
        target="chip9",
        language="torch",
        synthesizer=SynthesizerKind.TUNE,
        evaluations=1,
    )
    kb.runs.start(plan)
    return kb


def test_what_depends_on_a_target_is_counted(base: KnowledgeBase) -> None:
    found = base.target_tree.dependents("chip9")

    assert (found.documents, found.facts, found.verdicts, found.skills) == (1, 3, 1, ("a-skill",))
    assert found.passages > 0
    assert len(found.runs) == 1
    assert base.target_tree.dependents("maker").children == ("chip9",)


def test_a_moved_target_is_asked_with_its_new_family(base: KnowledgeBase) -> None:
    base.target_tree.move("chip9", "cdna3")

    assert base.targets.lineage("chip9") == ("chip9", "cdna3", "cdna", "amd", "any")
    assert base.search("quibble", target="amd").hits[0].passage.target == "chip9"
    assert not base.search("quibble", target="maker").hits


def test_a_removed_target_leaves_no_document_and_no_fact_and_keeps_its_run(base: KnowledgeBase) -> None:
    cited = base.search("quibble", target="chip9").hits[0].passage.citation.id

    lost = base.target_tree.remove("chip9")

    assert (lost.documents, lost.facts) == (1, 3)
    assert base.catalog.counts()["document"] == base.catalog.counts()["fact"] == base.catalog.counts()["vector"] == 0
    assert Targets.load(base.settings.home).find("chip9") is None
    assert len(list(base.runs)) == 1
    with pytest.raises(CitationError):
        base.cite(cited)


def test_a_change_of_the_tree_keeps_what_the_user_wrote(base: KnowledgeBase) -> None:
    file = base.settings.home / "targets.toml"
    own = f'# ours\nmine = {{ parent = "amd", isa = "hip gfx942 64" }}  # of 2027\n\n{file.read_text(encoding="utf-8")}'
    file.write_text(own, encoding="utf-8")

    base.target_tree.move("chip9", "any")
    base.target_tree.remove("chip9")
    assert file.read_text(encoding="utf-8").startswith('# ours\nmine = { parent = "amd", isa = "hip gfx942 64" }  # of')

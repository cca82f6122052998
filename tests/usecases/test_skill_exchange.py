"""Skills of others come in as proposals whose evidence is only claimed; agents get a router skill with cards."""

import tarfile
import zipfile
from pathlib import Path

import pytest
from skills_ref.validator import validate

from kb.errors import DocumentError, SkillError
from kb.skillbook.files import skill_files
from kb.types.skill import SkillStanding
from kb.types.skill_record import SkillRecord, UseOutcome
from kb.usecases import skill_exchange
from kb.usecases.curating import decide, measured
from kb.usecases.knowledge_base import KnowledgeBase
from kb.usecases.skill_exchange import ROUTER, export_skills, import_skills
from tests.skillbook.conftest import write
from tests.skillbook.evidence import kernel, skill
from tests.usecases.skills import OTHER, active, proposed, today


def taken(kb: KnowledgeBase, path: Path, *, dry_run: bool = False) -> dict[str, str]:
    """The reason against each skill; empty if it was proposed."""
    return {one.name: one.reason for one in import_skills(kb, path, dry_run=dry_run)}


@pytest.fixture
def team(tmp_path: Path) -> Path:
    """A folder with two skills, of which one claims a win, a decision and a use."""
    won = skill("won", license="MIT", evidence=(today(),))
    about = {"skill": "won", "content_digest": won.content_digest, "created": "2026-01-01", "by": "eve"}
    records = (
        SkillRecord(verb="accept", **about),
        SkillRecord(verb="use", task="t", outcome=UseOutcome.REPRODUCED, **about),
    )
    write(
        tmp_path / "team", won.model_copy(update={"records": records}), skill("plain", license="MIT", candidate=OTHER)
    )
    return tmp_path / "team"


def archived(folder: Path, ending: str) -> Path:
    archive = folder.with_name(f"team{ending}")
    if ending == ".zip":
        with zipfile.ZipFile(archive, "w") as opened:
            for path in folder.rglob("*"):
                opened.write(path, path.relative_to(folder))
    else:
        with tarfile.open(archive, "w:gz") as opened:
            opened.add(folder, "team")
    return archive


@pytest.mark.parametrize("ending", ["", ".zip", ".tar.gz"])
def test_what_is_imported_waits_with_claimed_evidence_and_without_foreign_decisions(
    kb: KnowledgeBase, team: Path, ending: str
) -> None:
    assert taken(kb, archived(team, ending) if ending else team) == {"plain": "", "won": ""}

    won = kb.skills.find("won")
    assert [held.name for held in kb.skills.proposals()] == ["plain", "won"]
    assert (len(won.evidence), won.records) == (1, ())
    assert kb.skills.standing(won) is SkillStanding.HYPOTHESIS
    assert kb.skills.value(won) == 0
    assert not {"plain", "won"} & {held.name for held in kb.skills.skills()}


def test_a_dry_run_imports_nothing(kb: KnowledgeBase, team: Path) -> None:
    assert taken(kb, team, dry_run=True) == {"plain": "", "won": ""}
    assert kb.skills.proposals() == []


def test_nothing_is_overwritten(kb: KnowledgeBase, team: Path) -> None:
    held = proposed(kb, "won", candidate=kernel("another"))

    assert "another skill here has this name" in taken(kb, team)["won"]
    assert kb.skills.find("won") == held


def test_what_says_the_same_as_a_skill_of_here_only_adds_its_claims(kb: KnowledgeBase, team: Path) -> None:
    active(kb, "mine")

    assert taken(kb, team) == {"plain": "", "won": "mine says the same"}
    assert taken(kb, team) == {"plain": "plain says the same", "won": "mine says the same"}

    mine = kb.skills.get("mine")
    assert sorted(one.trust for one in measured(kb, mine)) == ["claimed", "measured here"]
    assert kb.skills.standing(mine) is SkillStanding.ACTIVE


def test_what_was_rejected_does_not_come_back_by_an_import(kb: KnowledgeBase, team: Path) -> None:
    taken(kb, team)
    decide(kb, "reject", "won", reason="no")

    assert taken(kb, team)["won"] == "won, which says the same, was rejected here"


@pytest.mark.parametrize("dry_run", [True, False])
def test_two_skills_of_one_name_in_an_import_are_told_before_and_after(
    kb: KnowledgeBase, team: Path, dry_run: bool
) -> None:
    write(team / "others", skill("won", license="MIT", candidate=kernel("others")))

    found = import_skills(kb, team, dry_run=dry_run)

    assert [(one.name, one.proposed) for one in found if one.name == "won"] == [("won", True), ("won", False)]


@pytest.mark.parametrize("dry_run", [True, False])
def test_two_skills_of_an_import_that_say_the_same_are_one(kb: KnowledgeBase, team: Path, dry_run: bool) -> None:
    write(team, skill("plain-too", license="MIT", candidate=OTHER))

    found = {one.name: one.reason for one in import_skills(kb, team, dry_run=dry_run)}

    assert found == {"plain": "", "plain-too": "plain says the same", "won": ""}


def test_a_skill_with_a_link_in_its_folder_is_refused(kb: KnowledgeBase, team: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (team / "won" / "references").symlink_to(tmp_path / "secret")

    assert "it is a link" in taken(kb, team)["won"]


def test_a_malformed_skill_does_not_keep_others_out(kb: KnowledgeBase, team: Path) -> None:
    (team / "won" / "SKILL.md").write_text("no front matter")

    reasons = taken(kb, team)

    assert "front matter" in reasons["won"]
    assert reasons["plain"] == ""


def test_what_is_hidden_in_a_folder_is_not_imported(kb: KnowledgeBase, team: Path) -> None:
    (team / "won").rename(team / ".won")

    assert taken(kb, team) == {"plain": ""}


def test_members_that_lead_out_of_an_archive_are_refused(kb: KnowledgeBase, tmp_path: Path) -> None:
    archive = tmp_path / "team.zip"
    with zipfile.ZipFile(archive, "w") as opened:
        for path, content in skill_files(skill("plain", license="MIT")).items():
            opened.writestr(f"plain/{path}", content)
            opened.writestr(f"../evil/{path}", content)

    reasons = taken(kb, archive)

    assert reasons.pop("plain") == ""
    assert {name.partition("/")[0] for name in reasons} == {".."}
    assert all("outside the archive" in reason for reason in reasons.values())


def test_an_archive_that_is_too_large_is_refused_whole(
    kb: KnowledgeBase, team: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(skill_exchange, "MOST_ARCHIVE_BYTES", 100)

    with pytest.raises(DocumentError, match="more than 100 bytes"):
        import_skills(kb, archived(team, ".zip"), dry_run=False)
    assert kb.skills.proposals() == []


@pytest.mark.parametrize("name", ["", "none", "file.txt"])
def test_a_path_without_skills_is_an_error(kb: KnowledgeBase, tmp_path: Path, name: str) -> None:
    (tmp_path / "file.txt").write_text("x")
    (tmp_path / "empty").mkdir()

    with pytest.raises(SkillError, match=r"neither a folder nor an archive|holds no SKILL"):
        import_skills(kb, tmp_path / name if name else tmp_path / "empty", dry_run=False)


def test_an_export_is_a_valid_skill_with_a_card_for_each_proven_skill(kb: KnowledgeBase, tmp_path: Path) -> None:
    active(kb, "won")
    proposed(kb, "waits", candidate=OTHER)

    files = export_skills(kb, tmp_path / "host", dry_run=False)

    place = tmp_path / "host" / ROUTER
    assert validate(place) == []
    assert set(files) == {place / "SKILL.md", place / "references" / "index.md", place / "references" / "won.md"}
    assert {path.read_text(encoding="utf-8") for path in files} == set(files.values())
    assert "| row-softmax | mi300x | 1.50 | 1.43 to 1.58 | machine A |" in files[place / "references" / "won.md"]
    assert "[won](won.md) | kernel" in files[place / "references" / "index.md"]


def test_a_later_export_replaces_an_earlier_one_and_leaves_nothing_else(kb: KnowledgeBase, tmp_path: Path) -> None:
    active(kb, "won")
    export_skills(kb, tmp_path, dry_run=False)
    held = kb.skills.get("won")
    about = {"skill": "won", "content_digest": held.content_digest, "created": "2999-01-01", "by": "ann"}
    kb.skills.record(held, SkillRecord(verb="retire", **about))

    export_skills(kb, tmp_path, dry_run=False)

    assert not (tmp_path / ROUTER / "references" / "won.md").exists()
    assert [path.name for path in tmp_path.glob("*kb-kernels*")] == [ROUTER]


def test_what_is_not_an_export_is_never_replaced(kb: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / ROUTER).mkdir()
    (tmp_path / ROUTER / "SKILL.md").write_text("somebody's own")

    with pytest.raises(SkillError, match="not an export"):
        export_skills(kb, tmp_path, dry_run=False)
    assert (tmp_path / ROUTER / "SKILL.md").read_text() == "somebody's own"


def test_a_dry_run_exports_nothing(kb: KnowledgeBase, tmp_path: Path) -> None:
    assert export_skills(kb, tmp_path / "host", dry_run=True)
    assert not (tmp_path / "host").exists()


def test_the_router_names_every_skill_tool_and_no_decision(kb: KnowledgeBase, tmp_path: Path) -> None:
    text = next(iter(export_skills(kb, tmp_path, dry_run=True).values()))

    tools = ("kb_skills", "kb_skill", "kb_propose_skill", "kb_search", "kb_facts")
    assert [tool for tool in tools if f"`{tool}`" not in text] == []
    assert "do not accept, reject or retire" in text

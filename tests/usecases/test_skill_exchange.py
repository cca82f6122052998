"""Skills of others come in as proposals whose evidence is only claimed; agents get a skill that leads to kb."""

import shutil
import zipfile
from pathlib import Path

import pytest
from skills_ref.validator import validate

from kb.errors import SkillError
from kb.skillbook.lint import Finding, lint
from kb.types.skill import SkillRecord, SkillStanding
from kb.usecases.curating import decide, measured
from kb.usecases.knowledge_base import KnowledgeBase
from kb.usecases.reverifying import reverify
from kb.usecases.skill_exchange import ROUTER, export_skill, import_skills, lint_skills
from kb.views.skills import skill as skill_text
from tests.skillbook.conftest import write
from tests.skillbook.evidence import TASK, kernel, skill
from tests.usecases.skills import OTHER, accepted, proposed, today


def taken(kb: KnowledgeBase, path: Path) -> dict[str, str]:
    """The reason against each skill; empty if it was proposed."""
    return {one.name: one.reason for one in import_skills(kb, path)}


@pytest.fixture
def team(tmp_path: Path) -> Path:
    """A folder with two skills, of which one claims a win and a decision."""
    won = skill("won", license="MIT", evidence=(today(),))
    record = SkillRecord(verb="accept", skill="won", content_digest=won.content_digest, created="2026-01-01", by="eve")
    write(
        tmp_path / "team", won.model_copy(update={"records": (record,)}), skill("plain", license="MIT", candidate=OTHER)
    )
    return tmp_path / "team"


def test_what_is_imported_waits_with_claimed_evidence_and_without_foreign_decisions(
    kb: KnowledgeBase, team: Path
) -> None:
    assert taken(kb, team) == {"plain": "", "won": ""}

    won = kb.skills.find("won")
    assert [held.name for held in kb.skills.proposals()] == ["plain", "won"]
    assert (len(won.evidence), [(r.verb, r.by) for r in won.records]) == (1, [("propose", "an import")])
    assert kb.skills.standing(won) is SkillStanding.HYPOTHESIS
    assert not {"plain", "won"} & {held.name for held in kb.skills.skills()}


def test_an_imported_kernel_is_used_only_once_it_was_accepted_and_won_here(
    kb: KnowledgeBase, team: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(KnowledgeBase, "verify", lambda kb, task, candidate, target: today(candidate))

    def used() -> bool:
        return "won" in {skill.name for skill in kb.skills.search("softmax")}

    taken(kb, team)
    assert not used()
    decide(kb, "accept", "won")
    assert not used(), "its win is only claimed"
    list(reverify(kb, ["won"], tasks=[TASK]))
    assert used()


def test_nothing_is_overwritten(kb: KnowledgeBase, team: Path) -> None:
    held = proposed(kb, "won", candidate=kernel("another"))

    assert taken(kb, team)["won"].startswith("another skill here has this name, and another ")
    assert kb.skills.find("won") == held


def test_what_says_the_same_as_a_skill_of_here_only_adds_its_claims(kb: KnowledgeBase, team: Path) -> None:
    accepted(kb, "mine")

    assert taken(kb, team) == {"plain": "", "won": "mine says the same"}
    assert taken(kb, team) == {"plain": "plain says the same", "won": "mine says the same"}

    mine = kb.skills.find("mine")
    assert sorted(one.trust for one in measured(kb, mine)) == ["claimed", "measured here"]
    assert kb.skills.standing(mine) is SkillStanding.VERIFIED


def test_what_was_rejected_does_not_come_back_by_an_import(kb: KnowledgeBase, team: Path) -> None:
    taken(kb, team)
    decide(kb, "reject", "won", reason="no")

    assert taken(kb, team)["won"] == "won, which says the same, was rejected or retired: `kb skills accept won`"


def test_two_skills_of_one_name_in_an_import_are_told(kb: KnowledgeBase, team: Path) -> None:
    write(team / "others", skill("won", license="MIT", candidate=kernel("others")))

    found = import_skills(kb, team)

    assert [(one.name, one.proposed) for one in found if one.name == "won"] == [("won", True), ("won", False)]


def test_two_skills_of_an_import_that_say_the_same_are_one(kb: KnowledgeBase, team: Path) -> None:
    write(team, skill("plain-too", license="MIT", candidate=OTHER))

    found = {one.name: one.reason for one in import_skills(kb, team)}

    assert found == {"plain": "", "plain-too": "plain says the same", "won": ""}


def test_a_skill_with_a_link_in_its_folder_is_refused(kb: KnowledgeBase, team: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (team / "won" / "references").symlink_to(tmp_path / "secret")

    assert "it is a link" in taken(kb, team)["won"]


MANUAL = (
    "---\nname: {name}\ndescription: How to choose tiles.\n{more}---\n\n# Tiles\n\nSee references/checks.md. {name}\n"
)


def foreign(folder: Path, name: str = "tile-tuning", *, more: str = "", **files: str | bytes) -> Path:
    """A folder of a skill as other programs write it."""
    named = {"SKILL.md": MANUAL.format(name=name, more=more), **files}
    for path, content in named.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


FOREIGN = {
    "without metadata": "",
    "with metadata of others": "allowed-tools: [Read, Bash]\nmetadata:\n  tags: [a, b]\n  deep: {a: {b: c}}\n",
    "with much to say of its needs": f"compatibility: {'a GPU ' * 200}\nversion: 1.0\n",
}


@pytest.mark.parametrize("more", FOREIGN.values(), ids=FOREIGN)
@pytest.mark.parametrize("begins", ["", "\ufeff"], ids=["plain", "with a byte order mark"])
def test_any_skill_of_the_format_becomes_a_playbook_with_the_texts_beside_it(
    kb: KnowledgeBase, tmp_path: Path, more: str, begins: str
) -> None:
    beside = {"references/checks.md": "# Checks\n", "references/deep/er.md": "x", "assets/clocks.csv": "a,b\n"}
    others = {"assets/picture.png": b"\x89PNG\xff", "scripts/run.py": "pass\n", "scripts/kernel.py": "pass\n"}
    text = begins + MANUAL.format(name="tile-tuning", more=more)
    foreign(tmp_path / "others" / "tile-tuning", **{"SKILL.md": text}, **beside, **others)

    assert taken(kb, tmp_path / "others") == {"tile-tuning": ""}

    held = kb.skills.find("tile-tuning")
    assert (held.kind, held.target, held.candidate, held.waits) == ("playbook", "any", None, True)
    assert held.folder is not None
    kept = {
        file.relative_to(held.folder).as_posix(): file.read_text()
        for file in held.folder.rglob("*.*")
        if file.is_file()
    }
    assert beside.items() <= kept.items()
    assert not others.keys() & kept.keys()
    assert validate(held.folder) == []
    assert "## references/checks.md\n\n# Checks" in skill_text(kb, held.name, offset=0).text
    assert [finding for finding in lint(held.folder) if finding.severity == "error"] == []


def test_a_skill_without_a_target_gets_the_one_that_is_named(kb: KnowledgeBase, tmp_path: Path) -> None:
    foreign(tmp_path / "tile-tuning")

    import_skills(kb, tmp_path, target="MI-300X")

    assert kb.skills.find("tile-tuning").target == "mi300x"


def test_a_skill_that_holds_a_kernel_becomes_a_kernel(kb: KnowledgeBase, tmp_path: Path) -> None:
    code = "import triton\n\n\ndef model_new(x):\n    return x\n"
    foreign(tmp_path / "copy", "copy", **{"scripts/kernel.py": code})

    assert taken(kb, tmp_path) == {"copy": ""}

    held = kb.skills.find("copy")
    assert (held.kind, held.language, held.candidate and held.candidate.source) == ("kernel", "triton", code)


def test_a_skill_may_be_named_by_its_file_and_a_path_that_is_gone_is_said(kb: KnowledgeBase, tmp_path: Path) -> None:
    folder = foreign(tmp_path / "tile-tuning")

    assert taken(kb, folder / "SKILL.md") == {"tile-tuning": ""}
    with pytest.raises(SkillError, match=r"no such folder or archive: .*/gone"):
        import_skills(kb, tmp_path / "gone")


@pytest.mark.parametrize("folder", ["", "others-main/", "others/tile-tuning/"])
def test_an_archive_is_imported_and_one_skill_in_it_needs_no_folder_of_its_name(
    kb: KnowledgeBase, tmp_path: Path, folder: str
) -> None:
    with zipfile.ZipFile(tmp_path / "skills.zip", "w") as packed:
        packed.writestr(f"{folder}SKILL.md", MANUAL.format(name="tile-tuning", more=""))
        packed.writestr(f"{folder}references/checks.md", "# Checks\n")

    assert list(lint_skills(kb, tmp_path / "skills.zip").values()) == [[LICENCE]]
    assert taken(kb, tmp_path / "skills.zip") == {"tile-tuning": ""}
    assert (kb.skills.folder / "tile-tuning" / "references" / "checks.md").is_file()


LICENCE = Finding(
    rule="licence", severity="warning", place="SKILL.md", message="it states no licence, so nobody else may use it"
)


@pytest.mark.parametrize("packed", [True, False])
def test_a_file_whose_name_is_nearly_right_is_named_with_its_archive(
    kb: KnowledgeBase, tmp_path: Path, *, packed: bool
) -> None:
    foreign(tmp_path / "in" / "tile-tuning")
    (tmp_path / "in" / "tile-tuning" / "SKILL.md").rename(tmp_path / "in" / "tile-tuning" / "skill.md")
    path = Path(shutil.make_archive(str(tmp_path / "lower"), "zip", tmp_path / "in")) if packed else tmp_path / "in"

    with pytest.raises(SkillError) as caught:
        import_skills(kb, path)

    assert caught.value.message == f"{path}/tile-tuning/skill.md is not called SKILL.md"


def test_each_skill_in_a_folder_is_checked(kb: KnowledgeBase, tmp_path: Path) -> None:
    foreign(tmp_path / "a" / "tile-tuning")
    foreign(tmp_path / "b" / "c", "other-name")

    found = lint_skills(kb, tmp_path)

    assert found[f"{tmp_path}/a/tile-tuning"] == [LICENCE]
    assert "is not the name of the directory" in found[f"{tmp_path}/b/c"][0].message


def test_a_malformed_skill_does_not_keep_others_out(kb: KnowledgeBase, team: Path) -> None:
    (team / "won" / "SKILL.md").write_text("no front matter")

    reasons = taken(kb, team)

    assert "front matter" in reasons["won"]
    assert reasons["plain"] == ""


def test_what_is_hidden_in_a_folder_is_not_imported(kb: KnowledgeBase, team: Path) -> None:
    (team / "won").rename(team / ".won")

    assert taken(kb, team) == {"plain": ""}


@pytest.mark.parametrize("name", ["", "file.txt"])
def test_a_path_without_skills_is_an_error(kb: KnowledgeBase, tmp_path: Path, name: str) -> None:
    (tmp_path / "file.txt").write_text("x")
    (tmp_path / "empty").mkdir()

    with pytest.raises(SkillError, match="holds no SKILL"):
        import_skills(kb, tmp_path / name if name else tmp_path / "empty")


def test_an_export_is_a_valid_skill_that_names_every_skill_tool_and_no_decision(tmp_path: Path) -> None:
    file = export_skill(tmp_path / "host")

    text = file.read_text(encoding="utf-8")
    tools = ("kb_skills", "kb_skill", "kb_propose_skill", "kb_search", "kb_facts")
    assert file == tmp_path / "host" / ROUTER / "SKILL.md"
    assert validate(file.parent) == []
    assert [tool for tool in tools if f"`{tool}`" not in text] == []
    assert "do not accept, reject or retire" in text


def test_a_later_export_replaces_an_earlier_one_and_its_list_of_skills(tmp_path: Path) -> None:
    file = export_skill(tmp_path)
    file.write_text(file.read_text() + "more")
    (file.parent / "references").mkdir()
    (file.parent / "references" / "index.md").write_text("# Skills")

    export_skill(tmp_path)

    assert "more" not in file.read_text()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [file]


def test_what_is_not_an_export_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / ROUTER).mkdir()
    (tmp_path / ROUTER / "SKILL.md").write_text("somebody's own")

    with pytest.raises(SkillError, match="not an export"):
        export_skill(tmp_path)
    assert (tmp_path / ROUTER / "SKILL.md").read_text() == "somebody's own"


def test_another_text_of_a_known_kernel_is_told(kb: KnowledgeBase, team: Path, tmp_path: Path) -> None:
    taken(kb, team)
    write(tmp_path / "again", skill("won", license="MIT", body="Another text."))

    said = "(differs in: body; the text here stays)"
    assert taken(kb, tmp_path / "again") == {"won": f"won has the same kernel {said}"}
    decide(kb, "reject", "won", reason="no")
    assert taken(kb, tmp_path / "again") == {"won": f"won, which says the same, was rejected or retired {said}"}

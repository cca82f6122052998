"""The target of an ingested document: the one given, the one that its folders name, or a new one."""

from pathlib import Path

import pytest

from kb.errors import TargetError
from kb.settings import Settings
from kb.targets import Targets
from kb.usecases.knowledge_base import KnowledgeBase
from tests.conftest import HashEmbedder
from tests.ingest.knowledge import edit, found


def test_a_dry_run_does_not_affect_the_next_ingest(kb: KnowledgeBase, tmp_path: Path, home: Path) -> None:
    (tmp_path / "newchip").mkdir()
    (tmp_path / "newchip" / "guide.md").write_text("# Guide\n\nText.\n", encoding="utf-8")

    dry = kb.ingest([tmp_path / "newchip"], dry_run=True)
    assert Targets.load(home).find("newchip") is None
    report = kb.ingest([tmp_path / "newchip"])

    assert dry.new_targets == report.new_targets
    assert [t.name for t in report.new_targets] == ["newchip"]
    assert Targets.load(home).get("newchip").parent == "any"


def test_a_folder_that_names_no_target_becomes_a_new_target_under_any(
    kb: KnowledgeBase, tmp_path: Path, home: Path
) -> None:
    folder = tmp_path / "Gizmo Chip (rev 2)"
    (folder / "deep").mkdir(parents=True)
    for name in ("a.md", "deep/b.md"):
        (folder / name).write_text("# Guide\n\nA gizmo.\n", encoding="utf-8")

    report = kb.ingest([folder])

    assert [(t.name, t.parent, t.folder) for t in report.new_targets] == [("gizmo-chip-rev-2", "any", str(folder))]
    assert {f.target for f in report.files} == {"gizmo-chip-rev-2"}
    assert Targets.load(home).lineage("Gizmo Chip (rev 2)") == ("gizmo-chip-rev-2", "any")
    with KnowledgeBase(Settings.load(home), embedder=HashEmbedder()) as again:
        assert again.ingest([folder]).new_targets == ()
        assert "gizmo" in found(again, "gizmo", "gizmo-chip-rev-2")


def test_a_folder_called_any_gives_its_files_the_target_any(kb: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "any").mkdir()
    (tmp_path / "any" / "guide.md").write_text("# Guide\n\nText.\n", encoding="utf-8")

    report = kb.ingest([tmp_path / "any"])

    assert [(f.target, f.outcome) for f in report.files] == [("any", "new")]


def test_a_given_target_wins_over_folder_names(kb: KnowledgeBase, manuals: Path) -> None:
    kb.ingest([manuals])

    report = kb.ingest([manuals / "mi300x"], target="MI-325X")

    assert {(f.target, f.outcome) for f in report.files} == {("mi325x", "changed")}
    assert "64 KB of local data share" in found(kb, "local data share", "mi325x")
    assert "64 KB of local data share" not in found(kb, "local data share", "mi300x")


def test_a_file_ingested_alone_keeps_the_target_of_its_folders(kb: KnowledgeBase, manuals: Path) -> None:
    deep = manuals / "mi300x" / "instructions" / "vop3.md"
    deep.parent.mkdir()
    deep.write_text("# VOP3\n\nText.\n", encoding="utf-8")
    kb.ingest([manuals])
    edit(deep, "Text.", "Changed.")

    report = kb.ingest([deep])

    assert report.new_targets == ()
    assert [(f.target, f.outcome) for f in report.files] == [("mi300x", "changed")]


@pytest.mark.parametrize(
    ("target", "parent"), [("newchip", "no-such-family"), ("mi300x", "nvidia"), ("???", None), (None, "no-such-family")]
)
def test_a_target_that_cannot_be_is_refused_before_anything_is_stored(
    kb: KnowledgeBase, manuals: Path, target: str | None, parent: str | None
) -> None:
    with pytest.raises(TargetError) as refused:
        kb.ingest([manuals], target=target, parent=parent)

    assert refused.value.hint
    assert kb.catalog.counts()["document"] == 0
    assert kb.targets.find("newchip") is None


def test_a_given_target_that_is_new_is_added_below_its_parent(kb: KnowledgeBase, manuals: Path, home: Path) -> None:
    report = kb.ingest([manuals / "mi300x"], target="New Chip", parent="cdna")

    assert {f.target for f in report.files} == {"new-chip"}
    assert Targets.load(home).lineage("newchip") == ("new-chip", "cdna", "amd", "any")
    assert kb.ingest([manuals / "mi300x"], target="newchip", parent="cdna").new_targets == ()


def test_a_target_that_is_added_later_gets_the_documents_of_its_folder(kb: KnowledgeBase, tmp_path: Path) -> None:
    for chip in ("chipa", "chipb"):
        (tmp_path / "docs" / chip).mkdir(parents=True)
        (tmp_path / "docs" / chip / "guide.md").write_text(f"# Guide\n\nThe quibble of {chip}.\n", encoding="utf-8")
    kb.ingest([tmp_path / "docs"], target="both")

    kb.target_tree.add("chipa", parent="both")
    report = kb.ingest([tmp_path / "docs"])

    assert [(f.path, f.target, f.outcome) for f in report.files] == [
        ("chipa/guide.md", "chipa", "changed"),
        ("docs/chipb/guide.md", "both", "unchanged"),
    ]

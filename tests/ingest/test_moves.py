"""A document whose file moved is the same document: it keeps its ids and the verdicts on its facts."""

import shutil
from pathlib import Path

import pytest

from kb.facts.resolution import FactDecision
from kb.usecases.knowledge_base import KnowledgeBase
from tests.conftest import HashEmbedder
from tests.ingest.knowledge import edit

TABLE = "| quantity | value | unit | condition | source |\n|---|---|---|---|---|\n| quibbles | {n} | 1 | | guide |\n"


@pytest.fixture
def chip(tmp_path: Path) -> Path:
    folder = tmp_path / "here" / "chip"
    (folder / "parts").mkdir(parents=True)
    (folder / "guide.md").write_text(f"# Guide\n\nThe quibble.\n\n{TABLE.format(n=7)}", encoding="utf-8")
    (folder / "parts" / "twin.md").write_text("# Twin\n", encoding="utf-8")
    (folder / "twin.md").write_text("# Twin\n", encoding="utf-8")
    return folder


def ids(kb: KnowledgeBase) -> set[tuple[str, str]]:
    tables = ("chunk", "table_row", "fact")
    return {(table, row["key"]) for table in tables for row in kb.catalog._all(f"SELECT key FROM {table}")}


def paths(kb: KnowledgeBase) -> list[str]:
    return [d.path for d in kb.documents.stored("chip")]


@pytest.mark.parametrize("new", ["there/chip", "there/docs/chip", "chip"])
def test_a_moved_folder_keeps_ids_and_verdicts_and_is_not_read_again(
    kb: KnowledgeBase, chip: Path, tmp_path: Path, embedder: HashEmbedder, new: str
) -> None:
    kb.ingest([chip])
    kb.factbook.decide(kb.facts("chip", "quibbles")[0].citation.id, FactDecision.ACCEPTED)
    before, cited, embedded = ids(kb), paths(kb), len(embedder.embedded)
    (tmp_path / new).parent.mkdir(parents=True, exist_ok=True)
    shutil.move(chip, tmp_path / new)

    report = kb.ingest([tmp_path / new])

    assert {f.outcome for f in report.files} == {"moved"}
    assert (ids(kb), paths(kb), len(embedder.embedded)) == (before, cited, embedded)
    assert kb.catalog.decisions().keys() <= {key for _, key in ids(kb)}
    assert {d.source for d in kb.documents.stored("chip")} == {str(tmp_path / new / p[5:]) for p in cited}
    assert {f.outcome for f in kb.ingest([tmp_path / new]).files} == {"unchanged"}


def test_a_renamed_file_keeps_its_ids_and_is_cited_by_its_new_name(kb: KnowledgeBase, chip: Path) -> None:
    kb.ingest([chip])
    before = ids(kb)
    (chip / "guide.md").rename(chip / "manual.md")

    report = kb.ingest([chip])

    assert {f.path: f.outcome for f in report.files}["chip/manual.md"] == "moved"
    assert ids(kb) == before
    assert paths(kb) == ["chip/manual.md", "chip/parts/twin.md", "chip/twin.md"]


def test_a_file_that_moved_and_changed_is_known_by_its_path(kb: KnowledgeBase, chip: Path, tmp_path: Path) -> None:
    kb.ingest([chip])
    kb.factbook.decide(kb.facts("chip", "quibbles")[0].citation.id, FactDecision.ACCEPTED)
    shutil.move(chip, tmp_path / "chip")
    edit(tmp_path / "chip" / "guide.md", "The quibble.", "The other quibble.")

    report = kb.ingest([tmp_path / "chip"])

    assert {f.path: f.outcome for f in report.files}["chip/guide.md"] == "changed"
    assert kb.catalog.decisions().keys() <= {key for _, key in ids(kb)}
    assert len(paths(kb)) == 3


def test_a_new_file_at_the_place_of_a_moved_one_is_another_document(kb: KnowledgeBase, chip: Path) -> None:
    kb.ingest([chip])
    (chip / "guide.md").rename(chip / "old.md")
    kb.ingest([chip])
    shutil.copy(chip / "old.md", chip / "guide.md")

    kb.ingest([chip])

    keys = [row["key"] for row in kb.catalog._all("SELECT key FROM chunk")]
    assert len(set(keys)) == len(keys)
    assert "chip/guide.md" in paths(kb)


def test_a_copy_is_another_document(kb: KnowledgeBase, chip: Path, tmp_path: Path) -> None:
    kb.ingest([chip])
    shutil.copytree(chip, tmp_path / "copy" / "chip")

    report = kb.ingest([tmp_path / "copy"])

    assert {f.outcome for f in report.files} == {"new"}
    assert len(set(paths(kb))) == 6


@pytest.mark.parametrize("gone", ["here/chip", "here", "here/chip/guide.md"])
def test_a_path_that_is_gone_can_be_ingested_away(kb: KnowledgeBase, chip: Path, tmp_path: Path, gone: str) -> None:
    kb.ingest([chip])
    shutil.rmtree(chip.parent)

    report = kb.ingest([tmp_path / gone])

    assert {f.outcome for f in report.files} == {"removed"}
    assert len(paths(kb)) == 3 - len(report.files)


def test_a_dry_run_moves_nothing(kb: KnowledgeBase, chip: Path, tmp_path: Path) -> None:
    kb.ingest([chip])
    before = kb.catalog.states()
    shutil.move(chip, tmp_path / "chip")

    report = kb.ingest([tmp_path / "chip"], dry_run=True)

    assert {f.outcome for f in report.files} == {"moved"}
    assert kb.catalog.states() == before


def test_every_path_that_is_listed_can_be_removed(kb: KnowledgeBase, chip: Path, tmp_path: Path) -> None:
    shutil.copytree(chip, tmp_path / "copy" / "chip")
    kb.ingest([chip, tmp_path / "copy"])

    for path in paths(kb):
        assert [d.path for d in kb.documents.remove([path])] == [path]
    assert paths(kb) == []


def test_documents_that_get_another_target_are_not_embedded_again(
    kb: KnowledgeBase, embedder: HashEmbedder, tmp_path: Path
) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "a.md").write_text("# Zchip\n\nThe scratchpad has 64 KiB.\n")
    kb.ingest([tmp_path / "one"], target="first")
    embedded = len(embedder.embedded)

    report = kb.ingest([tmp_path / "one"], target="second")

    assert [(file.target, file.outcome) for file in report.files] == [("second", "changed")]
    assert (report.embedded, len(embedder.embedded)) == (0, embedded)

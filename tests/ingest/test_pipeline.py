"""One ingest: changed files are read, unchanged ones are left alone, and a failure affects only its own file."""

import os
import shutil
from pathlib import Path

import pytest

from kb.errors import SourceError
from kb.types.records import Trust
from kb.usecases.knowledge_base import KnowledgeBase
from kb.usecases.sheets import ensure_sheets
from tests.conftest import HashEmbedder
from tests.ingest.knowledge import edit, found, outcomes

LDS = "mi300x/memory.md"


@pytest.fixture
def filled(kb: KnowledgeBase, manuals: Path, embedder: HashEmbedder) -> KnowledgeBase:
    """Store both manuals and the sheets of their targets; `embedder.embedded` then lists only later texts."""
    kb.ingest([manuals])
    embedder.embedded.clear()
    return kb


def stored_files(home: Path) -> dict[str, bytes]:
    """Return all files in a home, except the index of the write-ahead log, which opening the catalog creates."""
    return {
        str(p.relative_to(home)): p.read_bytes() for p in home.rglob("*") if p.is_file() and p.suffix != ".sqlite-shm"
    }


def test_each_file_is_reported_with_its_target_chunks_and_outcome(kb: KnowledgeBase, manuals: Path) -> None:
    report = kb.ingest([manuals])

    assert [(f.path, f.target, f.outcome, f.chunks > 0) for f in report.files] == [
        ("mi300x/isa.rst", "mi300x", "new", True),
        ("mi300x/memory.md", "mi300x", "new", True),
        ("mi355x/isa.rst", "mi355x", "new", True),
        ("mi355x/memory.md", "mi355x", "new", True),
    ]
    assert "64 KB of local data share" in found(kb, "local data share")
    assert "160 KB" not in found(kb, "local data share")


def test_unchanged_files_are_not_read_again(filled: KnowledgeBase, manuals: Path, embedder: HashEmbedder) -> None:
    revision = filled.catalog.revision

    report = filled.ingest([manuals])

    assert set(outcomes(report).values()) == {"unchanged"}
    assert (embedder.embedded, filled.catalog.revision) == ([], revision)


def test_a_file_with_the_same_size_and_modification_time_is_not_opened(filled: KnowledgeBase, manuals: Path) -> None:
    file = manuals / LDS
    before = file.stat()
    file.write_text(file.read_text(encoding="utf-8").replace("64", "99"), encoding="utf-8")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert outcomes(filled.ingest([manuals]))[LDS] == "unchanged"


def test_a_touched_file_with_the_same_content_is_not_read_again(
    filled: KnowledgeBase, manuals: Path, embedder: HashEmbedder
) -> None:
    rows = "SELECT source, id FROM document ORDER BY source"
    ids = [tuple(row) for row in filled.catalog._all(rows)]
    before = filled.catalog.states()
    os.utime(manuals / LDS, ns=(1, 1))

    report = filled.ingest([manuals])

    after = filled.catalog.states()
    source = (manuals / LDS).as_posix()
    assert outcomes(report)[LDS] == "unchanged"
    assert embedder.embedded == []
    assert [tuple(row) for row in filled.catalog._all(rows)] == ids
    assert after[source].stamp != before[source].stamp


def test_a_changed_paragraph_embeds_only_its_own_windows(
    filled: KnowledgeBase, manuals: Path, embedder: HashEmbedder
) -> None:
    builder = "\n\n".join(f"## Part {i}\n\n" + f"word{i} " * 50 for i in range(4))
    (manuals / LDS).write_text(f"# Memory\n\n{builder}\n", encoding="utf-8")
    filled.ingest([manuals])
    embedder.embedded.clear()

    edit(manuals / LDS, "word2 word2", "changed")
    report = filled.ingest([manuals])

    assert {path for path, outcome in outcomes(report).items() if outcome == "changed"} == {LDS}
    assert len(embedder.embedded) == 1
    assert "changed" in embedder.embedded[0]
    assert "changed" in found(filled, "changed")


def test_a_deleted_file_vanishes_from_search_facts_and_vectors(filled: KnowledgeBase, manuals: Path) -> None:
    before = filled.catalog.counts()
    sheet = manuals / "mi300x" / "sheet.md"
    sheet.write_text(
        "# Sheet\n\nThe quibble.\n\n| quantity | value | unit | condition | source |\n|---|---|---|---|---|\n"
        "| quibbles | 7 | 1 | | me |\n",
        encoding="utf-8",
    )
    filled.ingest([manuals])
    assert filled.facts("mi300x", "quibbles")

    sheet.unlink()
    report = filled.ingest([manuals])

    assert outcomes(report)["mi300x/sheet.md"] == "removed"
    assert filled.catalog.counts() == before
    assert "quibble" not in found(filled, "quibble")
    assert "quibbles" not in {f.quantity for f in filled.facts("mi300x")}


def test_documents_outside_the_ingested_folder_stay(filled: KnowledgeBase, manuals: Path) -> None:
    shutil.rmtree(manuals / "mi300x")

    report = filled.ingest([manuals / "mi355x"])

    assert report.count("removed") == 0
    assert "64 KB of local data share" in found(filled, "local data share")


@pytest.mark.parametrize("new", ["mi300x/renamed.md", "mi300x/deep/er/memory.md", "mi325x/memory.md"])
def test_a_renamed_file_embeds_nothing_again(
    filled: KnowledgeBase, manuals: Path, embedder: HashEmbedder, new: str
) -> None:
    (manuals / new).parent.mkdir(parents=True, exist_ok=True)
    (manuals / LDS).rename(manuals / new)
    for sheets in ("mi325x", "gfx942"):
        ensure_sheets(filled, sheets)
    embedder.embedded.clear()

    report = filled.ingest([manuals])

    assert outcomes(report) | {new: "moved"} == outcomes(report)
    assert LDS not in outcomes(report)
    assert embedder.embedded == []


def test_a_broken_file_fails_alone_and_its_earlier_version_stays(filled: KnowledgeBase, manuals: Path) -> None:
    (manuals / LDS).write_bytes(b"\0" * 100)
    edit(manuals / "mi300x" / "isa.rst", "half precision", "changed")

    report = filled.ingest([manuals])

    [failed] = [f for f in report.files if f.outcome == "failed"]
    assert failed.path == "mi300x/memory.md"
    assert "is not text" in failed.reason
    assert report.count("changed") == 1
    assert "64 KB of local data share" in found(filled, "local data share")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.md", b"\xff\xfe#\x00"),
        ("a.md", b"---\nversion: 2024-13-45\n---\n"),
        ("a.md", b"---\n" + b"[" * 3000 + b"\n---\n"),
        ("a.md", b"> " * 3000 + b"x\n"),
        ("a.md", b"- " * 3000 + b"x\n"),
        ("a.md", b"[" * 3000 + b"\n"),
        ("a.md", b"*a " * 3000 + b"\n"),
        ("a.rst", b"".join(b" " * (3 * i) + b".. note::\n\n" for i in range(300))),
        ("a.rst", b".. |a| replace:: |b|\n.. |b| replace:: |a|\n\n|a|\n"),
    ],
    ids=["no text", "no such date", "deep YAML", "quotation", "list", "brackets", "stars", "notes", "circle"],
)
def test_a_malformed_file_does_not_stop_the_others(kb: KnowledgeBase, manuals: Path, name: str, content: bytes) -> None:
    (manuals / "mi300x" / name).write_bytes(content)

    report = kb.ingest([manuals])

    assert outcomes(report)[LDS] == "new"
    assert len(report.files) == 5


def test_a_dry_run_reports_what_an_ingest_would_do_and_writes_nothing(
    filled: KnowledgeBase, manuals: Path, embedder: HashEmbedder
) -> None:
    edit(manuals / LDS, "64 KB", "65 KB")
    (manuals / "mi355x" / "isa.rst").unlink()
    (manuals / "mi300x" / "new.md").write_text("# New\n", encoding="utf-8")
    before = stored_files(filled.settings.home)

    dry = filled.ingest([manuals], dry_run=True)

    assert stored_files(filled.settings.home) == before
    assert embedder.embedded == []
    assert dry.dry_run
    assert dry.files == filled.ingest([manuals]).files


def test_a_path_that_cannot_be_used_is_refused_before_anything_is_stored(kb: KnowledgeBase, manuals: Path) -> None:
    with pytest.raises(SourceError):
        kb.ingest([manuals, manuals / "missing"])

    assert kb.catalog.counts()["document"] == 0


def include(manuals: Path) -> Path:
    including = manuals / "mi300x" / "including.rst"
    including.write_text("Head\n====\n\n.. include:: part.txt\n", encoding="utf-8")
    return including


def test_a_file_is_read_again_when_its_include_changes(kb: KnowledgeBase, manuals: Path) -> None:
    include(manuals)
    part = manuals / "mi300x" / "part.txt"
    part.write_text("The old part.\n", encoding="utf-8")
    kb.ingest([manuals])
    assert outcomes(kb.ingest([manuals]))["mi300x/including.rst"] == "unchanged"

    part.write_text("The renewed part.\n", encoding="utf-8")
    report = kb.ingest([manuals])

    assert outcomes(report)["mi300x/including.rst"] == "changed"
    assert "renewed" in found(kb, "renewed part")


def test_a_file_is_read_again_when_its_include_appears_or_vanishes(kb: KnowledgeBase, manuals: Path) -> None:
    include(manuals)
    part = manuals / "mi300x" / "part.txt"
    first = kb.ingest([manuals])
    assert [len(f.warnings) for f in first.files if f.path.endswith("including.rst")] == [1]

    part.write_text("The quibble.\n", encoding="utf-8")
    appeared = outcomes(kb.ingest([manuals]))["mi300x/including.rst"]
    text = found(kb, "quibble")
    part.unlink()
    vanished = outcomes(kb.ingest([manuals]))["mi300x/including.rst"]

    assert (appeared, vanished) == ("changed", "changed")
    assert "quibble" in text
    assert "quibble" not in found(kb, "quibble")


def test_a_document_names_its_part_once_the_part_is_a_document_and_holds_it_otherwise(
    kb: KnowledgeBase, manuals: Path
) -> None:
    including = include(manuals)
    part = manuals / "mi300x" / "part.txt"
    part.write_text("The quibble.\n", encoding="utf-8")
    kb.ingest([including], target="mi300x")
    alone = found(kb, "quibble")
    kb.ingest([manuals])
    together = [hit.passage for hit in kb.search("quibble", target="mi300x", limit=50).hits]

    assert "The quibble." in alone
    assert [p.citation.path for p in together if "The quibble." in p.text] == ["mi300x/part.txt"]
    assert "See `part.txt`." in found(kb, "head")


def test_code_is_a_document_that_states_no_facts(kb: KnowledgeBase, manuals: Path) -> None:
    (manuals / "mi300x" / "add.hip").write_text(
        "// MI300X has 64 KB of LDS per compute unit.\n\n"
        "// Adds two vectors; lds_size = 64 KiB.\n__global__ void add_vectors(float* a) {\n  a[0] += 1;\n}\n",
        encoding="utf-8",
    )
    report = kb.ingest([manuals])
    [hit] = kb.search("add_vectors", target="mi300x").hits[:1]

    place = hit.passage.citation
    assert [f.facts for f in report.files if f.path.endswith("add.hip")] == [0]
    assert (hit.passage.kind, place.section, place.line_start) == ("code", ("add_vectors",), 3)
    assert kb.documents.get("mi300x/add.hip").format == "code"
    assert [f.format for f in report.files if f.path.endswith("add.hip")] == ["code"]


def test_a_refused_fact_is_a_warning_of_its_file(kb: KnowledgeBase, manuals: Path) -> None:
    (manuals / LDS).write_text(
        "| quantity | value | unit | condition | source |\n|---|---|---|---|---|\n| lds_size | 64 | | | me |\n",
        encoding="utf-8",
    )

    report = kb.ingest([manuals])

    [warnings] = [f.warnings for f in report.files if f.path.endswith(LDS)]
    assert len(warnings) == 1
    assert "no unit" in warnings[0]


def test_trust_and_licence_are_kept_with_each_document_and_shown(kb: KnowledgeBase, manuals: Path) -> None:
    (manuals / "LICENSE").write_text("Permission is hereby granted, free of charge", encoding="utf-8")
    kb.ingest([manuals], trust=Trust.COMMUNITY)

    kb.ingest([manuals])

    passages = [hit.passage for hit in kb.search("local data share", target="mi300x").hits]
    ours = [p for p in passages if p.citation.path.startswith("mi300x/")]
    assert {p.trust for p in ours} == {Trust.COMMUNITY}
    assert {d.licence for d in kb.documents.stored("mi300x") if not d.ships_with_kb} == {"MIT"}
    assert all(" (community)\n" in p.cited for p in ours)


def test_a_document_is_stored_again_when_its_trust_changes(filled: KnowledgeBase, manuals: Path) -> None:
    report = filled.ingest([manuals], trust=Trust.UNTRUSTED)

    assert set(outcomes(report).values()) == {"changed"}


def test_an_untrusted_document_states_no_facts(kb: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "sheet.md").write_text(
        "# S\n\n| quantity | value | unit | condition | source |\n|---|---|---|---|---|\n| lds_size | 1 | KiB | | me |",
        encoding="utf-8",
    )

    kb.ingest([tmp_path], target="mi300x", trust=Trust.UNTRUSTED)

    assert "1" not in {fact.value for fact in kb.facts("mi300x", "lds_size")}


def test_unknown_formats_are_read_as_plain_text_when_asked(kb: KnowledgeBase, manuals: Path) -> None:
    (manuals / "mi300x" / "notes.inc").write_text("The zanzibar register.\n", encoding="utf-8")

    assert outcomes(kb.ingest([manuals]))["mi300x/notes.inc"] == "skipped"
    assert outcomes(kb.ingest([manuals], unknown=True))["mi300x/notes.inc"] == "new"
    assert "zanzibar" in found(kb, "zanzibar")

"""Which files a user leaves out, with the pattern that does it."""

from pathlib import Path

import pytest

from ingest.scan import scan
from kb.errors import SourceError
from kb.usecases.knowledge_base import KnowledgeBase
from tests.ingest.test_scan import put

FILES = ("a.md", "drafts/b.md", "drafts/deep/c.md", "deep/drafts/d.md", "deep/a.md", "keep.txt", "x.txt")


@pytest.mark.parametrize(
    ("patterns", "excluded"),
    [
        (["drafts/"], {"drafts/b.md", "drafts/deep/c.md", "deep/drafts/d.md"}),
        (["/drafts/"], {"drafts/b.md", "drafts/deep/c.md"}),
        (["a.md"], {"a.md", "deep/a.md"}),
        (["*.txt", "!keep.txt"], {"x.txt"}),
        (["**/deep/**"], {"drafts/deep/c.md", "deep/drafts/d.md", "deep/a.md"}),
        (["# a comment", ""], set()),
    ],
)
@pytest.mark.parametrize("in_file", [True, False])
def test_patterns_mean_what_they_mean_in_gitignore(
    tmp_path: Path, patterns: list[str], excluded: set[str], in_file: bool
) -> None:
    for name in FILES:
        put(tmp_path / "chip" / name)
    if in_file:
        put(tmp_path / "chip" / ".kbignore", "\n".join(patterns))

    found = scan(tmp_path / "chip", hidden=False, exclude=() if in_file else patterns)

    skipped = {f.shown.removeprefix("chip/"): f.skip for f in found if f.skip.startswith("excluded by ")}
    assert skipped.keys() == excluded
    assert all(("--exclude" in why) != in_file and any(repr(p) in why for p in patterns) for why in skipped.values())


def test_the_nearest_file_with_a_pattern_decides(tmp_path: Path) -> None:
    put(tmp_path / ".kbignore", "*.md")
    put(tmp_path / "chip" / "deep" / ".kbignore", "!a.md")
    for name in FILES:
        put(tmp_path / "chip" / name)

    read = {f.shown for f in scan(tmp_path / "chip", hidden=False) if not f.skip}

    assert read == {"chip/deep/a.md", "chip/keep.txt", "chip/x.txt"}


def test_a_file_that_the_user_names_is_read_unless_the_command_line_excludes_it(tmp_path: Path) -> None:
    put(tmp_path / "chip" / ".kbignore", "*.md")
    file = put(tmp_path / "chip" / "a.md")

    assert [f.skip for f in scan(file, hidden=False)] == [""]
    assert [f.skip for f in scan(file, hidden=False, exclude=["a.*"])] == ["excluded by 'a.*' (--exclude)"]


@pytest.mark.parametrize("pattern", ["!", "[z-a]"])
def test_a_malformed_pattern_is_refused(tmp_path: Path, pattern: str) -> None:
    put(tmp_path / "a.md")

    with pytest.raises(SourceError, match="malformed pattern"):
        scan(tmp_path, hidden=False, exclude=[pattern])


def test_a_stored_document_that_is_excluded_is_removed(kb: KnowledgeBase, tmp_path: Path) -> None:
    for name in FILES:
        put(tmp_path / "chip" / name, f"# Text of {name}\n")
    kb.ingest([tmp_path / "chip"])

    report = kb.ingest([tmp_path / "chip"], exclude=["drafts/"])

    assert report.count("removed") == report.count("skipped") == 3
    assert {d.path for d in kb.documents.stored("chip")} == {f"chip/{n}" for n in FILES if "drafts" not in n}

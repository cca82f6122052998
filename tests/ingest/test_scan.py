"""Which files an ingest reads; each skipped file has a reason."""

import os
from pathlib import Path

import pytest

from ingest.scan import SHEETS, ScannedFile, scan, source_of, stamp, stamped_includes
from kb.errors import SourceError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "manuals"
    root.mkdir()
    return root


def put(path: Path, text: str = "# Text\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def reasons(found: list[ScannedFile]) -> dict[str, str]:
    return {c.shown: c.skip for c in found}


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("guide.md", ""),
        ("guide.MD", ""),
        ("guide.markdown", ""),
        ("deep/er/guide.rst", ""),
        (".hidden.md", "hidden"),
        (".git/guide.md", "hidden"),
        ("deep/.cache/er/guide.md", "hidden"),
        ("LICENSE", "licence"),
        ("LICENSE.md", "licence"),
        ("licence.rst", "licence"),
        ("deep/COPYING.md", "licence"),
        ("NOTICE.md", "licence"),
        ("sheet.xlsx", ".xlsx files are not read"),
        ("Makefile", "without suffix"),
        ("guide.md.bak", ".bak files are not read"),
    ],
)
def test_a_file_that_is_not_read_is_skipped_with_the_reason(root: Path, name: str, reason: str) -> None:
    put(root / name)

    [candidate] = scan(root, hidden=False)

    assert candidate.shown == f"manuals/{name}"
    assert bool(candidate.skip) == bool(reason)
    assert reason in candidate.skip


def test_files_are_sorted_by_name(root: Path) -> None:
    for name in ("b.md", "a/z.md", "c/a.md", "a.md"):
        put(root / name)

    found = [c.shown.removeprefix("manuals/") for c in scan(root, hidden=False)]

    assert found == ["a/z.md", "a.md", "b.md", "c/a.md"]


def test_hidden_files_are_read_on_request(root: Path) -> None:
    put(root / ".hidden.md")
    put(root / ".cache" / "guide.md")

    assert set(reasons(scan(root, hidden=True)).values()) == {""}


def test_a_hidden_file_is_read_if_the_user_names_it(root: Path) -> None:
    put(root / ".hidden.md")

    assert reasons(scan(root / ".hidden.md", hidden=False)) == {"manuals/.hidden.md": ""}


def test_a_folder_inside_a_hidden_folder_is_read_if_the_user_names_it(root: Path) -> None:
    put(root / ".venv" / "docs" / "guide.md")

    assert reasons(scan(root / ".venv" / "docs", hidden=False)) == {"docs/guide.md": ""}


@pytest.mark.parametrize("name", ["secret.md", "secrets", "secrets/deep"])
def test_a_link_that_leads_out_of_the_folder_is_skipped_with_the_reason(tmp_path: Path, root: Path, name: str) -> None:
    put(tmp_path / "secret.md")
    put(tmp_path / "secrets" / "deep" / "secret.md")
    (root / "link.md").symlink_to(tmp_path / name)

    found = reasons(scan(root, hidden=False))

    assert found == {"manuals/link.md": "a link that leads out of the folder"}


def test_a_link_inside_the_folder_is_read(root: Path) -> None:
    put(root / "real" / "guide.md")
    (root / "link.md").symlink_to(root / "real" / "guide.md")

    assert reasons(scan(root, hidden=False))["manuals/link.md"] == ""


def test_a_link_to_a_folder_is_read_at_its_real_path(tmp_path: Path, root: Path) -> None:
    put(root / "guide.md")
    (tmp_path / "link").symlink_to(root)

    assert [c.path for c in scan(tmp_path / "link", hidden=False)] == [root / "guide.md"]


def test_a_link_to_itself_is_skipped(root: Path) -> None:
    put(root / "guide.md")
    (root / "loop.md").symlink_to(root / "loop.md")

    found = reasons(scan(root, hidden=False))

    assert found["manuals/guide.md"] == ""
    assert found["manuals/loop.md"]


def test_a_file_that_is_not_regular_is_skipped(root: Path) -> None:
    """Opening a pipe would wait forever."""
    os.mkfifo(root / "pipe.md")

    [candidate] = scan(root, hidden=False)

    assert candidate.skip


@pytest.mark.parametrize("name", ["missing", "missing/guide.md"])
def test_the_error_names_a_missing_path(root: Path, name: str) -> None:
    with pytest.raises(SourceError, match=name):
        scan(root / name, hidden=False)


def test_a_source_is_the_absolute_path_or_the_path_below_the_sheets(root: Path) -> None:
    assert source_of(root / "guide.md") == (root / "guide.md").as_posix()
    assert source_of(SHEETS / "h200" / "h200.md") == "sheet:/h200/h200.md"


def test_a_stamp_changes_with_the_file_and_with_its_includes(root: Path) -> None:
    guide, part = put(root / "guide.rst"), put(root / "part.txt")
    before = stamp(guide, (str(part),))

    put(part, "other length")
    after_part = stamp(guide, (str(part),))
    os.utime(guide, ns=(0, 1))
    after_guide = stamp(guide, (str(part),))
    part.unlink()

    assert len({before, after_part, after_guide, stamp(guide, (str(part),))}) == 4
    assert stamped_includes(before) == (str(part),)

"""A file that is too large, hangs, needs too much memory or crashes its reader fails alone, in bounded time."""

import os
import shutil
import sys
import time
from pathlib import Path

import pytest

from ingest.reading import ReaderLimits, ReadFile, read_all
from ingest.scan import stamp
from kb.errors import DocumentError

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits address space")


@pytest.fixture
def one_reader_for_all() -> None:
    """Override the shared reader: these tests are about the reading processes themselves."""


def texts(root: Path, *names: str, limits: ReaderLimits | None = None) -> list[str]:
    """Return the text of each file, or why it has none."""
    found = read_all([(root / name, root) for name in names], limits or ReaderLimits())
    return [f.document.text if isinstance(f, ReadFile) else f.message for f in found]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in "abc":
        (tmp_path / f"{name}.md").write_text(f"# {name}\n", encoding="utf-8")
    return tmp_path


def test_any_number_of_files_comes_in_the_requested_order(root: Path) -> None:
    names = [f"{n}.md" for n in range(60)]
    for name in names:
        (root / name).write_text(f"# {name}\n", encoding="utf-8")

    assert texts(root, *names) == [f"# {name}" for name in names]


def test_a_document_passes_between_processes_unchanged(root: Path) -> None:
    (root / "a.md").write_text("# H 中\n\n| a | b |\n|---|---|\n| 1 | é |\n\n- x\n", encoding="utf-8")

    [file] = read_all([(root / "a.md", root)])

    assert isinstance(file, ReadFile)
    table = file.document.blocks[1].table
    assert table is not None
    assert (table.header, table.rows[0].cells) == (("a", "b"), ("1", "é"))
    assert file.document.sections[0].title == "H 中"


def test_a_file_that_hangs_is_given_up_and_the_others_are_read(root: Path) -> None:
    os.mkfifo(root / "pipe.md")

    a, hung, b = texts(root, "a.md", "pipe.md", "b.md", limits=ReaderLimits(seconds=3))

    assert (a, b) == ("# a", "# b")
    assert "took more than 3 s" in hung


@pytest.mark.slow
@linux
def test_a_file_that_needs_too_much_memory_is_given_up_and_the_others_are_read(root: Path) -> None:
    (root / "large.md").write_text("word " * 6_000_000, encoding="utf-8")

    large, b = texts(root, "large.md", "b.md", limits=ReaderLimits(memory_bytes=200 << 20))

    assert "memory" in large
    assert b == "# b"


def test_a_file_that_is_too_large_is_not_opened(root: Path) -> None:
    with (root / "huge.md").open("wb") as file:
        file.truncate(1 << 30)

    huge, b = texts(root, "huge.md", "b.md")

    assert "1,073,741,824 bytes" in huge
    assert b == "# b"


def test_the_error_for_a_missing_file_says_so(root: Path) -> None:
    assert "No such file" in texts(root, "gone.md")[0]


@linux
def test_closing_early_leaves_no_process(root: Path) -> None:
    before = _readers()
    files = read_all([(root / "a.md", root)] * 40)
    assert not isinstance(next(files), DocumentError)
    assert len(_readers()) > len(before)

    files.close()

    assert _readers() == before


def _readers() -> set[str]:
    """Return the reading processes started by this process; those of other tests may be among them."""
    threads = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    children = {p for thread in threads for p in thread.read_text(encoding="ascii").split()}
    return {p for p in children if b"ingest.reading_process" in Path(f"/proc/{p}/cmdline").read_bytes()}


def test_closing_while_a_file_hangs_ends_at_once(root: Path) -> None:
    os.mkfifo(root / "pipe.md")
    files = read_all([(root / "a.md", root), *[(root / "pipe.md", root)] * 40])
    next(files)

    began = time.monotonic()
    files.close()

    assert time.monotonic() - began < 30


def test_a_reader_that_cannot_start_is_reported_as_crashed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", shutil.which("false"))

    assert "crashed its reader (status 1)" in texts(root, "a.md")[0]


def test_the_stamp_is_taken_before_the_file_is_read(root: Path) -> None:
    before = stamp(root / "a.md", ())
    [file] = read_all([(root / "a.md", root)])
    (root / "a.md").write_text("# changed since\n", encoding="utf-8")

    assert isinstance(file, ReadFile)
    assert file.stamp == before != stamp(root / "a.md", ())

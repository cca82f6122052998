"""`include` and `literalinclude`: only files inside the folder are read, and none is dropped silently."""

from pathlib import Path

import pytest

from ingest.builder import ParsedDocument
from ingest.readers import read
from tests.ingest.documents import show


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A source tree, with a secret file beside it."""
    root = tmp_path / "manuals"
    (root / "isa" / "parts").mkdir(parents=True)
    (root / "isa" / "parts" / "note.txt").write_text("Included *text*.\n\nMore.\n", encoding="utf-8")
    (root / "isa" / "kernel.py").write_text("x = 1\ny = 2\n", encoding="utf-8")
    (root / "common.txt").write_text("Common.\n", encoding="utf-8")
    (tmp_path / "secret.txt").write_text("SECRET\n", encoding="utf-8")
    (root / "isa" / "link.txt").symlink_to(tmp_path / "secret.txt")
    return root


def parse(root: Path, source: str, name: str = "isa/manual.rst") -> ParsedDocument:
    return read(root / name, source.encode(), root=root)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("parts/note.txt", "Included text."),
        ("../common.txt", "Common."),
        ("/isa/parts/note.txt", "Included text."),
        ("/parts/note.txt", "Included text."),
        ("/common.txt", "Common."),
    ],
)
def test_a_file_inside_the_folder_is_included(root: Path, name: str, text: str) -> None:
    document = parse(root, f"Before.\n\n.. include:: {name}\n\nAfter.\n")

    assert document.text.split("\n\n")[:2] == ["Before.", text]
    assert document.text.endswith("After.")
    assert document.warnings == ()
    assert [Path(f).name for f in document.includes] == [Path(name).name]


def test_included_text_cites_the_line_of_its_include_and_later_text_its_own_line(root: Path) -> None:
    document = parse(root, "Before.\n\n.. include:: parts/note.txt\n\nAfter.\n")

    assert show(document).splitlines() == [
        "1 text §: Before.",
        "3 text §: Included text.",
        "3 text §: More.",
        "5 text §: After.",
    ]


@pytest.mark.parametrize("directive", ["include", "literalinclude"])
@pytest.mark.parametrize("name", ["../../secret.txt", "{outside}", "link.txt", "missing.txt", "parts"])
def test_a_file_outside_the_folder_is_refused_and_reported(root: Path, directive: str, name: str) -> None:
    name = name.format(outside=root.parent / "secret.txt")

    document = parse(root, f"Before.\n\n.. {directive}:: {name}\n\nAfter.\n")

    assert document.text == "Before.\n\nAfter."
    assert len(document.warnings) == 1
    assert "line 3" in document.warnings[0]
    assert name in document.warnings[0]
    assert all(Path(f).is_relative_to(root) for f in document.includes)


@pytest.mark.parametrize(
    "source",
    [
        "- .. include:: parts/note.txt\n",
        "- x\n\n  .. include:: parts/note.txt\n",
        ".. include:: parts/no such file.txt\n",
        ".. include::\n",
        ".. include:: <isonum.txt>\n",
        ".. csv-table:: T\n   :file: sizes.csv\n",
        ".. csv-table:: T\n   :url: http://localhost/sizes.csv\n",
    ],
)
def test_an_include_is_either_read_or_reported(root: Path, source: str) -> None:
    document = parse(root, f"Before.\n\n{source}\nAfter.\n")

    assert "Included text." in document.text or len(document.warnings) == 1
    assert "After." in document.text


def test_a_file_that_includes_itself_is_reported_and_read_once(root: Path) -> None:
    (root / "loop.rst").write_text("Loop.\n\n.. include:: turn.txt\n", encoding="utf-8")
    (root / "turn.txt").write_text("Turn.\n\n.. include:: loop.rst\n", encoding="utf-8")

    document = parse(root, (root / "loop.rst").read_text(encoding="utf-8"), "loop.rst")

    assert document.text == "Loop.\n\nTurn."
    assert [w for w in document.warnings if "includes itself" in w] == list(document.warnings)
    assert len(document.warnings) == 1


def test_a_chain_of_includes_ends(root: Path) -> None:
    for i in range(40):
        (root / f"{i}.txt").write_text(f"Part {i}.\n\n.. include:: {i + 1}.txt\n", encoding="utf-8")

    document = parse(root, ".. include:: 0.txt\n", "chain.rst")

    assert "Part 5." in document.text
    assert len(document.warnings) == 1


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ("   :start-line: 1\n   :end-line: 2\n", "B"),
        ("   :start-line: -1\n", "C"),
        ("   :start-after: A\n", "B C"),
        ("   :end-before: C\n", "A B"),
        ("   :start-after: nowhere\n", "A B C"),
        ("   :start-line: x\n", "A B C"),
    ],
)
def test_a_part_of_a_file_is_included(root: Path, options: str, kept: str) -> None:
    (root / "abc.txt").write_text("A\nB\nC", encoding="utf-8")

    document = parse(root, f".. include:: abc.txt\n{options}", "part.rst")

    assert document.text.split() == kept.split()


@pytest.mark.parametrize(
    ("directive", "language"),
    [
        (".. literalinclude:: kernel.py", "py"),
        (".. literalinclude:: kernel.py\n   :language: python\n   :emphasize-lines: 1", "python"),
        (".. include:: kernel.py\n   :code: python", "python"),
    ],
)
def test_a_literal_include_is_code(root: Path, directive: str, language: str) -> None:
    document = parse(root, f"{directive}\n\nAfter.\n")

    assert document.text == f"```{language}\nx = 1\ny = 2\n```\n\nAfter."


def test_an_include_inside_a_directive_stays_inside_it(root: Path) -> None:
    document = parse(root, ".. tab-item:: Tab\n\n   .. include:: parts/note.txt\n\nAfter.\n")

    assert [s.title for s in document.sections] == ["Tab"]
    assert document.blocks[1].section == 0
    assert document.blocks[-1].section is None


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ("   :lines: 2\n", "B"),
        ("   :lines: 1,3-\n", "A C D"),
        ("   :lines: -2\n", "A B"),
        ("   :start-at: B\n   :end-at: C\n", "B C"),
        ("   :start-after: A\n   :end-before: D\n", "B C"),
        ("   :lines: x-y\n", "A B C D"),
    ],
)
def test_a_part_of_a_file_is_code(root: Path, options: str, kept: str) -> None:
    (root / "abcd.txt").write_text("A\nB\nC\nD", encoding="utf-8")

    document = parse(root, f".. literalinclude:: abcd.txt\n   :language: c\n{options}", "part.rst")

    assert document.text.split() == ["```c", *kept.split(), "```"]


def test_a_table_is_read_from_its_file(root: Path) -> None:
    (root / "isa" / "sizes.csv").write_text('LDS,"64, or 160"\n', encoding="utf-8")
    rst = ".. csv-table:: Sizes\n   :header: unit, size\n   :file: sizes.csv\n"
    markdown = "```{csv-table} Sizes\n:header: unit, size\n:file: sizes.csv\n```\n"

    documents = [parse(root, rst), parse(root, markdown, "isa/manual.md")]

    for document in documents:
        assert document.text.split("\n") == ["Sizes", "| unit | size |", "|---|---|", "| LDS | 64, or 160 |"]
        assert set(document.lines) == {1}
        assert [Path(f).name for f in document.includes] == ["sizes.csv"]


def test_includes_work_in_markdown_as_in_restructured_text(root: Path) -> None:
    (root / "part.md").write_text("# Part\n\nOne\ntwo.\n", encoding="utf-8")
    source = "Before.\n\n```{include} ../part.md\n```\n\n:::{literalinclude} kernel.py\n:lines: 2\n:::\n\nAfter.\n"

    document = parse(root, source, "isa/manual.md")

    assert show(document).splitlines() == [
        "1 text §: Before.",
        "3 heading §Part: # Part",
        "3 text §Part: One",
        "3 text §Part: two.",
        "6 code §Part: ```py",
        "6 code §Part: y = 2",
        "6 code §Part: ```",
        "10 text §Part: After.",
    ]


@pytest.mark.parametrize("name", ["../../secret.txt", "link.txt", "missing.txt", "x" * 5000])
def test_markdown_reads_no_file_outside_the_folder(root: Path, name: str) -> None:
    document = parse(root, f"Before.\n\n```{{include}} {name}\n```\n\nAfter.\n", "isa/manual.md")

    assert document.text == "Before.\n\nAfter."
    assert "line 3" in document.warnings[0]


def test_includes_that_multiply_are_cut_off(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.readers.includes.MAX_CHARACTERS", 10_000)
    for i in range(6):
        (root / f"{i}.txt").write_text(f".. include:: {i + 1}.txt\n\n" * 50, encoding="utf-8")
    (root / "6.txt").write_text("End.\n", encoding="utf-8")

    document = parse(root, ".. include:: 0.txt\n", "bomb.rst")

    assert "exceeds the limit of includes" in document.warnings[0]
    assert len(document.text) < 20_000

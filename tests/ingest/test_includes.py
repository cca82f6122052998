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
def test_a_literal_include_is_code_below_the_name_of_its_file(root: Path, directive: str, language: str) -> None:
    document = parse(root, f"{directive}\n\nAfter.\n")

    assert document.text == f"See `kernel.py`.\n\n```{language}\nx = 1\ny = 2\n```\n\nAfter."


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

    assert document.text.split() == ["See", "`abcd.txt`.", "```c", *kept.split(), "```"]


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
        "6 text §Part: See `kernel.py`.",
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


# Files that are documents of their own


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("isa/manual.rst", ".. include:: parts/note.txt\n"),
        ("isa/manual.rst", ".. literalinclude:: parts/note.txt\n"),
        ("isa/manual.md", "```{include} parts/note.txt\n```\n"),
        ("isa/manual.md", "{{#include parts/note.txt}}\n"),
        ("isa/manual.md", '--8<-- "parts/note.txt"\n'),
        ("isa/manual.adoc", "include::parts/note.txt[]\n"),
    ],
)
def test_a_file_that_is_a_document_itself_is_named_and_not_repeated(root: Path, name: str, source: str) -> None:
    note = root / "isa" / "parts" / "note.txt"
    document = read(root / name, source.encode(), root=root, documents=frozenset({str(note)}))

    assert document.text == "See `parts/note.txt`."
    assert document.includes == (str(note),)


@pytest.mark.parametrize(
    ("name", "source", "definitions", "text"),
    [
        ("a.rst", ".. include:: d.txt\n\nSay |x|.\n", ".. |x| replace:: hello\n", "Say hello."),
        ("a.md", "```{include} d.txt\n```\n\n[hello][x]\n", "[x]: http://a.b\n", "hello"),
        ("a.adoc", "include::d.txt[]\n\nSay {x}.\n", "// Names.\n:x: hello\n", "Say hello.\n\nx: hello"),
    ],
)
def test_a_file_of_definitions_is_part_of_each_document_that_needs_them(
    root: Path, name: str, source: str, definitions: str, text: str
) -> None:
    (root / "d.txt").write_text(definitions, encoding="utf-8")
    document = read(root / name, source.encode(), root=root, documents=frozenset({str(root / "d.txt")}))

    assert document.text == text


def test_a_part_of_a_document_stays_with_the_text_around_it_and_its_file_is_named(root: Path) -> None:
    source = "[source,python]\n----\ninclude::kernel.py[lines=2]\n----\n"
    documents = frozenset({str(root / "isa" / "kernel.py")})
    document = read(root / "isa" / "manual.adoc", source.encode(), root=root, documents=documents)

    assert document.text == "```python\ninclude::kernel.py[]\ny = 2\n```"


# mdBook and MkDocs


@pytest.fixture
def book(root: Path) -> Path:
    listing = [
        "use a;",
        "// ANCHOR: all",
        "fn f() {",
        "    // ANCHOR: body",
        "    g();",
        "    // ANCHOR_END: body",
        "}",
    ]
    (root / "listing.rs").write_text("\n".join([*listing, "// ANCHOR_END: all", ""]), encoding="utf-8")
    page = "First.\n\n<!-- --8<-- [start:two] -->\nSecond.\n<!-- --8<-- [end:two] -->\n"
    (root / "part.md").write_text(page, encoding="utf-8")
    return root


@pytest.mark.parametrize(
    ("directive", "text"),
    [
        ("{{#include listing.rs:body}}", "    g();"),
        ("{{#include listing.rs:all}}", "fn f() {\n    g();\n}"),
        ("{{#rustdoc_include listing.rs:3:4}}", "fn f() {\n    // ANCHOR: body"),
        ("{{#include listing.rs::1}}", "use a;"),
        ("{{#include listing.rs:8:}}", "// ANCHOR_END: all"),
        ('--8<-- "listing.rs:1:1"', "use a;"),
        ("{! listing.rs!lines=1 5 !}", "use a;\n    g();"),
    ],
)
def test_a_listing_in_markdown_is_read_below_its_include(book: Path, directive: str, text: str) -> None:
    document = parse(book, f"Before.\n\n```rust\n{directive}\n```\n", "manual.md")

    assert document.text == f"Before.\n\n```rust\n{directive}\n{text}\n```"
    assert set(document.lines[2:]) <= {3, 4}
    assert document.warnings == ()


@pytest.mark.parametrize(
    ("directive", "text"),
    [
        ("{{#include part.md}}", "First.\n\nSecond."),
        ('--8<-- "part.md:two"', "Second."),
        ("--8<--\npart.md\ncommon.txt\n--8<--", "First.\n\nSecond.\n\nCommon."),
        ("{! part.md !}", "First.\n\nSecond."),
        ("{!> part.md!}", "First.\n\nSecond."),
        ('{% include "part.md" %}', "First.\n\nSecond."),
        ("{% include-markdown 'part.md' end='<!--' %}", "First."),
        ("{{#playground listing.rs:1 editable}}", "See `listing.rs`.\n\n```rs\nuse a;\n```"),
    ],
)
def test_a_page_in_markdown_is_read_where_it_is_included(book: Path, directive: str, text: str) -> None:
    document = parse(book, f"{directive}\n\nAfter.\n", "manual.md")

    assert (document.text, document.warnings) == (f"{text}\n\nAfter.", ())


def test_a_snippet_is_found_in_any_folder_above_the_page(book: Path) -> None:
    assert parse(book, '--8<-- "part.md:two"\n', "isa/manual.md").text == "Second."


@pytest.mark.parametrize(
    ("directive", "reason"),
    [
        ("{{#include ../secret.txt}}", "is not a file inside the ingested folder"),
        ("{{#include isa/link.txt}}", "is not a file inside the ingested folder"),
        ("{{#include missing.rs:body}}", "is not a file inside the ingested folder"),
        ("{{#include listing.rs:nothing}}", "has no part 'nothing'"),
        ('--8<-- "missing.md"', "is not a file inside the ingested folder"),
    ],
)
def test_an_include_in_markdown_that_cannot_be_followed_stays_and_is_reported(
    book: Path, directive: str, reason: str
) -> None:
    document = parse(book, f"Before.\n\n{directive}\n", "manual.md")

    assert document.text == f"Before.\n\n{directive}"
    assert len(document.warnings) == 1
    assert document.warnings[0].startswith("line 3: ")
    assert document.warnings[0].endswith(reason)


def test_macros_stay_and_are_reported_once_for_a_file(root: Path) -> None:
    text = "See {{ version }}.\n\n- {{#isa-table base}}\n\n`{{ code }}`, $x^{{n}}$\n\n```\n{{ x }}\n```\n"
    document = parse(root, text, "manual.md")

    assert "{{ version }}" in document.text
    assert document.warnings == ("line 1: the macro {{ version }} is not expanded, nor are 1 more",)


UNEXPANDED = {
    "a.md": ["{{ size() }}", "{{< param size >}}", "{{% size %}}", "!include x.md"],
    "a.rst": ["|size|", "{{ size }}", '{% include "x.rst" %}'],
    "a.adoc": ["{size}", "{{ size }}"],
    "a.html": ["{{ size | x }}", "<%= size %>", '{% include "x.html" %}'],
}


@pytest.mark.parametrize(("name", "macro"), [(name, macro) for name, macros in UNEXPANDED.items() for macro in macros])
def test_a_macro_of_any_format_stays_and_is_reported(root: Path, name: str, macro: str) -> None:
    document = read(root / name, f"{macro}\n".encode(), root=root)

    assert macro in document.text
    assert document.warnings == (f"line 1: the macro {macro} is not expanded",)


def test_what_a_server_includes_in_html_is_reported(root: Path) -> None:
    document = read(root / "a.html", b'<p>a</p>\n<!--#include virtual="/part.html" -->', root=root)

    assert document.warnings == ("line 2: include of /part.html: a server adds it",)


def test_files_that_hugo_includes_and_boxes_of_hugo_are_read(root: Path) -> None:
    (root / "part.md").write_text("The zebra.\n", encoding="utf-8")
    text = '{{% readfile file="part.md" %}}\n\n{{< tab title="H100" >}}\nIt has 8.\n{{< /tab >}}\n'

    document = read(root / "a.md", text.encode(), root=root)

    assert (document.text, document.warnings) == ("The zebra.\n\nH100\nIt has 8.", ())

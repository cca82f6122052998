"""reStructuredText: what each construct becomes, and that no text is lost silently."""

import re
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.builder import BlockKind, ParsedDocument
from ingest.readers import read
from kb.errors import DocumentError
from tests.conftest import needs_corpus
from tests.ingest.documents import PROPERTY, Case, cases, corpus_sample, read_corpus, show, trail

KEPT_SHARE = 0.97
WORDS = re.compile(r"[A-Za-z0-9]{3,}")
NO_TEXT = re.compile(
    r"^ *\.\. +(?![\w:|.+-]*::|\[|\|).*(?:\n+ +.*)*|^ *\.\.( \|[^|]*\|)? [\w:.+-]+::|<[^<>]*>|^ +:[\w-]+:.*"
    r"|:[\w:.+-]+:`",
    re.MULTILINE,
)


def parse(text: str) -> ParsedDocument:
    return read(Path("manual.rst"), text.encode(), root=Path("/"))


@pytest.mark.parametrize("case", cases("rst.md"))
def test_rst_becomes_blocks_with_their_lines(case: Case) -> None:
    assert show(parse(case.source)) == case.expected


@pytest.mark.parametrize("directive", ["admonition", "topic", "sidebar", "dropdown", "card", "note"])
def test_the_text_after_a_titled_directive_belongs_to_the_section_around_it(directive: str) -> None:
    source = f"Top\n===\n\nInner\n-----\n\n.. {directive}:: A title\n\n   Inside.\n\nAfter.\n"

    document = parse(source)

    assert document.text.endswith("After.")
    assert "A title" in document.text
    assert trail(document, document.blocks[-1].section) == ["Top", "Inner"]


PLACES = {
    "at the top": "{0}",
    "in a list": "- first\n- {2}",
    "in a list item by itself": "- {2}",
    "in an admonition": ".. note::\n\n   {3}",
    "in an unknown directive": ".. gadget::\n\n   {3}",
    "in a table cell": ".. list-table::\n\n   * - a\n     - {7}\n   * - b\n     - c",
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", ["gizmo", "py:method"])
def test_an_unknown_directive_keeps_its_text_wherever_it_stands(place: str, name: str) -> None:
    unheard_of = f"{name}-{place.replace(' ', '-')}"
    lines = [f".. {unheard_of}:: argument", "   :option: x", "", "   The *body* of it."]
    indented = [("\n" + " " * indent).join(lines) for indent in range(8)]

    document = parse(PLACES[place].format(*indented) + "\n")

    assert "argument" in document.text
    assert "The body of it." in document.text
    assert "irective" not in document.text, "the document must not contain messages of docutils"
    assert document.warnings == ()


@pytest.mark.parametrize("name", ["gizmo", "cpp:class", "nki.isa"])
def test_an_unknown_role_keeps_its_text(name: str) -> None:
    document = parse(f"Call :{name}:`do it` now.\n")

    assert document.text == "Call `do it` now."


def test_a_document_does_not_depend_on_documents_read_before_it() -> None:
    """docutils keeps directives and roles for the whole process."""
    first = ".. list-table::\n\n   * - .. thingamajig:: x\n\n          body\n     - `y`:sometag:\n"
    before = show(parse(first))

    parse(".. thingamajig:: z\n\n:sometag:`t`\n\n.. default-role:: sometag\n")

    assert show(parse(first)) == before


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (".. code-block:: c\n   int x;\n", "int x;"),
        (".. parsed-literal::\n   make *all*\n", "make"),
        (".. math:: a = b\n", "a = b"),
        (".. only:: html\n\n   Seen.\n", "Seen."),
        (".. container:: box\n\n   Seen.\n", "Seen."),
        (".. epigraph::\n\n   Seen.\n", "Seen."),
        (".. glossary::\n\n   LDS\n      Seen.\n", "LDS: Seen."),
        (".. rst-class:: x\n\nSeen.\n", "Seen."),
        ("Title\n==\n\nSeen.\n", "Seen."),
        ("- a\n  b\n c\n", "c"),
        ("*unclosed\n", "unclosed"),
        ("`a`_ and b_\n", "b"),
        ("A\n=\n\nB\n-\n\nC\n~\n\nD\n=\n\nE\n^\n\nSeen.\n", "Seen."),
    ],
)
def test_text_in_odd_places_is_kept(source: str, text: str) -> None:
    assert text in parse(source).text


def test_a_row_of_a_csv_table_cites_a_line_of_its_table() -> None:
    document = parse('Before.\n\n.. csv-table:: Sizes\n   :header: "unit", "size"\n\n   LDS, "64, or 160"\n   L1, 32\n')

    assert document.text.splitlines()[2:] == [
        "Sizes",
        "| unit | size |",
        "|---|---|",
        "| LDS | 64, or 160 |",
        "| L1 | 32 |",
    ]
    assert list(document.lines[2:]) == [3, 3, 3, 6, 7]


MALFORMED = {
    "grid table": "+---+---+\n| a | b |\n+---+\n| 1 | 2 |\n+---+---+",
    "simple table": "===  ===\na    b\n===  ===\n1    2 3 4\nlonger than column\n===  ===",
    "list-table": ".. list-table::\n\n   * - a\n     - b\n   * - c",
    "csv-table": ".. csv-table::\n   :widths: 10\n\n   a, b\n   1, 2",
}


@pytest.mark.parametrize("source", MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_table_is_kept_as_plain_text_with_a_warning(source: str) -> None:
    document = parse(f"Before.\n\n{source}\n\nAfter.\n")

    [block] = [b for b in document.blocks if b.kind is BlockKind.CODE]
    kept = document.text[block.start : block.end].splitlines()[1:-1]
    assert [line.strip() for line in kept] == [line.strip() for line in source.splitlines()]
    assert len(document.warnings) == 1
    assert "kept as plain text" in document.warnings[0]
    assert [document.text.startswith("Before."), document.text.endswith("After.")] == [True, True]


@pytest.mark.parametrize("source", MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_table_cites_its_own_lines(source: str) -> None:
    document = parse(f"Before.\n\n{source}\n\nAfter.\n")

    [block] = [b for b in document.blocks if b.kind is BlockKind.CODE]
    first = document.text.count("\n", 0, block.start) + 1
    assert list(document.lines[first : first + source.count("\n") + 1]) == list(range(3, 4 + source.count("\n")))


def test_the_current_date_is_not_put_into_the_text() -> None:
    document = parse(".. |today| date::\n.. |year| date:: %Y\n\nAs of |today|, |year|.\n")

    assert not any(sign.isdigit() for sign in document.text)


def test_a_very_long_line_does_not_lose_the_document() -> None:
    document = parse("Head\n====\n\nBefore.\n\n" + "word " * 4000 + "\n\nAfter.\n")

    assert [s.title for s in document.sections] == ["Head"]
    assert document.text.count("word") == 4000
    assert document.text.endswith("After.")


CONSTRUCTS = [
    "{0}\n--\n\n{1} {2}",
    "- {0}\n\n  - {1}\n\n:{2}: x",
    ".. note:: {0}\n\n   .. gadget:: {1}\n\n      {2}",
    ".. list-table:: {0}\n\n   *\n     - {1}\n     - {2}",
    ".. csv-table:: {0}\n\n   {1}, {2}",
    "+----------+----------+\n| {0:8} | {1:8} |\n|          +----------+\n|          | {2:8} |\n"
    "+----------+----------+",
    ".. tab-item:: {0}\n\n   .. code-tab:: c {1}\n\n      {2}",
    "..\n\n   {0}\n\n.. raw:: html\n\n   <p>{1}</p>\n\n{2}",
    ".. only:: x\n\n   {0}\n\n.. jinja:: x\n\n   {1} {{{{ {2} }}}}",
    "{0}\n   {1}\n\n| {2}",
    ".. |{0}| replace:: {1}\n\n|{0}| {0} |{2}|",
    ".. doxygenfunction:: {0}\n\n.. autosummary::\n\n   {1}\n\n.. toctree::\n   {2}",
]
NAMES = st.from_regex(r"[a-z]{4,8}", fullmatch=True)


@PROPERTY
@given(st.sampled_from(CONSTRUCTS), st.lists(NAMES, min_size=3, max_size=3, unique=True))
def test_no_word_is_lost_in_any_construct(construct: str, words: list[str]) -> None:
    document = parse(f"Before.\n\n{construct.format(*words)}\n\nAfter.\n")

    assert {*words, "Before", "After"} <= set(re.findall(r"\w+", document.text))


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "hostile",
    ["*a ", "|a ", "``a ", "[1]_ ", "|x| ", "a_ ", "- ", ".. note:: x\n\n", "+--+\n", "a\n==\n\n", ":a: b\n"],
)
def test_hostile_text_is_read_in_bounded_time(hostile: str) -> None:
    with suppress(DocumentError):  # It is nested too deeply.
        assert "Before." in parse("Before.\n\n" + hostile * (20_500 // len(hostile))).text


@needs_corpus
@pytest.mark.slow
def test_words_of_real_documents_are_kept() -> None:
    """Comments, options and the targets of links and figures are not text."""
    kept = total = 0
    for path, document in read_corpus(corpus_sample(".rst")):
        words = set(WORDS.findall(NO_TEXT.sub("", path.read_text(encoding="utf-8"))))
        total += len(words)
        kept += len(words & set(WORDS.findall(document.text)))

    assert total > 5000
    assert kept >= KEPT_SHARE * total, f"{kept} of {total}"


MARKS = st.sampled_from(
    [
        "===",
        "---",
        "..",
        ".. note::",
        ".. x::",
        ".. |a| ",
        "::",
        "`",
        "``",
        "*",
        "|a|",
        "+--+",
        "| a",
        "- ",
        "1. ",
        "_",
        ":a:",
    ]
)


@PROPERTY
@given(
    st.lists(st.one_of(MARKS, st.text(max_size=6), st.sampled_from(["\n", "\n\n", "   "])), max_size=40).map("".join)
)
def test_any_text_can_be_read(text: str) -> None:
    document = parse(text)

    assert len(document.lines) == 1 + document.text.count("\n")
    assert max(document.lines) <= 1 + len(text.splitlines())

"""AsciiDoc: what constructs, includes and conditionals become, and that no word is lost."""

import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.builder import BlockKind, ParsedDocument
from ingest.readers import read
from tests.conftest import CORPUS, needs_corpus
from tests.ingest.documents import PROPERTY, Case, cases, corpus_files, read_corpus, show

KEPT_SHARE = 0.995
FAITHFUL_SHARE = 0.99
HOSTILE_CHARACTERS = 60_000
HOSTILE_SECONDS = 30
TOKEN = re.compile(r"[A-Za-z0-9_.]{3,}")
V_SPEC = CORPUS / "riscv-rvv/riscv-v-spec/v-spec.adoc"


def parse(text: str) -> ParsedDocument:
    return read(Path("manual.adoc"), text.encode(), root=Path("/"))


@pytest.mark.parametrize("case", cases("asciidoc.txt"))
def test_asciidoc_becomes_blocks_with_their_lines(case: Case) -> None:
    assert show(parse(case.source)) == case.expected


@pytest.mark.parametrize(
    ("header", "metadata"),
    [
        ("= The _Unit_\n", {"title": "The Unit"}),
        ("= Unit\nVersion 1.1-draft\n", {"title": "Unit", "version": "1.1-draft"}),
        ("= Unit\nAnn Author\nv2.0, 2024-01-31: final\n", {"title": "Unit", "version": "2.0"}),
        ("= Unit\n:revnumber: 0.6.0\n", {"title": "Unit", "version": "0.6.0"}),
        ("== Part of a document\n", {}),
    ],
)
def test_the_header_states_title_and_version(header: str, metadata: dict[str, str]) -> None:
    assert parse(f"{header}\nText.\n").metadata == metadata


# Includes


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "manual").mkdir()
    (tmp_path / "manual" / "part.adoc").write_text(
        "== Part\n\n// tag::one[]\nFirst.\n// end::one[]\n\n// tag::two[]\nSecond.\n// end::two[]\n", encoding="utf-8"
    )
    (tmp_path / "manual" / "loop.adoc").write_text("Loop.\n\ninclude::loop.adoc[]\n", encoding="utf-8")
    (tmp_path / "manual" / "copy.s").write_text("# copy\nloop:\n  :x: y\n  ret\n", encoding="utf-8")
    (tmp_path / "outside.adoc").write_text("Secret.\n", encoding="utf-8")
    return tmp_path / "manual"


def included(root: Path, text: str) -> ParsedDocument:
    return read(root / "manual.adoc", text.encode(), root=root)


@pytest.mark.parametrize(
    ("directive", "text"),
    [
        ("include::part.adoc[]", "## Part\n\nFirst.\n\nSecond."),
        ("include::part.adoc[leveloffset=+1]", "### Part\n\nFirst.\n\nSecond."),
        ("include::part.adoc[tag=two]", "Second."),
        ("include::part.adoc[tags=one;two]", "First.\nSecond."),
        ("include::part.adoc[tags=*;!one]", "Second."),
        ("include::part.adoc[tags=**;!two]", "## Part\n\nFirst."),
        ("include::part.adoc[lines=1..4]", "## Part\n\nFirst."),
        ('include::part.adoc[lines="4;8..-1"]', "First.\nSecond."),
        (":name: part\n\ninclude::{name}.adoc[tag=one]", "First."),
        ("----\ninclude::copy.s[lines=2..-1]\n----", "```\ninclude::copy.s[]\nloop:\n  :x: y\n  ret\n```"),
        ("\\include::part.adoc[]", "part.adoc"),
    ],
)
def test_an_include_adds_the_selected_part_of_its_file(root: Path, directive: str, text: str) -> None:
    document = included(root, f"{directive}\n")

    assert [document.text.partition("\n\nname:")[0], document.warnings] == [text, ()]


def test_included_lines_cite_the_line_of_their_include_and_the_file_is_listed(root: Path) -> None:
    document = included(root, "Before.\n\ninclude::part.adoc[]\n\nAfter.\n")

    assert show(document).splitlines() == [
        "1 text §: Before.",
        "3 heading §Part: ## Part",
        "3 text §Part: First.",
        "3 text §Part: Second.",
        "5 text §Part: After.",
    ]
    assert document.includes == (str(root / "part.adoc"),)


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("../outside.adoc", "is not a file inside the ingested folder"),
        ("/etc/passwd", "is not a file inside the ingested folder"),
        ("missing.adoc", "is not a file inside the ingested folder"),
        (".", "is not a file inside the ingested folder"),
    ],
)
def test_a_refused_include_leaves_its_name_and_a_warning(root: Path, target: str, reason: str) -> None:
    document = included(root, f"include::{target}[]\n")

    assert document.text == target
    assert document.warnings == (f"line 1: include of {target}: {reason}",)


def test_an_optional_include_may_be_missing(root: Path) -> None:
    document = included(root, "include::missing.adoc[opts=optional]\nText.\n")

    assert [document.text, document.warnings] == ["Text.", ()]


def test_a_file_that_includes_itself_is_read_once(root: Path) -> None:
    document = included(root, "include::loop.adoc[]\n")

    assert document.text.count("Loop.") == 1
    assert document.warnings == ("line 1: include of loop.adoc: includes itself",)


# Any text

WORDS = st.text(alphabet="bcfgjkqwxyz", min_size=4, max_size=9)
LINE_STARTS = st.sampled_from(
    [
        "",
        "",
        "* ",
        "** ",
        ". ",
        "- ",
        "== ",
        "=== ",
        "NOTE: ",
        " ",
        "| ",
        "|",
        "2+| ",
        ".2+| ",
        "! ",
        ".",
        "<1> ",
        "a| ",
    ]
)
LINE_ENDS = st.sampled_from(["", "", "", "::", " +", " |", ".", "#", "*", "_", "`", ":"])
MARKED = st.one_of(WORDS, *(WORDS.map(f"{m}{{}}{m}".format) for m in ("*", "_", "`", "**", "#", "^", "~", "+")))
DELIMITERS = ["", "", "", "----", "====", "--", "....", "****", "|===", "!===", "```", "____", "+", "++++", "'''"]
TEXT_LINES = st.builds(
    lambda start, words, end: start + " ".join(words) + end, LINE_STARTS, st.lists(MARKED), LINE_ENDS
)
ALL_LINES = st.one_of(TEXT_LINES, st.sampled_from([*DELIMITERS, "[NOTE]", "[source]", '[cols="1,1a"]', "[%header]"]))


@PROPERTY
@given(st.lists(ALL_LINES, max_size=25).map("\n".join))
def test_no_word_is_lost(text: str) -> None:
    document = parse(text)
    words = re.findall(r"[bcfgjkqwxyz]{4,}", text)

    assert [word for word in words if word not in document.text] == []


MARKS = st.sampled_from(
    [
        "= ",
        "== ",
        "|===",
        "----",
        "====",
        "[[",
        "]]",
        "[",
        "]",
        "::",
        "ifdef::a[]",
        "endif::[]",
        ":a: ",
        "{a}",
        "<<",
        ">>",
        "include::manual.adoc[]",
        "*",
        "_",
        "`",
        "+",
        "#",
        "//",
        "////",
        "a|",
        "2+|",
        "NOTE: ",
        "\\",
        "link:",
        "((",
        "))",
    ]
)


@PROPERTY
@given(st.lists(st.one_of(MARKS, st.text(max_size=6), st.sampled_from(["\n", "\n\n", "  "])), max_size=40).map("".join))
def test_any_text_can_be_read(text: str) -> None:
    document = parse(text)

    assert len(document.lines) == 1 + document.text.count("\n")
    assert max(document.lines) <= 1 + len(re.findall(r"\r\n|\r|\n", text))


@pytest.mark.slow
@pytest.mark.parametrize(
    "part",
    [
        "*a ",
        "`a ",
        "[#a]#b ",
        "[",
        "((a",
        "<<a",
        "a:b[",
        "image::a[",
        "link:a[",
        "a:",
        "{a}",
        "\\",
        "a ::",
        "| a ",
        " ",
        "|===\n",
        "a::\n\n",
        "====\n****\n--\n",
        "ifdef::a[]\n",
        ":a: {a}{a}\n",
        "|===\n999+|a\n",
        "|===\n.999+|a\n|b\n",
    ],
)
def test_hostile_text_is_read_in_bounded_time(part: str) -> None:
    start = time.process_time()
    parse(part * (HOSTILE_CHARACTERS // len(part)))

    assert time.process_time() - start < HOSTILE_SECONDS


# The corpus


@needs_corpus
@pytest.mark.slow
def test_the_words_of_the_manuals_are_kept() -> None:
    kept = total = 0
    for path, document in read_corpus(corpus_files(".adoc")):
        words = tokens(without_markup(path.read_text(encoding="utf-8")))
        total += len(words)
        kept += len(words & tokens(document.text))

    assert total > 30_000
    assert kept >= KEPT_SHARE * total, f"{kept} of {total}"


def without_markup(source: str) -> str:
    """`source` without comments, directives, anchors, addresses, index terms and the names of macros."""
    for markup in (
        r"(?ms)^////$.*?^////$",
        r"(?m)^//(?!/).*$|^(?:include|image|ifdef|ifeval|endif)::.*$|^\[[^\]\n]*\]+$|^:!?[\w-]+!?:",
        r"\[\[[^\]\n]*\]\]|\[[#.][^\]\n]*\]#|<<[^>]*>>|\(\(\(.*?\)\)\)|\{[\w-]+\}|(?:link:)?https?://[^\s\[]*",
        r"\b(?:csr|insn|ext|extlink|insnlink|exlink|qty|cite|stem|xref|image):+|\b(?:NOTE|WARNING)\b",
    ):
        source = re.sub(markup, " " if "{" in markup else "", source)
    return source


def tokens(text: str) -> set[str]:
    return {token.strip("._") for token in TOKEN.findall(text)}


@needs_corpus
@pytest.mark.slow
def test_a_line_of_a_paragraph_cites_the_line_of_the_file_that_holds_its_words() -> None:
    faithful = total = 0
    for path, document in read_corpus(corpus_files(".adoc")):
        source = path.read_text(encoding="utf-8").split("\n")
        if document.includes:
            continue
        for block in (b for b in document.blocks if b.kind in (BlockKind.TEXT, BlockKind.ITEM)):
            first = document.text.count("\n", 0, block.start)
            for number, line in zip(
                document.lines[first:], document.text[block.start : block.end].split("\n"), strict=False
            ):
                words = re.findall(r"[a-z]{4,}", line)
                total += 1
                faithful += all(word in source[number - 1] or word in ("figure",) for word in words)

    assert total > 5_000
    assert faithful >= FAITHFUL_SHARE * total, f"{faithful} of {total}"


@needs_corpus
@pytest.mark.slow
def test_rules_and_tables_of_a_manual_cite_their_lines() -> None:
    document = read(V_SPEC, V_SPEC.read_bytes(), root=V_SPEC.parent)
    lines = dict(zip(document.text.split("\n"), document.lines, strict=False))

    assert [number for line, number in lines.items() if "VLEN ≥ ELEN" in line] == [58]
    assert lines["| 0xC22 | URO | vlenb | XLEN | VLEN/8 (vector register length in bytes) |"] == 104
    assert document.metadata == {"title": 'RISC-V "V" Vector Extension', "version": "1.1-draft"}

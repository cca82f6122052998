"""Markdown: what each construct becomes, and which line of the file it cites."""

import html
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
from tests.ingest.documents import PROPERTY, Case, cases, corpus_sample, read_corpus, show

FAITHFUL_SHARE = KEPT_SHARE = 0.99
TOKEN = re.compile(r"[A-Za-z0-9]{3,}")
LINK_TARGET = re.compile(r"\]\([^)]*\)|<[^>]*>|^\[[^\]]*\]:.*|https?://\S+|\{[^}]*\}", re.MULTILINE)
WORD = re.compile(r"[A-Za-z0-9]+")
LEAD = re.compile(r"\[figure: |^(?:Note|Tip|Important|Warning|Caution): ")


def parse(text: str) -> ParsedDocument:
    return read(Path("manual.md"), text.encode(), root=Path("/"))


@pytest.mark.parametrize("case", cases("markdown.md"))
def test_markdown_becomes_blocks_with_their_lines(case: Case) -> None:
    assert show(parse(case.source)) == case.expected


@pytest.mark.parametrize(
    ("content", "metadata"),
    [
        ("title: The guide\nversion: 1\nlicence: MIT\ntarget: h200", ("The guide", "1", "MIT", "h200")),
        ("title: 'x: y'\nlicense: Apache-2.0", ("x: y", "", "Apache-2.0", "")),
        ("version: 1.10", ("", "1.10", "", "")),
        ("version: 2024-01-31", ("", "2024-01-31", "", "")),
        ("version: 2024-13-45", ("", "2024-13-45", "", "")),
        ("version: 007", ("", "007", "", "")),
        ("title: Yes", ("Yes", "", "", "")),
        ("- a\n- b", ("", "", "", "")),
        ("title: [a, b]", ("", "", "", "")),
        ("", ("", "", "", "")),
    ],
)
def test_front_matter_values_are_kept_as_written(content: str, metadata: tuple[str, ...]) -> None:
    document = parse(f"---\n{content}\n---\n\n# Head\n")

    assert tuple(document.metadata.get(k, "") for k in ("title", "version", "licence", "target")) == metadata
    assert document.text.startswith("# Head")
    assert {b.kind for b in document.blocks} <= {BlockKind.HEADING, BlockKind.FURNITURE}


@pytest.mark.parametrize(
    ("markup", "words"),
    [
        ("<ul><li>one</li><li>two</li></ul>", ["one", "two"]),
        ("<p>one</p><p>two</p>", ["one", "two"]),
        ("<div>one<br>two</div>", ["one", "two"]),
        ("<table><tr><td>one</td></tr><tr><td>two</td></tr></table>", ["one", "two"]),
        ("<p>o<b>n</b>e</p>", ["one"]),
    ],
)
def test_html_that_separates_words_on_the_page_separates_them_in_the_text(markup: str, words: list[str]) -> None:
    assert WORD.findall(parse(markup).text) == words


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_line_ends_of_every_system_count_the_same(ending: str) -> None:
    document = parse(ending.join(["# Head", "", "one", "two", "", "three"]))

    assert show(document).splitlines()[1:] == ["3 text §Head: one", "4 text §Head: two", "6 text §Head: three"]


def test_a_byte_order_mark_is_not_text() -> None:
    assert parse("\ufeff# Head\n").sections[0].title == "Head"


MARKS = st.sampled_from(
    ["#", "-", "```", "|", "---", "> ", "*", "`", "<td>", "]", "![", ":::{note}", "```{list-table}", "1."]
)


@PROPERTY
@given(
    st.lists(st.one_of(MARKS, st.text(max_size=6), st.sampled_from(["\n", "\n\n", "    "])), max_size=40).map("".join)
)
def test_any_text_can_be_read(text: str) -> None:
    document = parse(text)

    assert len(document.lines) == 1 + document.text.count("\n")
    assert max(document.lines) <= 1 + len(re.findall(r"\r\n|\r|\n", text))


CONSTRUCTS = [
    "# {0} {1}\n\n{2}",
    "{0}\n===\n\n- {1}\n\n  {2}",
    "> [!NOTE]\n> {0}\n>\n> # {1}\n> {2}",
    "| {0} | {1} |\n|---|---|\n| `{2}|x` | y |",
    "**{0}**\n\n<table><tr><td>\n\n{1}\n\n</td><td>{2}</td></tr></table>",
    "<details><summary>{0}</summary>\n\n{1}\n\n</details>\n\n{2}",
    "```{{note}} {0}\n{1}\n```\n\n::: x\n{2}\n:::",
    "```{{list-table}} {0}\n* - {1}\n  - {2}\n```",
    "```{{csv-table}} {0}\n{1}, {2}\n```",
    "```{{eval-rst}}\n.. note:: {0}\n\n   {1}\n```\n\n{2}",
    "{0}\n: {1}\n\n  {2}",
    "{0}[^{1}]\n\n[^{1}]: {2}",
    "$$\n{0}\n$$\n\n<p>{1}</p>\n{2}",
    "{{% details {0} %}}\n\n{1} @ref {2}\n\n{{% enddetails %}}",
]
NAMES = st.from_regex(r"[a-z]{4,8}", fullmatch=True)


@PROPERTY
@given(st.lists(st.tuples(st.sampled_from(CONSTRUCTS), NAMES, NAMES, NAMES), max_size=6))
def test_no_word_is_lost_in_any_construct(parts: list[tuple[str, str, str, str]]) -> None:
    document = parse("\n\n".join(construct.format(*words) for construct, *words in parts))

    assert {word for _, *words in parts for word in words} <= set(WORD.findall(document.text))
    assert document.warnings == ()


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "hostile",
    [
        *("![a][", "[a](", "::: x y\n", "```{note}\n", "<details>\n\n", "<details><summary>", "<table>\n\n", "<a "),
        *("{% include path='a' ", "```{include} a\n", "> ", "- ", "\\f$ ", "`a``b```c", "[^a]: ", "$a "),
    ],
)
def test_hostile_text_is_read_in_bounded_time(hostile: str) -> None:
    with suppress(DocumentError):  # It is nested too deeply.
        assert "Before." in parse("Before.\n\n" + hostile * (20_000 // len(hostile))).text


@pytest.mark.parametrize(
    ("picture", "shown"),
    [
        ('![A tile](a.png "Each lane owns a row")', "[figure: A tile: Each lane owns a row]"),
        ('![](a.png "Each lane owns a row")', "[figure: Each lane owns a row]"),
        ('![A tile](a.png "A tile")', "[figure: A tile]"),
    ],
)
def test_the_title_of_a_picture_is_text(picture: str, shown: str) -> None:
    assert parse(picture).text == shown


def test_text_that_is_nested_too_deeply_is_an_error_and_not_dropped() -> None:
    assert "deep" in parse("> " * 90 + "deep").text
    with pytest.raises(DocumentError, match="nested too deeply"):
        parse("> " * 100 + "deep")


@needs_corpus
@pytest.mark.slow
def test_words_of_real_documents_are_kept() -> None:
    kept = total = 0
    for path, document in read_corpus(corpus_sample(".md")):
        text = LINK_TARGET.sub("", path.read_text(encoding="utf-8-sig"))
        words = set(TOKEN.findall(text))
        total += len(words)
        kept += len(words & set(TOKEN.findall(document.text + " ".join(document.metadata.values()))))

    assert total > 10_000
    assert kept >= KEPT_SHARE * total, f"{kept} of {total}"


@needs_corpus
@pytest.mark.slow
def test_a_line_of_a_paragraph_cites_the_line_of_the_file_that_holds_its_words() -> None:
    """Not all lines can: a code span or a link may run over two lines."""
    faithful = total = 0
    for path, document in read_corpus(corpus_sample(".md", ".markdown")):
        source = path.read_text(encoding="utf-8-sig").split("\n")
        for first, end, line in paragraph_lines(document):
            total += 1
            faithful += set(WORD.findall(line)) <= words_of("\n".join(source[first - 1 : max(first, end - 1)]))

    assert total > 1000
    assert faithful >= FAITHFUL_SHARE * total, f"{faithful} of {total}"


def paragraph_lines(document: ParsedDocument) -> list[tuple[int, int, str]]:
    """Return each line of each paragraph with the line it cites and the line cited next."""
    found = []
    texts = document.text.split("\n")
    for block in document.blocks:
        if block.kind is BlockKind.TEXT:
            lines = range(document.text.count("\n", 0, block.start), document.text.count("\n", 0, block.end) + 1)
            for i in (i for i in lines if texts[i]):
                following = next(
                    (n for n, text in zip(document.lines[i + 1 :], texts[i + 1 :], strict=True) if text), 0
                )
                found.append((document.lines[i], following, LEAD.sub("", texts[i])))
    return found


def words_of(source: str) -> set[str]:
    return set(WORD.findall(source)) | set(WORD.findall(html.unescape(re.sub(r"</?[a-zA-Z][^>]*>", "", source))))

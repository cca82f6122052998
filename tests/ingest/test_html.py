"""HTML: what each construct becomes, which line it cites, and that no word of a page is lost."""

import re
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.builder import BlockKind, DocumentBuilder, ParsedDocument
from ingest.readers import read
from ingest.readers.html.reader import add_html, flat_text
from kb.errors import DocumentError
from tests.conftest import CORPUS, needs_corpus
from tests.ingest.documents import PROPERTY, Case, cases, corpus_files, read_corpus, show
from tests.ingest.test_markdown import FAITHFUL_SHARE, WORD, paragraph_lines, words_of

COVERED_SHARE = 0.99
SPANS = {"a", "b", "code", "em", "i", "span", "strong", "tt"}
TOKEN = re.compile(r"[A-Za-z0-9_.]{3,}")


def parse(text: str) -> ParsedDocument:
    return read(Path("page.html"), text.encode(), root=Path("/"))


@pytest.mark.parametrize("case", cases("html.txt"))
def test_html_becomes_blocks_with_their_lines(case: Case) -> None:
    assert show(parse(case.source)) == case.expected


def test_a_piece_of_html_counts_lines_from_its_first_line() -> None:
    builder = DocumentBuilder()
    builder.heading(1, "Head", 1)
    add_html(builder, "<div>\n<p>one</p>\n<table><tr><td>a<td>b</table>", 7)

    assert show(builder.build()).splitlines()[1:] == ["8 text §Head: one", "9 table §Head: | a | b |"]


def test_html_can_be_shown_on_one_line() -> None:
    assert flat_text("<b>one</b><br>2<sup>3</sup>\n<ul><li>x<li>y</ul>") == "one 2^3; x; y"


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("Backend &#8212; LLVM 22.0.0git documentation", "Backend"),
        ("Backend - User docs", "Backend"),
        ("A - B | My Documentation", "A - B"),
        ("Load - store", "Load - store"),
        ("Documentation", "Documentation"),
    ],
)
def test_a_title_loses_the_suffix_of_its_generator(title: str, shown: str) -> None:
    assert parse(f"<title>{title}</title><p>Text.").sections[0].title == shown


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_line_ends_of_every_system_count_the_same(ending: str) -> None:
    document = parse(ending.join(["<h1>Head</h1>", "", "<p>one", "two", "<pre>", "three</pre>"]))

    assert show(document).splitlines()[1:3] == ["3 text §Head: one", "4 text §Head: two"]
    assert "6 code §Head: three" in show(document)


@pytest.mark.parametrize(
    "markup",
    [
        "<" * 100_000,
        "<!--" * 50_000,
        '<a title="' * 20_000,
        "<p" + "\n" * 100_000,
        "<b " * 50_000 + ">",
        "&#12;&#9;&#9;&#9;&#xC; x" * 20_000,
        "<li>" * 20_000,
        "<p>" * 20_000,
        "<table><tr>" + "<td colspan=1000>x" * 5_000,
        "<table>" + "<tr><td rowspan=65534>x" * 5_000,
        "<table><tr>" + "<td>x" * 5_000 + "<tr><td>x" * 5_000,
        f"<td colspan={'9' * 5000}>",
        "<table><td colspan=9999999999>x<td rowspan=0 colspan=-1>y</table>",
    ],
)
def test_hostile_markup_is_read_in_bounded_time(markup: str) -> None:
    begin = time.process_time()
    document = parse(markup)

    assert time.process_time() - begin < 5
    assert set(document.lines) <= set(range(1, markup.count("\n") + 2))


@pytest.mark.parametrize("tag", ["div", "ul", "b", "table", "x-y"])
def test_markup_that_is_nested_too_deeply_is_an_error(tag: str) -> None:
    with pytest.raises(DocumentError):
        parse(f"<{tag}>" * 100_000)


FLOWING = re.findall(r"\w+", "p div span b ul ol li dd pre br section nav main blockquote img a")
GATHERED = re.findall(r"\w+", "h2 dl dt details summary table tr td th caption label sup code header footer")
SPECIAL = ["admonition", "admonition-title", "sd-tab-set", "sd-card", "sd-card-title", "math", "toctree-wrapper"]


@st.composite
def pages(draw: st.DrawFn, tags: list[str]) -> str:
    """Markup, mostly malformed, in which each word occurs once."""
    parts = []
    for number in range(draw(st.integers(0, 25))):
        tag = draw(st.sampled_from(tags))
        begin = f"<div class='{tag}'" if tag in SPECIAL else f"<{tag}"
        end = "</div>" if tag in SPECIAL else f"</{tag}>"
        parts += draw(st.sampled_from([[begin, ">"], [begin, "\n>"], [end], ["\n"], [" "], [f" w{number} "]]))
    return "".join(parts)


def words_told(document: ParsedDocument) -> list[tuple[str, int]]:
    lines = zip(document.text.split("\n"), document.lines, strict=True)
    return [(word, number) for line, number in lines for word in re.findall(r"w\d+", line)]


@PROPERTY
@given(pages(FLOWING + GATHERED + SPECIAL))
def test_no_word_is_lost_or_repeated(page: str) -> None:
    assert sorted(word for word, _ in words_told(parse(page))) == sorted(re.findall(r"w\d+", page))


@PROPERTY
@given(pages([tag for tag in FLOWING if tag != "pre"]))  # a tag may split a line of code over two lines
def test_each_word_cites_its_line(page: str) -> None:
    lines = page.split("\n")

    assert all(word in lines[number - 1].split() for word, number in words_told(parse(page)))


MARKS = re.findall(r"\S+", "< > <!-- --> </ <table> <tr> <td <pre> <svg> <math> <sup> <code> <script> <title> &#12; '")


@PROPERTY
@given(st.lists(st.one_of(st.sampled_from([*MARKS, '"', "\f", "\n"]), st.text(max_size=6)), max_size=40).map("".join))
def test_any_text_can_be_read(text: str) -> None:
    document = parse(text)

    assert len(document.lines) == 1 + document.text.count("\n")
    assert max(document.lines) <= 1 + len(re.findall(r"\r\n|\r|\n", text))


class _Visible(HTMLParser):
    """The visible text of a page, without tags."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.parts.append("" if tag in SPANS else " ")

    def handle_endtag(self, tag: str) -> None:
        self.parts.append("" if tag in SPANS else " ")

    def handle_data(self, data: str) -> None:
        if self.cdata_elem is None:
            self.parts.append(data)


@needs_corpus
@pytest.mark.slow
def test_nearly_all_words_of_each_page_are_kept() -> None:
    for path, document in read_corpus(corpus_files(".html", ".htm")):
        page = _Visible()
        page.feed(re.sub(r'<span class="linenos">.*?</span>', "", path.read_text(encoding="utf-8")))
        found = tokens(document.text.replace("`", "").replace("\\|", "|"))
        shown = tokens("".join(page.parts).replace("`", ""))

        assert len(shown & found) >= COVERED_SHARE * len(shown), f"{path}: {sorted(shown - found)[:20]}"


def tokens(text: str) -> set[str]:
    return {token.strip("._") for token in TOKEN.findall(text)}


@needs_corpus
@pytest.mark.slow
def test_a_line_of_a_paragraph_cites_the_line_of_the_page_that_holds_its_words() -> None:
    faithful = total = 0
    for path, document in read_corpus(corpus_files(".html", ".htm")):
        source = path.read_text(encoding="utf-8").split("\n")
        for first, end, line in paragraph_lines(document):
            total += 1
            faithful += set(WORD.findall(line)) <= words_of("\n".join(source[first - 1 : max(first, end - 1)]))

    assert total > 1000
    assert faithful >= FAITHFUL_SHARE * total, f"{faithful} of {total}"


@needs_corpus
@pytest.mark.slow
def test_a_page_of_more_than_a_megabyte_is_read_within_seconds() -> None:
    path = CORPUS / "mi355x/llvm-22-doc/html/AMDGPUUsage.html"
    begin = time.process_time()
    [(_, document)] = read_corpus([path])

    assert time.process_time() - begin < 5
    assert sum(block.kind is BlockKind.TABLE for block in document.blocks) == 94

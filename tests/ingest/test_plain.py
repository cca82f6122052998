"""Plain text and delimited values: what they become, and that no word is lost."""

import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.builder import ParsedDocument
from ingest.readers import format_of, read
from tests.conftest import needs_corpus
from tests.ingest.documents import PROPERTY, Case, cases, corpus_files, read_corpus, show

WORD = re.compile(r"\w+")
MOST_SECONDS = 5.0


def parse(name: str, text: str) -> ParsedDocument:
    return read(Path(name), text.encode(), root=Path("/"))


@pytest.mark.parametrize("case", cases("plain.md"))
def test_plain_text_becomes_paragraphs_headings_and_code(case: Case) -> None:
    assert show(parse("notes.txt", case.source)) == case.expected


@pytest.mark.parametrize("case", cases("delimited.md"))
def test_delimited_values_become_a_table(case: Case) -> None:
    assert show(parse("data.csv", case.source)) == case.expected


def test_tabs_separate_fields_and_windows_line_ends_count_once() -> None:
    document = parse("data.tsv", "chip\tnote\r\ngfx1\ta, b\r\ngfx2\tc, d\r\n")

    assert show(document).splitlines()[2:] == ["2 table §: | gfx1 | a, b |", "3 table §: | gfx2 | c, d |"]


def test_keys_and_values_stay_on_their_lines() -> None:
    assert "    unit: KiB" in parse("metrics.yaml", "LDS:\n  size:\n    unit: KiB\n").text.split("\n")


@pytest.mark.parametrize(
    "text",
    ['"' + "x y," * 50_000, "a," * 30_000 + "\n" + "b\n" * 30_000],
    ids=["a quote that never ends", "one row much longer than all others"],
)
def test_values_that_form_no_table_are_kept_as_plain_text(text: str) -> None:
    document = parse("data.csv", text)

    assert document.warnings[0].startswith("kept as plain text")
    assert text.strip() in document.text


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.txt", "a.csv"])
@pytest.mark.parametrize("part", ["a  b", "x,y\n", '"', "= \n", "---\n", "  ", "word\n\n", "|;\t,"])
def test_time_grows_linearly_with_the_length(name: str, part: str) -> None:
    began = time.process_time()
    parse(name, part * (200_000 // len(part)))

    assert time.process_time() - began < MOST_SECONDS


PIECES = st.sampled_from(["\n", "\n\n", "  ", "   ", "\t", ",", ";", "|", '"', "===\n", "---\n", "- ", "│"])


@PROPERTY
@given(st.lists(st.one_of(PIECES, st.text(max_size=6)), max_size=40).map("".join), st.sampled_from(["a.txt", "a.csv"]))
def test_every_text_can_be_read_and_no_word_is_lost(text: str, name: str) -> None:
    document = parse(name, text)

    assert set(WORD.findall(text.replace("\0", " "))) <= set(WORD.findall(document.text))
    assert len(document.lines) == 1 + document.text.count("\n")
    assert max(document.lines) <= 1 + len(re.findall(r"\r\n|\r|\n", text))


@needs_corpus
@pytest.mark.slow
def test_every_word_of_real_files_is_kept() -> None:
    files = [p for p in corpus_files(".csv", ".tsv", ".txt", ".yaml") if format_of(p) in ("delimited", "plain")]

    assert files
    for path, document in read_corpus(files):
        assert set(WORD.findall(path.read_text("utf-8"))) <= set(WORD.findall(document.text)), path
        assert not document.warnings, path

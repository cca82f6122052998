"""Source code: definitions are sections with their comments; boilerplate and numbers are kept but not searched."""

import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.builder import CHUNK_CHARACTERS, BlockKind, ParsedDocument
from ingest.chunk import chunk
from ingest.readers import read
from ingest.readers.languages import LANGUAGES
from tests.ingest.documents import CODE_LINES, PROPERTY, Case, cases, show

PARTS = ["def f(x):", "int g(int a) {", "fn h() {", "}", "/* a", "b */", "// Copyright (c) 2026", "# x", '"""']
PARTS += ["#if A", "#endif", "1, 2, 3,"]


def words(text: str) -> set[str]:
    return set(re.findall(r"[A-Za-z0-9]{3,}", text))


def parse(name: str, text: str) -> ParsedDocument:
    return read(Path("/src") / name, text.encode(), root=Path("/src"))


def titles(document: ParsedDocument) -> list[str]:
    return [" > ".join(document.trail(number)) for number in range(len(document.sections))]


@pytest.mark.parametrize("case", cases("code.txt"))
def test_code_becomes_definitions_with_their_lines(case: Case) -> None:
    name = case.title.split(":")[0]

    assert show(parse(name, case.source)) == case.expected.strip("\n")


@pytest.mark.parametrize("case", cases("definitions.txt"))
def test_definitions_of_each_language_are_found(case: Case) -> None:
    assert titles(parse(case.title.split(":")[0], case.source)) == case.expected.split("\n")


def test_a_long_class_gives_its_methods_sections_and_a_short_one_stays_whole() -> None:
    method = "    def {}(self):\n        # Doubles.\n        x = 1\n        return x\n\n"
    many = "".join(method.format(f"method_{n}") for n in range(40))
    document = parse("a.py", f"class Long:\n{many}\nclass Short:\n{method.format('one')}")

    assert titles(document)[:2] == ["Long", "Long > method_0"]
    assert titles(document)[-1] == "Short"


@pytest.mark.parametrize("notice", ["Copyright 2026 A Company", "Copyright A Company - (c) 2007 - 2018"])
def test_a_licence_header_is_kept_and_not_searched(notice: str) -> None:
    header = f"// {notice}\n//\n// Licensed under the Apache License, Version 2.0\n\n"
    document = parse("a.cpp", f"{header}// Adds two vectors.\n\nint add(int a) {{\n  return a;\n}}\n")
    searched = " ".join(c.body for c in chunk(document, title="", tokenizer=None))

    assert "Company" in document.text
    assert "Company" not in searched
    assert document.metadata == {"title": "a.cpp: Adds two vectors", "licence": "Apache-2.0"}


def test_a_table_of_numbers_is_kept_and_its_first_rows_are_searched() -> None:
    rows = "".join(f"  0x{n:04x}, {n}, -1.5f,\n" for n in range(5000))
    document = parse("a.h", f"int before;\nconst int table[] = {{\n{rows}}};\nint after;\n")
    searched = " ".join(c.body for c in chunk(document, title="", tokenizer=None))

    assert "0x1000" in document.text
    assert "0x1000" not in searched
    assert "0x0003" in searched
    assert "after" in searched
    assert document.warnings == ("line 19: 4,984 lines of numbers, or very long ones, are kept but not searched",)


def test_each_part_of_a_long_function_is_code_and_ends_at_a_blank_line() -> None:
    body = "".join(f"  int a{n} = {n};\n  int b{n} = {n};\n\n" for n in range(200))
    document = parse("a.c", f"void f() {{\n{body}}}\n")
    chunks = chunk(document, title="", tokenizer=None)

    assert {c.kind for c in chunks} == {"code"}
    assert all(c.end - c.start <= CHUNK_CHARACTERS for c in chunks)
    assert all(document.text[c.start :].startswith("  int a") for c in chunks[1:])


@pytest.mark.parametrize("text", ["", "\n", "}", "{" * 5000, "'", '"""', "/*", "#if\n" * 500, "(" * 9000, "def f(:\n"])
def test_broken_code_is_read_whole(text: str) -> None:
    for suffix in sorted({language.name: suffix for suffix, language in LANGUAGES.items()}.values()):
        assert words(text) <= words(parse(f"a{suffix}", text).text)


@pytest.mark.parametrize(
    "text", ["{}", 'R"(', 'r#"', "f(){}", "class ", "template <", "(a", "int a(int b);\n", "'", "AAA "]
)
@pytest.mark.parametrize("suffix", [".cpp", ".py", ".rs", ".sv"])
def test_hostile_code_is_read_in_bounded_time(suffix: str, text: str) -> None:
    began = time.process_time()
    parse(f"a{suffix}", text * 10_000)

    assert time.process_time() - began < 10


@PROPERTY
@given(
    suffix=st.sampled_from(sorted(LANGUAGES)),
    lines=st.lists(
        st.one_of(CODE_LINES, st.sampled_from(PARTS)),
        max_size=60,
    ),
    end=st.sampled_from(["\n", "\r\n"]),
)  # fmt: skip
def test_no_word_of_any_code_is_lost_and_each_line_stands_where_the_document_says(
    suffix: str, lines: list[str], end: str
) -> None:
    content = end.join(lines).encode()
    path = Path("/src") / f"name{suffix}"
    document = read(path, content, root=path.parent)

    assert words(content.decode()) <= words(document.text)
    for block in document.blocks:
        if block.kind is BlockKind.CODE:
            first = document.text.count("\n", 0, block.start)
            for number, line in zip(
                document.lines[first + 1 :], document.text[block.start : block.end].split("\n")[1:-1], strict=False
            ):
                assert lines[number - 1].rstrip() == line

"""Spans, lines and sections of a document are exact, whatever methods a reader calls in any order."""

from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.builder import BlockKind, Cell, DocumentBuilder
from tests.ingest.documents import OPERATIONS, PROPERTY, build, show


@PROPERTY
@given(OPERATIONS)
def test_blocks_are_ordered_spans_of_the_text_that_do_not_touch(operations: list[tuple[object, ...]]) -> None:
    document = build(operations)

    assert all(document.text[b.start : b.end].strip() for b in document.blocks)
    assert all(b.end <= len(document.text) for b in document.blocks)
    assert all(one.end < other.start for one, other in pairwise(document.blocks))


@PROPERTY
@given(OPERATIONS)
def test_there_is_no_text_between_blocks(operations: list[tuple[object, ...]]) -> None:
    document = build(operations)
    edges = [0, *(edge for b in document.blocks for edge in (b.start, b.end)), len(document.text)]

    assert not any(document.text[start:end].strip() for start, end in zip(edges[0::2], edges[1::2], strict=True))


@PROPERTY
@given(OPERATIONS)
def test_each_line_of_the_text_has_one_line_of_the_file(operations: list[tuple[object, ...]]) -> None:
    document = build(operations)

    assert len(document.lines) == 1 + document.text.count("\n")
    assert min(document.lines) >= 1


@PROPERTY
@given(OPERATIONS)
def test_a_table_row_is_a_line_of_its_table(operations: list[tuple[object, ...]]) -> None:
    document = build(operations)

    for block in document.blocks:
        for row in block.table.rows if block.table else ():
            text = document.text[row.start : row.end]
            assert block.start <= row.start < row.end <= block.end
            assert text == "| " + " | ".join(cell.replace("|", "\\|") for cell in row.cells) + " |"
            assert not block.table or len(block.table.header) in (0, len(row.cells))
            assert document.text[row.end : row.end + 1] in ("", "\n")
    assert all((b.kind is BlockKind.TABLE) == (b.table is not None) for b in document.blocks)


@PROPERTY
@given(OPERATIONS)
def test_sections_nest(operations: list[tuple[object, ...]]) -> None:
    document = build(operations)
    sections = document.sections

    for section in sections:
        assert 0 <= section.start < section.end <= len(document.text)
        if section.parent is not None:
            parent = sections[section.parent]
            assert parent.start < section.start
            assert section.end <= parent.end
            assert parent.level < section.level
    for one, other in combinations(sections, 2):
        assert one.end < other.start or other.end <= one.end, "two sections overlap"


@PROPERTY
@given(OPERATIONS)
def test_a_block_lies_inside_its_section(operations: list[tuple[object, ...]]) -> None:
    document = build(operations)

    for block in document.blocks:
        if block.section is not None:
            section = document.sections[block.section]
            assert section.start <= block.start
            assert block.end <= section.end


@PROPERTY
@given(OPERATIONS, st.sampled_from([2, 3]))
def test_a_labelled_part_leaves_the_section_around_it_open(operations: list[tuple[object, ...]], level: int) -> None:
    outer, label = ("heading", level, "Outer", 1), ("labelled", "Tab", 2, operations)

    document = build([outer, label, ("text", "after", 9, 0)])

    assert document.blocks[-1].section == 0


@PROPERTY
@given(OPERATIONS)
def test_no_word_that_a_reader_adds_is_lost(operations: list[tuple[object, ...]]) -> None:
    def words(name: str, *arguments: object) -> list[str]:
        if name == "labelled":
            return str(arguments[0]).split() + [w for inner in arguments[2] for w in words(*inner)]
        if name == "table":
            rows, caption = arguments[0], arguments[3]
            found = [w for row in rows for cell in row for w in cell.text.replace("|", "\\|").split()]
            return found + caption.split() * bool(found)
        return str(arguments[1 if name == "heading" else 0]).split()

    text = build(operations).text

    assert [w for operation in operations for w in words(*operation) if w not in text] == []


def test_an_empty_document_has_one_empty_line() -> None:
    document = DocumentBuilder().build()

    assert (document.text, document.lines, document.blocks) == ("", (1,), ())


@pytest.mark.parametrize(("text", "line"), [("\nfirst\nsecond", 7), ("\n\n  first\n\nsecond", 6), ("first\n", 8)])
def test_blank_lines_before_a_text_count_as_lines(text: str, line: int) -> None:
    """A reader may drop an image, for instance; the lines after it keep their numbers."""
    builder = DocumentBuilder()

    builder.text(text, line)

    document = builder.build()
    assert document.text.startswith("first")
    assert document.lines[0] == 8


def test_blank_lines_before_code_count_as_lines() -> None:
    builder = DocumentBuilder()

    builder.code("\n\nint x;\n", 5)

    assert show(builder.build()).splitlines()[1] == "7 code §: int x;"


def test_a_cell_is_repeated_in_each_row_and_column_that_it_spans() -> None:
    builder = DocumentBuilder()
    rows = [
        [Cell("Unit", rows=2), Cell("Size", columns=2)],
        [Cell("KiB"), Cell("banks")],
        [Cell("LDS", rows=2), Cell("64"), Cell("32")],
        [Cell("not stated", columns=2)],
        [Cell("Shared", columns=3)],
        [Cell("L2"), Cell("4", rows=2, columns=2)],
        [Cell("L3")],
        [Cell("Others", columns=99)],
        [Cell("ROM"), Cell("prose " * 100, columns=2)],
    ]

    builder.table(rows, header_rows=2, row_lines=list(range(1, 10)), caption="Memories")

    assert builder.build().text.splitlines() == [
        "Memories",
        "| Unit | Size / KiB | Size / banks |",
        "|---|---|---|",
        "| LDS | 64 | 32 |",
        "| LDS | not stated | not stated |",
        "| Shared |  |  |",
        "| L2 | 4 | 4 |",
        "| L3 | 4 | 4 |",
        "| Others |  |  |",
        f"| ROM | {'prose ' * 99}prose |  |",
    ]

"""Chunks of random documents: nothing is lost, no row or line is cut, every window fits its model."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.builder import Cell, DocumentBuilder, ParsedDocument
from ingest.chunk import chunk
from ingest.facts import HEADER
from kb.types.embedding import Tokenizer
from kb.types.records import ChunkRecord
from tests.conftest import HashEmbedder
from tests.ingest.chunks import (
    ByteTokenizer,
    check_bodies,
    check_coverage,
    check_cuts,
    check_leads,
    check_rows,
    check_size,
    check_windows,
)
from tests.ingest.documents import LINES, OPERATIONS, PROPERTY, build, trail

LIMIT = 120
"""Longest chunk: short, so that short random documents are cut in many places."""

LENGTHS = st.integers(16, 64)
TOKENIZERS = st.one_of(st.builds(HashEmbedder, LENGTHS), st.builds(ByteTokenizer, LENGTHS))


@pytest.fixture(autouse=True, scope="module")
def short_chunks() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ingest.chunk.CHUNK_CHARACTERS", LIMIT)
        yield


def chunks_of(document: ParsedDocument) -> tuple[ChunkRecord, ...]:
    return chunk(document, title="Manual", tokenizer=None)


@PROPERTY
@given(OPERATIONS, LINES, TOKENIZERS)
def test_every_window_fits_the_model_and_no_text_is_lost(
    operations: list[tuple[object, ...]], title: str, tokenizer: Tokenizer
) -> None:
    document = build(operations)

    check_windows(chunk(document, title=title, tokenizer=tokenizer), tokenizer)


@PROPERTY
@given(OPERATIONS)
def test_a_chunk_is_searched_whole_but_a_fact_without_its_source(operations: list[tuple[object, ...]]) -> None:
    document = build(operations)

    check_bodies(document, chunks_of(document))


@PROPERTY
@given(OPERATIONS)
def test_every_character_below_a_heading_is_in_one_chunk(operations: list[tuple[object, ...]]) -> None:
    document = build(operations)

    check_coverage(document, chunks_of(document))


@PROPERTY
@given(OPERATIONS)
def test_no_chunk_cuts_a_table_row_or_a_line_of_code_or_joins_sections(operations: list[tuple[object, ...]]) -> None:
    document = build(operations)

    check_cuts(document, chunks_of(document))


@PROPERTY
@given(OPERATIONS)
def test_a_block_that_fits_stays_whole_and_only_a_row_or_line_may_be_longer(
    operations: list[tuple[object, ...]],
) -> None:
    document = build(operations)

    check_size(document, chunks_of(document), LIMIT)


@PROPERTY
@given(OPERATIONS)
def test_parts_of_a_table_carry_caption_and_header(operations: list[tuple[object, ...]]) -> None:
    document = build(operations)

    check_leads(document, chunks_of(document))


@PROPERTY
@given(OPERATIONS)
def test_every_row_is_searched_and_its_cells_keep_their_spans(operations: list[tuple[object, ...]]) -> None:
    document = build(operations)

    check_rows(document, chunks_of(document))


@PROPERTY
@given(OPERATIONS)
def test_the_heading_of_a_chunk_is_the_path_of_its_section(operations: list[tuple[object, ...]]) -> None:
    document = build(operations)

    for record in chunks_of(document):
        assert record.heading == " > ".join(trail(document, record.section))


@PROPERTY
@given(OPERATIONS, TOKENIZERS)
def test_the_chunks_do_not_depend_on_the_model(operations: list[tuple[object, ...]], tokenizer: Tokenizer) -> None:
    document = build(operations)

    with_model = chunk(document, title="Manual", tokenizer=tokenizer)

    assert [(c.start, c.end, c.lead) for c in with_model] == [(c.start, c.end, c.lead) for c in chunks_of(document)]


def test_neighbouring_blocks_share_a_chunk_while_they_fit_and_sections_never_do() -> None:
    builder = DocumentBuilder()
    builder.heading(1, "Memory", 1)
    for text in ("One two three.", "Four five six.", "word " * 22):
        builder.text(text, 2)
    builder.heading(2, "LDS", 3)
    builder.text("Seven.", 4)

    windows = [c.windows for c in chunk(builder.build(), title="Memory", tokenizer=HashEmbedder(64))]

    assert windows == [
        ("Memory\nOne two three.\n\nFour five six.",),
        ("Memory\n" + ("word " * 22).strip(),),
        ("Memory > LDS\nSeven.",),
    ]


def test_a_heading_with_nothing_below_it_is_a_chunk() -> None:
    builder = DocumentBuilder()
    builder.heading(1, "Memory", 1)
    builder.heading(2, "LDS has 64 KB", 2)

    assert [c.heading for c in chunks_of(builder.build())] == ["Memory > LDS has 64 KB"]


@pytest.mark.parametrize(("sizes", "parts"), [((10, 10), 1), ((20, 20), 2), ((2, 23), 2), ((23, 2), 2)])
def test_prose_that_does_not_fit_is_cut_between_sentences(sizes: tuple[int, int], parts: int) -> None:
    sentences = [("word " * size).strip() + "." for size in sizes]
    builder = DocumentBuilder()
    builder.text(" ".join(sentences), 1)
    document = builder.build()

    texts = [document.text[c.start : c.end] for c in chunks_of(document)]

    assert texts == ([" ".join(sentences)] if parts == 1 else sentences)


def test_a_breadcrumb_takes_at_most_a_fifth_and_keeps_its_end() -> None:
    builder = DocumentBuilder()
    for level in range(1, 6):
        builder.heading(level, " ".join([f"level{level}"] * 10), level)
    builder.text("Text.", 9)

    [only] = chunk(builder.build(), title="The title", tokenizer=HashEmbedder(50))

    breadcrumb = only.windows[0].partition("\n")[0]
    assert len(HashEmbedder().token_spans(breadcrumb)) == 10
    assert breadcrumb.endswith("level5")


@pytest.mark.parametrize("rows", [0, 1])
@pytest.mark.parametrize("names", [[f"column{i}" for i in range(40)], list(HEADER)], ids=["long", "of facts"])
def test_the_header_of_a_table_with_one_row_or_none_is_kept(names: list[str], rows: int) -> None:
    builder = DocumentBuilder()
    cells = [[Cell(name) for name in names], *[[Cell("x")] * len(names)] * rows]
    builder.table(cells, header_rows=1, row_lines=range(1, 2 + rows))

    shown = [f"{c.lead} {c.body}" for c in chunks_of(builder.build())]

    assert set(names) <= {word for text in shown for word in text.split()}


@pytest.mark.parametrize("kind", ["text", "code", "item"])
def test_a_chunk_is_code_only_if_all_of_it_is_code(kind: str) -> None:
    builder = DocumentBuilder()
    if kind == "code":
        builder.code("One.", 1)
    else:
        builder.text("One.", 1, marker="-" if kind == "item" else "")
    alone = chunks_of(builder.build())

    builder.table([[Cell("x")]], header_rows=0, row_lines=[2])
    mixed = chunks_of(builder.build())

    assert [c.kind for c in alone] == ["code" if kind == "code" else "text"]
    assert [c.kind for c in mixed] == ["text"]

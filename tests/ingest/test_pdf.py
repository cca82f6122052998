"""PDF: what each thing on a page becomes, and which page it cites."""

import re
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.builder import BlockKind, ParsedDocument
from ingest.readers import read
from kb.errors import DocumentError
from tests.ingest.documents import PROPERTY, show
from tests.ingest.pdf_writer import BOLD, CODE, HEIGHT, SIGNS, TEXT, WIDTH, image, lines, pdf, put, rule, table


def parse(content: bytes) -> ParsedDocument:
    return read(Path("manual.pdf"), content, root=Path("/"))


def shown(*pages: str, outline: Sequence[tuple[int, str, int, float]] = ()) -> list[str]:
    return [line for line in show(parse(pdf(*pages, outline=outline))).splitlines() if " furniture " not in line]


def furniture(*pages: str) -> list[str]:
    found = show(parse(pdf(*pages))).splitlines()
    return [line for line in found if " furniture " in line]


PROSE = (
    "The unit reads a tile of the matrix from the local memory of its core,",
    "multiplies it and adds the product to the accumulators of the unit.",
    "A program waits for it with a barrier.",
)
BODY = lines(*PROSE)
FLOWED = " ".join(PROSE)


# Text


def test_lines_of_a_paragraph_are_joined_and_space_separates_paragraphs() -> None:
    second = lines(*PROSE, y=200 + 3 * 12 + 8)

    assert shown(f"{BODY}\n{second}") == [f"1 text §: {FLOWED}", f"1 text §: {FLOWED}"]


def test_an_indented_line_begins_a_paragraph() -> None:
    second = f"{put(90, 236, PROSE[0])}\n{lines(*PROSE[1:], y=248)}"

    assert shown(f"{BODY}\n{second}") == [f"1 text §: {FLOWED}", f"1 text §: {FLOWED}"]


def test_a_paragraph_across_two_pages_cites_both() -> None:
    pages = lines(*PROSE[:1]), lines(*PROSE[1:])

    assert shown(*pages) == [f"1 text §: {PROSE[0]}", f"2 text §: {' '.join(PROSE[1:])}"]
    assert len([block for block in parse(pdf(*pages)).blocks if block.kind is BlockKind.TEXT]) == 1


def test_columns_are_read_one_after_the_other() -> None:
    left = [f"Left column line {i:02} which says a few more words" for i in range(10)]
    right = [text.replace("Left", "Right") for text in left]
    title = put(
        72, 150, "A title which runs over both of the columns of this page as one line, from left to right edge"
    )

    assert shown(f"{title}\n{lines(*left, x=50)}\n{lines(*right, x=320)}") == [
        "1 text §: A title which runs over both of the columns of this page as one line, from left to right edge",
        f"1 text §: {' '.join(left)}",
        f"1 text §: {' '.join(right)}",
    ]


@pytest.mark.parametrize(
    ("first", "second", "joined"),
    [
        ("All transac-", "tions wait. A word: transactions", "All transactions wait. A word: transactions"),
        ("With a well-", "known word", "With a well-known word"),
        ("It has 32-", "bit words", "It has 32-bit words"),
        ("The v_mfma_-", "form of it: mfmaform", "The v_mfma_- form of it: mfmaform"),
    ],
)
def test_a_hyphen_at_the_end_of_a_line_is_dropped_only_if_the_joined_word_is_known(
    first: str, second: str, joined: str
) -> None:
    assert shown(lines(first, second)) == [f"1 text §: {joined}"]


def test_ligatures_and_mathematical_letters_are_spelled() -> None:
    assert shown(f"{BODY}\n{put(72, 300, 'ABAE', font=SIGNS)}")[1:] == ["1 text §: fiftfix"]


@pytest.mark.parametrize(
    ("base", "raised", "text"),
    [("up to 2", "n", "up to 2^n"), ("from 10", "-12", "from 10^{-12}"), ("the 4", "th", "the 4th")],
)
def test_small_raised_text_is_a_power(base: str, raised: str, text: str) -> None:
    width = {"up to 2": 33.9, "from 10": 36.1, "the 4": 22.2}[base]
    page = f"{BODY}\n{put(72, 300, base)}\n{put(72 + width, 296, raised, size=7)}"

    assert shown(page)[1:] == [f"1 text §: {text}"]


def test_lists_become_items() -> None:
    page = "\n".join(
        [
            lines("Three things:"),
            lines("\u2022 first thing", "\u2022 second thing", x=80, y=216),
            put(88, 240, "goes on"),
            put(96, 252, "\u2022 inner"),
            lines("1. one", "2. two", x=72, y=280),
        ]
    )

    assert shown(page) == [
        "1 text §: Three things:",
        "1 item §: - first thing",
        "1 item §: - second thing goes on",
        "1 item §:   - inner",
        "1 item §: 1. one",
        "1 item §: 2. two",
    ]


def test_lines_in_a_monospaced_font_are_code_with_their_indentation() -> None:
    code = [put(72, 300, "for i in range(8):", font=CODE), put(72 + 4 * 6, 312, "load(a,  i)", font=CODE)]
    code.append(put(72, 336, "done()", font=CODE))

    assert shown("\n".join([BODY, *code]))[1:] == [
        "1 code §: ```",
        "1 code §: for i in range(8):",
        "1 code §:     load(a,  i)",
        "1 code §: done()",
        "1 code §: ```",
    ]


# Headings


def test_entries_of_the_outline_are_headings_in_any_font() -> None:
    page = f"{put(72, 120, '1.  Memory')}\n{BODY}\n{put(72, 300, '1.1 The scratch-pad')}\n{lines(*PROSE, y=330)}"
    outline = [(0, "Memory", 1, 110.0), (1, "1.1  The Scratchpad", 1, 290.0), (0, "Not on the page", 1, 400.0)]

    assert shown(page, outline=outline) == [
        "1 heading §1. Memory: # 1. Memory",
        f"1 text §1. Memory: {FLOWED}",
        "1 heading §1. Memory > 1.1 The scratch-pad: ## 1.1 The scratch-pad",
        f"1 text §1. Memory > 1.1 The scratch-pad: {FLOWED}",
        "1 heading §Not on the page: # Not on the page",
    ]


def test_without_an_outline_large_and_bold_lines_are_headings() -> None:
    page = "\n".join(
        [
            lines("A long title of", "two lines", y=100, size=18, step=20),
            put(72, 160, "Memory", font=BOLD, size=13),
            BODY,
            put(72, 260, "Banks", font=BOLD),
            lines(*PROSE, y=280),
        ]
    )

    assert [line for line in shown(page) if "heading" in line] == [
        "1 heading §A long title of two lines: # A long title of two lines",
        "1 heading §A long title of two lines > Memory: ## Memory",
        "1 heading §A long title of two lines > Memory > Banks: ### Banks",
    ]


# Furniture


def test_text_repeated_at_page_edges_is_furniture_but_a_single_title_there_is_not() -> None:
    chapters = ("Memory", "Caches", "Queues", "Clocks")
    pages = [f"{put(72, 30, 'Manual of the K9')}\n{BODY}\n{put(300, 780, f'- {i} -')}" for i in range(1, 5)]
    pages[2] += "\n" + put(72, 50, "Errata", font=BOLD, size=14)
    running = [
        f"{page}\n{put(400, 780, f'{name} {i + 30}')}"
        for i, (page, name) in enumerate(zip(pages, chapters, strict=True))
    ]

    assert [line for line in shown(*running) if PROSE[0] not in line] == ["3 heading §Errata: # Errata"]
    assert furniture(*running)[:3] == [
        "1 furniture §: Manual of the K9",
        "1 furniture §: - 1 - Memory 30",
        "2 furniture §: Manual of the K9",
    ]


@pytest.mark.parametrize("leaders", [" . . . . . . . ", "..............", " "])
def test_a_list_of_contents_is_furniture(leaders: str) -> None:
    entries = [f"{i} Chapter of the manual{leaders}{3 * i}" for i in range(1, 8)]
    contents = f"{put(72, 100, 'Contents', size=16)}\n{lines(*entries)}"

    assert shown(contents, BODY) == [f"2 text §: {FLOWED}"]
    assert len(furniture(contents, BODY)) == 8


# Tables


HEAD = ("Name", "Bits", "Meaning")
BODY_ROWS = [("EN", "1", "enables the unit"), ("LEN", "8", "length of the tile")]
WIDTHS = (80, 60, 180)


@pytest.mark.parametrize("frames", [False, True])
def test_ruling_lines_make_a_table_and_rows_in_another_style_its_header(frames: bool) -> None:
    page = (
        f"{BODY}\n{put(72, 290, 'Table 1: Fields')}\n{table([HEAD, *BODY_ROWS], y=300, widths=WIDTHS, frames=frames)}"
    )

    assert shown(page)[1:] == [
        "1 table §: Table 1: Fields",
        "1 table §: | Name | Bits | Meaning |",
        "1 table §: |---|---|---|",
        "1 table §: | EN | 1 | enables the unit |",
        "1 table §: | LEN | 8 | length of the tile |",
    ]


def test_a_table_across_two_pages_has_one_header() -> None:
    upper, lower = (table([HEAD, row], y=y, widths=WIDTHS) for row, y in zip(BODY_ROWS, (700, 100), strict=True))

    assert shown(f"{BODY}\n{upper}", f"{lower}\n{BODY}")[1:-1] == [
        "1 table §: | Name | Bits | Meaning |",
        "1 table §: |---|---|---|",
        "1 table §: | EN | 1 | enables the unit |",
        "2 table §: | LEN | 8 | length of the tile |",
    ]


def test_a_cell_may_span_rows_and_columns() -> None:
    page = "\n".join(
        [
            *(rule(72, y, 372, y) for y in (300, 340, 360)),
            rule(172, 320, 372, 320),
            *(rule(x, 300, x, 360) for x in (72, 172, 372)),
            rule(272, 320, 272, 360),
            *(put(80, y, text, font=BOLD) for y, text in ((315, "Unit"),)),
            *(put(x, y, text, font=BOLD) for x, y, text in ((180, 315, "Size"), (180, 333, "min"), (280, 333, "max"))),
            *(put(x, 353, text) for x, text in ((80, "tile"), (180, "1"), (280, "8"))),
        ]
    )

    assert shown(page) == [
        "1 table §: | Unit | Size / min | Size / max |",
        "1 table §: |---|---|---|",
        "1 table §: | tile | 1 | 8 |",
    ]


def test_a_row_that_counts_bits_names_the_fields_below_it() -> None:
    bits = [str(15 - i) if i in (0, 3, 4, 11, 12, 15) else "." for i in range(16)]
    xs = [72 + 20 * i for i in range(17)]
    page = "\n".join(
        [
            *(rule(72, y, xs[-1], y) for y in (300, 320, 340)),
            *(rule(x, 300, x, 320) for x in xs),
            *(rule(xs[i], 320, xs[i], 340) for i in (0, 4, 12, 16)),
            *(put(x + 4, 313, bit) for x, bit in zip(xs, bits, strict=False)),
            *(put(xs[i] + 4, 333, text) for i, text in ((0, "code"), (4, "value"), (12, "r"))),
        ]
    )

    assert shown(page) == [
        "1 table §: | 15-12 | 11-4 | 3-0 |",
        "1 table §: |---|---|---|",
        "1 table §: | code | value | r |",
    ]


def test_a_table_with_only_three_level_lines_has_columns_at_its_gaps() -> None:
    cells = [
        (72, "Unit", 311),
        (200, "Size", 311),
        (72, "tile", 328),
        (200, "8 by 8", 328),
        (72, "bank", 341),
        (200, "32", 341),
    ]
    page = "\n".join([*(rule(72, y, 400, y) for y in (300, 316, 346)), *(put(x, y, text) for x, text, y in cells)])

    assert shown(page) == [
        "1 table §: | Unit | Size |",
        "1 table §: |---|---|",
        "1 table §: | tile | 8 by 8 |",
        "1 table §: | bank | 32 |",
    ]


# Pages without text, invalid files


def test_a_large_image_leaves_a_note() -> None:
    assert shown(f"{BODY}\n{image(72, 300, 400, 300)}\n{image(72, 700, 10, 10)}")[1:] == ["1 text §: [figure: page 1]"]


def test_a_scanned_page_or_one_with_garbled_text_needs_ocr() -> None:
    garbled = put(72, 200, "DDDD DDDDD DDD", font=SIGNS)

    document = parse(pdf(BODY, image(0, 0, WIDTH, HEIGHT), garbled, ""))

    assert sorted(document.warnings) == ["page 2 needs OCR", "page 3 needs OCR"]
    assert [block.kind for block in document.blocks] == [BlockKind.TEXT, BlockKind.FURNITURE]


def test_vertical_text_is_kept() -> None:
    upright = "BT /F1 10 Tf 0 1 -1 0 500 300 Tm (Along the edge) Tj ET"

    assert shown(f"{BODY}\n{upright}") == [f"1 text §: {FLOWED}", "1 text §: Along the edge"]


ENCRYPTION = "/Filter /Standard /V 1 /R 2 /P -4 /O <" + "61" * 32 + "> /U <" + "62" * 32 + ">"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "not a readable PDF"),
        (b"%PDF-1.7 and nothing else", "not a readable PDF"),
        (b"\x00" * 5000, "not a readable PDF"),
        (pdf(), "not a readable PDF"),
        (pdf(BODY, trailer=f"/Encrypt << {ENCRYPTION} >> /ID [<61> <61>]"), "encrypted"),
    ],
)
def test_the_error_says_why_a_pdf_cannot_be_read(content: bytes, said: str) -> None:
    with pytest.raises(DocumentError, match=said):
        parse(content)


def test_a_pdf_with_a_broken_object_table_is_read() -> None:
    content = pdf(BODY)

    assert parse(content.replace(b"startxref", b"startxxxx")).text == FLOWED
    assert parse(content[: content.index(b"xref")] + b"trailer << /Root 1 0 R >>").text == FLOWED


@PROPERTY
@given(st.integers(0, 5000), st.binary(max_size=60), st.integers(0, 400))
def test_a_damaged_file_is_read_or_refused(at: int, inserted: bytes, dropped: int) -> None:
    content = pdf(f"{BODY}\n{table([HEAD, *BODY_ROWS], y=300, widths=WIDTHS)}", outline=[(0, "Memory", 1, 0.0)])

    try:
        document = parse(content[:at] + inserted + content[at + dropped :])
    except DocumentError:
        return

    assert len(document.lines) == 1 + document.text.count("\n")


PLACED = st.lists(
    st.tuples(
        st.sampled_from([TEXT, BOLD, CODE]),
        st.sampled_from([6, 10, 10, 10, 18]),
        st.integers(20, 300),
        st.integers(1, 60).map(lambda n: 20 + 12.5 * n),
        st.text(alphabet="abcXYZ019.-_:()|*#\u2022", min_size=1, max_size=20),
    ),
    max_size=30,
    unique_by=lambda part: part[3],
)
RULES = st.lists(st.tuples(*[st.integers(0, 40).map(lambda n: 15.0 * n)] * 4), max_size=12)


@PROPERTY
@given(st.lists(st.tuples(PLACED, RULES), min_size=1, max_size=4))
def test_all_text_of_every_page_is_kept_once(
    pages: list[tuple[list[tuple[object, ...]], list[tuple[float, ...]]]],
) -> None:
    drawn = [
        "\n".join(
            [*(put(x, y, text, font=font, size=size) for font, size, x, y, text in parts), *(rule(*r) for r in rules)]
        )
        for parts, rules in pages
    ]

    document = parse(pdf(*drawn))

    given_words = sorted(
        chain.from_iterable(re.findall(r"[a-zA-Z019]", part[4]) for parts, _ in pages for part in parts)
    )
    assert sorted(re.findall(r"[a-zA-Z019]", document.text)) == given_words
    assert max(document.lines) <= len(pages)

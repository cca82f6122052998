"""PDF: what the layout of a page says where its text does not: tables in parts, listings, pictures, broken names."""

from collections.abc import Sequence

import pytest

from ingest.readers.pdf.listings import is_listing
from ingest.readers.pdf.words import joined as join
from ingest.readers.pdf.words import vocabulary_of
from tests.ingest.pdf_writer import BOLD, TEXT, image, lines, pdf, put, rule, table
from tests.ingest.test_pdf import BODY, BODY_ROWS, FLOWED, HEAD, WIDTHS, furniture, parse, shown

BAND_HEIGHT = 20
WIDE = [width + 8 for width in WIDTHS]
HEADER_LINES = ["| Name | Bits | Meaning |", "|---|---|---|"]
EN, LEN = "| EN | 1 | enables the unit |", "| LEN | 8 | length of the tile |"


def banded(band: str, rows: Sequence[Sequence[str]], *, y: float, widths: Sequence[float] = WIDTHS) -> str:
    """Draw a table with a band of the width of the table above its header."""
    right = 72 + sum(widths)
    sides = [rule(72, y, right, y), *(rule(x, y, x, y + BAND_HEIGHT) for x in (72, right))]
    return "\n".join([*sides, put(78, y + 13, band, font=BOLD), table([HEAD, *rows], y=y + BAND_HEIGHT, widths=widths)])


def captioned(caption: str, rows: Sequence[Sequence[str]], *, y: float, widths: Sequence[float] = WIDTHS) -> str:
    return f"{put(72, y, caption, font=BOLD)}\n{table([HEAD, *rows], y=y + 10, widths=widths)}"


def tables(*pages: str) -> list[str]:
    return [line.split(": ", 1)[1] for line in shown(*pages) if " table " in line]


# Tables in parts, captions


@pytest.mark.parametrize(
    ("mark", "widths"),
    [
        ("Table 3. Fields (continued)", WIDTHS),
        ("Table 3. Fields (cont'd)", WIDE),
        ("...........continued", WIDTHS),
        ("Tabelle 3 (Fortsetzung)", WIDE),
        ("Tableau 3 : Champs (suite)", WIDTHS),
    ],
)
@pytest.mark.parametrize("draw", [banded, captioned])
def test_a_table_goes_on_below_a_line_or_a_band_that_says_so(draw, mark: str, widths: Sequence[float]) -> None:
    upper = captioned("Table 3. Fields", BODY_ROWS[:1], y=690)
    lower = draw(mark, BODY_ROWS[1:], y=100, widths=widths)

    assert tables(f"{BODY}\n{upper}", f"{lower}\n{BODY}") == ["Table 3. Fields", *HEADER_LINES, EN, LEN]


@pytest.mark.parametrize(("shift", "gap"), [(0, "\n"), (3.2, "\n"), (8, "\n\n")])
def test_a_table_goes_on_on_the_next_page_though_its_columns_are_a_little_elsewhere(shift: float, gap: str) -> None:
    upper = captioned("Table 3. Fields", BODY_ROWS[:1], y=690)
    lower = table(BODY_ROWS[1:], y=72, widths=[WIDTHS[0] + shift, WIDTHS[1] - shift, *WIDTHS[2:]], heads=0)

    assert f"{EN}{gap}{LEN}" in parse(pdf(f"{BODY}\n{upper}", f"{lower}\n{BODY}")).text


@pytest.mark.parametrize("at", [[1], [0, 1]], ids=["below the header", "also above it"])
def test_the_header_of_a_table_ends_at_a_double_rule_which_is_no_row(at: Sequence[int]) -> None:
    plain = table([HEAD, *BODY_ROWS], y=600, widths=WIDTHS, heads=0)
    doubled = [rule(72, 606 + 20 * row, 72 + sum(WIDTHS), 606 + 20 * row) for row in at]

    assert tables("\n".join([BODY, plain, *doubled]))[-4:] == [*HEADER_LINES, EN, LEN]


def test_a_line_below_a_table_that_says_where_it_goes_on_is_no_text() -> None:
    upper = f"{captioned('Table 3. Fields', BODY_ROWS[:1], y=660)}\n{put(300, 725, 'Continued on next page')}"

    read = shown(f"{BODY}\n{upper}", f"{captioned('Table 3. Fields (continued)', BODY_ROWS[1:], y=100)}\n{BODY}")

    assert not [line for line in read if "ontinued" in line]
    assert len(read) == 2 + 5


def test_a_band_with_a_caption_is_the_caption_and_begins_a_table() -> None:
    upper, lower = (
        banded(f"Table {n}. Fields", [row], y=y) for n, row, y in ((4, BODY_ROWS[0], 680), (5, BODY_ROWS[1], 100))
    )

    assert tables(f"{BODY}\n{upper}", f"{lower}\n{BODY}") == [
        "Table 4. Fields", *HEADER_LINES, EN, "Table 5. Fields", *HEADER_LINES, LEN,
    ]  # fmt: skip


@pytest.mark.parametrize("caption", [("Table 6. Supply",), ("Table 6. Supply of the unit", "and its tiles")])
def test_a_caption_between_two_tables_belongs_to_the_nearer_one(caption: Sequence[str]) -> None:
    upper = table([HEAD, BODY_ROWS[0]], y=300, widths=WIDTHS)
    lower = table([HEAD, BODY_ROWS[1]], y=352 + 12 * len(caption), widths=WIDTHS)
    between = lines(*caption, y=359, font=BOLD)

    assert tables(f"{BODY}\n{upper}\n{between}\n{lower}") == [*HEADER_LINES, EN, " ".join(caption), *HEADER_LINES, LEN]


# Running headers, links


SECTIONS = (("1. Overview", "1.1. Tiles"), ("1. Overview", "1.2. Queue"), ("2. Programs", "2.1. Start"))


@pytest.mark.parametrize("has_outline", [True, False])
def test_a_header_that_names_the_section_of_each_page_is_furniture(has_outline: bool) -> None:
    pages, outline = [], []
    for number, (chapter, section) in enumerate(SECTIONS, 1):
        header = f"{put(72, 30, chapter.upper(), size=9)}\n{put(400, 30, section, size=9)}"
        titles = [(120, 0, chapter)] * (chapter not in "".join(pages)) + [(150, 1, section)]
        pages.append("\n".join([header, *(put(72, y, text, font=BOLD, size=14) for y, _, text in titles), BODY]))
        outline += [(level, text, number, y - 12) for y, level, text in titles]

    read = shown(*pages, outline=outline if has_outline else ())

    assert [line.split(": ")[1].strip("# ") for line in read if " heading " in line] == [
        "1. Overview", "1.1. Tiles", "1.2. Queue", "2. Programs", "2.1. Start",
    ]  # fmt: skip
    assert [line.split(": ")[1] for line in read if " text " in line] == [FLOWED] * 3


def test_titles_of_slides_that_an_agenda_lists_stay_headings() -> None:
    names = ("Memory", "Queues", "Memory", "Clocks")
    pages = [f"{put(72, 60, name, font=BOLD, size=24)}\n{BODY}" for name in names]
    agenda = f"{put(72, 60, 'Agenda', font=BOLD, size=24)}\n{lines(*names)}"

    assert len([line for line in shown(agenda, *pages) if " heading " in line]) == 5


def test_a_document_of_two_pages_has_running_headers_and_page_numbers() -> None:
    pages = [f"{put(72, 30, 'Manual of the K9')}\n{BODY}\n{put(300, 780, str(n))}" for n in (336, 337)]

    assert shown(*pages) == [f"1 text §: {FLOWED}", f"2 text §: {FLOWED}"]
    assert len(furniture(*pages)) == 4


@pytest.mark.parametrize("font", [TEXT, BOLD])
@pytest.mark.parametrize("has_outline", [True, False])
def test_a_heading_does_not_have_the_link_beside_it(font: str, has_outline: bool) -> None:
    pages = [
        f"{put(72, 120, name, font=BOLD, size=14)}\n{put(150, 120, '(Ask a colleague)', font=font, size=14)}\n{BODY}"
        for name in ("Memory", "Queues")
    ]
    outline = [(0, name, number, 106) for number, name in enumerate(("Memory", "Queues"), 1)]

    document = parse(pdf(*pages, outline=outline if has_outline else (), link=(149, 106, 230, 124)))

    assert [section.title for section in document.sections] == ["Memory", "Queues"]
    assert document.text.count("(Ask a colleague)") == 2


# Pictures


def test_each_picture_leaves_a_note_below_its_heading_unless_it_is_an_icon() -> None:
    names = ("Convolution", "Pooling", "Resize")
    drawn = [
        f"{put(72, y, name, font=BOLD, size=13)}\n{image(72, y + 10, 200, 60)}"
        for name, y in zip(names, (300, 400, 500), strict=True)
    ]

    read = shown("\n".join([BODY, *drawn, image(400, 300, 20, 20)]))

    assert [line for line in read if "figure" in line] == [f"1 text §{name}: [figure: page 1]" for name in names]


def test_strips_of_a_picture_are_one_and_a_logo_on_each_page_is_none() -> None:
    strips = "\n".join(image(72, 300 + 30 * n, 300, 30) for n in range(5))
    logo = image(72, 10, 150, 60)

    assert [line for line in shown(*[f"{logo}\n{BODY}\n{strips}"] * 3) if "figure" in line] == [
        f"{page} text §: [figure: page {page}]" for page in (1, 2, 3)
    ]


# Code


LISTINGS = {
    "c": ("// Reserve a tile and wait for it.", "int slot = zq_reserve(pool, 4);", "if (slot < 0) {", "return 1;", "}"),
    "python": ("import zephyr as zq", "for tile in pool:", "tile.fill(src)  # all of it", "# then wait", "x += 1"),
    "assembly": ("loop:", "vle32.v v0, (a1)", "bnez a0, loop", "ret"),
    "console": ("$ git clone https://example.org/zq.git", "$ make -j8 install"),
    "json": ("{", '"name": "zephyr9",', '"tiles": 16', "}"),
}  # fmt: skip


@pytest.mark.parametrize("listing", LISTINGS.values(), ids=LISTINGS)
def test_code_in_a_proportional_font_stays_line_by_line(listing: Sequence[str]) -> None:
    above, below = lines(*PROSE_ABOVE, y=100), lines(*PROSE_ABOVE, y=130 + 14 * len(listing))
    drawn = [put(78 + 24 * (n == 1), 126 + 14 * n, line) for n, line in enumerate(listing)]

    read = [line.split(": ", 1)[1] for line in shown("\n".join([above, *drawn, below]))]

    code = [f"{'    ' * (n == 1)}{line.replace('  ', ' ')}" for n, line in enumerate(listing)]
    assert read == [" ".join(PROSE_ABOVE), "```", *code, "```", " ".join(PROSE_ABOVE)]


PROSE_ABOVE = ("A tile is reserved before it is filled, and the value = 3 of its", "state says that it is in use.")


@pytest.mark.parametrize(
    "prose",
    [
        PROSE_ABOVE,
        ("the first of all tiles;", "each of the other tiles;", "the queue."),
        ("for all of the following reasons:", "Return to the start of the program;"),
        ("• input data;", "• output data = 3;"),
    ],
)
def test_prose_with_signs_of_code_is_no_listing(prose: Sequence[str]) -> None:
    assert not is_listing(prose)


# Names


@pytest.mark.parametrize(
    ("first", "second", "joined"),
    [
        ("A call of zq_open_", "shared_device opens it", "A call of zq_open_shared_device opens it"),
        ("The limit ZQ_MAX_SHARED", "_DEVICES is 6", "The limit ZQ_MAX_SHARED_DEVICES is 6"),
        ("The option --queue-depth-per-", "tile sets it", "The option --queue-depth-per-tile sets it"),
        ("It calls zqDevice", "Open() and zqDeviceOpen", "It calls zqDeviceOpen() and zqDeviceOpen"),
        ("mn4clip.w.", "mm is mn4clip.w.mm", "mn4clip.w.mm is mn4clip.w.mm"),
        ("The unit of sensor\N{LEFTWARDS ARROW}-", "_type", "The unit of sensor_type"),
        ("Names begin with zq_", "and a verb", "Names begin with zq_ and a verb"),
        ("A kernel has the mark", "__global__ in CUDA", "A kernel has the mark __global__ in CUDA"),
        ("A float", "16 bytes wide, float16 or float x", "A float 16 bytes wide, float16 or float x"),
    ],
)
def test_a_name_that_the_end_of_a_line_breaks_is_joined(first: str, second: str, joined: str) -> None:

    assert join((first, second), vocabulary_of((first, second), ())) == joined


def test_untitled_is_no_title() -> None:
    for title, expected in (("untitled", {}), ("Untitled document 1.docx", {}), ("Manual", {"title": "Manual"})):
        assert parse(pdf(BODY, title=title)).metadata == expected

"""Text is cut into statements that say something by themselves, and the shortest that answers is chosen."""

import pytest

from kb.types.passages import Citation, Passage
from retrieval.answering import answering, repeats, shortest, still_answers
from retrieval.statements import Statement, statements


def passage(text: str, *, section: str = "Guide", kind: str = "text") -> Passage:
    place = Citation(id="a", path="x/y.md", sha256="0" * 64, section=(section,), line_start=1, line_end=9)
    return Passage(citation=place, target="x", title="T", kind=kind, lead="", text=text)


def proses(*texts: str) -> list[str]:
    return [one.prose for one in statements([passage(text) for text in texts])]


CASES = {
    "items without their marks": ("- Load wide.\n- Store\n  wide.", ["Load wide.", "Store wide."]),
    "numbered items": ("1. Tile: 64. FP8: 128.\n2. Order them.", ["Tile: 64. FP8: 128.", "Order them."]),
    "paragraphs": ("One. Two.\n\nThree.", ["One. Two.", "Three."]),
    "quotations": ("> Loads are zeroing.\n> They are.", ["Loads are zeroing. They are."]),
    "rows with headers": (
        "| op | intrinsic |\n|---|---|\n| FADDV | [`svaddv`](https://x) |",
        ["op = FADDV; intrinsic = `svaddv`"],
    ),
    "no rows of fact tables": (
        "| quantity | value | unit | condition |\n|---|---|---|---|\n| lds_size | 64 | KiB | |",
        [],
    ),
}


@pytest.mark.parametrize(("text", "found"), CASES.values(), ids=CASES)
def test_a_text_is_cut_into(text: str, found: list[str]) -> None:
    assert proses(text) == found


def test_a_listing_belongs_to_the_item_above_and_an_indented_paragraph_to_the_item_above_it() -> None:
    text = "1. Begin so:\n\n```python\nx = 1\n```\n\n   It needs nothing.\n\n2. Then go on."
    [first, second] = statements([passage(text)])

    assert (first.prose, first.code, first.tag) == ("Begin so: It needs nothing.", "x = 1", "python")
    assert second.prose == "Then go on."


def test_a_listing_goes_on_in_the_next_passage_of_its_section_and_not_in_another() -> None:
    parts = [passage("Begin so:\n\n```c\nint x;"), passage("int y;\n```", kind="code")]
    assert [one.code for one in statements(parts)] == ["int x;\nint y;"]

    apart = [passage("Above."), passage("```c\nint y;\n```", section="Other")]
    assert [(one.prose, one.code) for one in statements(apart)] == [("Above.", ""), ("", "int y;")]


ITEMS = (
    "Bank conflicts stall a warp.",
    "Registers limit occupancy. Tiles wait. Loads are wide.",
    "Wide loads move 16 bytes.",
)
POOL = statements([passage("\n".join(f"- {item}" for item in ITEMS))])


def test_the_statement_with_most_of_what_is_asked_comes_first_and_others_do_not_answer() -> None:
    assert answering(POOL, "wide loads of 16 bytes", enough=0.6) == [POOL[2]]
    assert answering(POOL, "watchdog timer", enough=0.6) == []


def test_of_equal_answers_the_shorter_comes_first_unless_something_else_speaks_for_the_other() -> None:
    assert answering(POOL, "wide loads", enough=0.6) == [POOL[2], POOL[1]]
    favour = lambda statement: float(statement is POOL[1])  # noqa: E731
    assert answering(POOL, "wide loads", enough=0.6, bonus=favour)[0] is POOL[1]


def test_the_shortest_part_begins_with_no_word_that_needs_the_sentence_before() -> None:
    said = Statement(passage(""), ("Pad the row.", "This avoids bank conflicts.", "Measure it."))

    assert shortest(said, "bank conflicts").prose == "Pad the row. This avoids bank conflicts."
    assert shortest(POOL[1], "wide loads").prose == "Loads are wide."
    counted = Statement(passage(""), ("Rows are old or new.", "What happens to the last two is the policy.", "Wait."))
    assert shortest(counted, "policy").prose == "Rows are old or new. What happens to the last two is the policy."


@pytest.mark.parametrize(
    ("sentence", "other", "same"),
    [
        (
            "Sizes of a block are multiples of 8 and 128.",
            "The last sizes of a block must be multiples of 8 and 128.",
            True,
        ),
        (
            "Sizes of a block are multiples of 8 and 64.",
            "The last sizes of a block must be multiples of 8 and 128.",
            False,
        ),
        ("Sizes of a block are multiples of 8.", "The last sizes of a block must be multiples of 8 and 128.", False),
        ("Waits of 8 cycles need 128 tokens.", "The last sizes of a block must be multiples of 8 and 128.", False),
    ],
)
def test_a_sentence_repeats_one_that_has_its_numbers_and_most_of_its_words(
    sentence: str, other: str, same: bool
) -> None:
    assert repeats(sentence, other) is same


def test_a_part_without_what_was_asked_answers_no_more() -> None:
    part = Statement(POOL[1].passage, ("Registers limit occupancy.",))

    assert still_answers(part, POOL[1], "registers occupancy")
    assert not still_answers(part, POOL[1], "wide loads")

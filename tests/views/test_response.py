"""An answer is cut to a number of tokens: its first parts stay, and what is left out is named."""

from hypothesis import given
from hypothesis import strategies as st

from kb.types.base import Frozen
from kb.views.response import Listing, LongText, fitted, json_tokens

NOTE = "ask for more"


class Item(Frozen):
    id: str


class Items(Listing):
    of = "items"
    items: tuple[Item, ...]


def items(count: int) -> Items:
    return Items(items=tuple(Item(id=f"item-{n}") for n in range(count)))


@given(st.integers(0, 60), st.integers(60, 600))
def test_a_list_keeps_as_many_first_items_as_fit(count: int, budget: int) -> None:
    whole = items(count)

    cut = fitted(whole, budget, NOTE)

    kept = len(cut.items)
    assert cut.items == whole.items[:kept]
    assert json_tokens(cut) <= budget or kept == 0
    assert cut == whole or (cut.truncated and cut.left_out == tuple(i.id for i in whole.items[kept:])[:30])
    assert kept == count or json_tokens(whole.first(kept + 1).noted(NOTE)) > budget


@given(st.text(max_size=2000), st.integers(40, 300))
def test_the_parts_of_a_text_are_the_text(text: str, budget: int) -> None:
    read, offset = "", 0
    while offset is not None and (offset == 0 or offset < len(text)):
        part = fitted(LongText(text=text[offset:], offset=offset), budget, NOTE)
        assert json_tokens(part) <= budget
        read, offset = read + part.text, part.next_offset

    assert read == text


def test_a_note_says_how_to_get_the_rest_only_if_something_is_left_out() -> None:
    assert fitted(items(2), 500, NOTE).notes == ()
    assert fitted(items(200), 500, NOTE).notes == (NOTE,)

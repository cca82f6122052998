"""Parameter lists: their names, what they leave open, and when two agree."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.symbols.signatures import arguments, bracketed, keywords, signature

NAMES = [
    ("x, dims", False, ("x", "dims")),
    ("self, x: int = 3, *, axis: Optional[tuple[int, int]] = None", False, ("x", "axis")),
    ("x[, y[, z]]", False, ("x", "y", "z")),
    ("const float *a, std::map<int, float> &b, size_t n = 4", True, ("a", "b", "n")),
    ("void", True, ()),
    ("int, float", True, None),
]


@pytest.mark.parametrize(("inside", "typed", "names"), NAMES)
def test_a_parameter_list_gives_its_names(inside: str, names: tuple[str, ...] | None, *, typed: bool) -> None:
    assert signature(inside, typed=typed).parameters == names


@pytest.mark.parametrize("inside", ["x, *args", "x, **kwargs", "const char *format, ..."])
def test_a_list_that_takes_more_than_it_names_agrees_with_every_other(inside: str) -> None:
    stated = signature(inside, typed=False)

    assert stated.is_open
    assert stated.agrees_with(signature("a, b, c", typed=False))


def test_names_count_where_a_caller_gives_them_and_numbers_where_not() -> None:
    assert not signature("x, dims", typed=False).agrees_with(signature("x, shape", typed=False))
    assert signature("int a, int b", typed=True).agrees_with(signature("int vs2, int vs1", typed=True))
    assert not signature("int a", typed=True).agrees_with(signature("int a, int b", typed=True))


def test_keywords_are_those_of_the_call_itself() -> None:
    assert keywords("x, dims=(0, 1), shape=f(a=3), y == 2") == ("dims", "shape")


def test_a_list_ends_with_its_own_bracket() -> None:
    assert bracketed('f(a, (b, c), ")") d)', 1) == 'a, (b, c), ")"'
    assert bracketed("f(a, b", 1) is None


@given(st.lists(st.text("abc(){}[]<>=,'\" ", max_size=8), max_size=6))
def test_any_text_is_split_without_losing_a_letter(parts: list[str]) -> None:
    text = ",".join(parts)

    letters = [c for c in text if c in "abc"]
    assert [c for part in arguments(text) for c in part if c in "abc"] == letters
    signature(text, typed=False)

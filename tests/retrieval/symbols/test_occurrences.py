"""Occurrences of a name: definitions, rows, calls and mentions are told apart by what stands around them."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.types.symbols import SymbolKind
from retrieval.symbols.occurrences import occurrences

CASES = [json.loads(line) for line in Path(__file__).with_name("occurrences.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("case", CASES, ids=[case["text"].replace("\n", "/")[:60] for case in CASES])
def test_the_text_around_a_name_tells_what_it_is(case: dict[str, Any]) -> None:
    found = occurrences(case["text"], case["name"])
    if case["kind"] is None:
        assert found == []
        return
    one = found[0]

    assert (one.kind, one.rank) == (SymbolKind(case["kind"]), case["rank"])
    assert one.qualifier == case.get("qualifier", "")
    assert list(one.keywords) == case.get("keywords", [])
    assert one.has_body == case.get("has_body", False)
    if "parameters" in case:
        assert one.signature is not None
        assert list(one.signature.parameters or ()) == case["parameters"]


def test_a_name_twice_in_one_line_is_one_place() -> None:
    assert len(occurrences("```\na = f(x) + f(y)\nb = f(z)\n```", "f")) == 2


def test_text_outside_fences_of_a_code_file_is_a_comment() -> None:
    (comment,) = occurrences("void run(int a);", "run", is_code=True)

    assert comment.rank >= 2


def test_case_matters_unless_it_is_ignored() -> None:
    assert occurrences("V_ADD adds.", "v_add") == []
    assert len(occurrences("V_ADD adds.", "v_add", ignore_case=True)) == 1


@given(st.text("ab_.(),=#|`-\n /*:{}", max_size=200))
def test_any_text_is_read_and_every_place_has_the_name(text: str) -> None:
    for one in occurrences(text, "ab"):
        assert text[one.start : one.start + 2] == "ab"

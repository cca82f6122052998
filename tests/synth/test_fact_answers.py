"""A model that is asked for facts gets the passages as data, and what it writes beside answers is ignored."""

import json

import pytest

from synth.fact_answers import ask_for_facts
from tests.synth.scripted import ScriptedModel

GOOD = {"quantity": "lds_size", "value": "48", "unit": "KiB", "condition": "per tile", "quote": "owns 48 KiB"}


def asked(*lines: object) -> list[str]:
    model = ScriptedModel("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
    found, _ = ask_for_facts(model, "How large?", "[aa] owns 48 KiB", target="zchip", quantity_names=["lds_size"])
    return [answer.quote for answer in found]


def test_each_line_is_one_answer() -> None:
    assert asked(GOOD, GOOD | {"quote": "48 KiB"}) == ["owns 48 KiB", "48 KiB"]


@pytest.mark.parametrize(
    "wrong",
    [GOOD | {"trust": "vendor"}, {"quantity": "lds_size"}, "The scratch is 48 KiB.", "[]", "null", "```json"],
    ids=str,
)
def test_a_line_that_is_no_answer_is_ignored(wrong: object) -> None:
    assert asked(wrong, GOOD) == ["owns 48 KiB"]


def test_the_model_gets_the_question_the_names_with_units_and_the_passages_as_quoted_data() -> None:
    model = ScriptedModel("")
    _, usage = ask_for_facts(model, "How large?", "[aa] owns 48 KiB", target="zchip", quantity_names=["lds_size"])

    [(rules, (said,), _)] = model.asked
    assert "never an instruction" in rules
    assert "lds_size (byte)" in said
    assert "<manual>\n[aa] owns 48 KiB\n</manual>" in said
    assert usage == {"output_tokens": 10}

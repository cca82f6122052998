"""Other words for a question, asked of a model that answers from a script."""

import pytest

from synth.authors.chat import ModelError, ModelOutcome
from synth.phrasings import LONGEST, MOST, ask_for_phrasings
from tests.synth.scripted import ScriptedModel


@pytest.mark.parametrize(
    ("text", "phrasings"),
    [
        ("local data share capacity\nLDS KiB per CU", ["local data share capacity", "LDS KiB per CU"]),
        ("1. local data share\n- LDS KiB\n\n* banks", ["local data share", "LDS KiB", "banks"]),
        ("LDS size\nlocal data share\nlocal data share", ["local data share"]),
        ("\n".join(f"line {n}" for n in range(9)), [f"line {n}" for n in range(MOST)]),
        ("x" * 999, ["x" * LONGEST]),
    ],
)
def test_each_line_of_the_answer_is_a_phrasing(text: str, phrasings: list[str]) -> None:
    assert ask_for_phrasings(ScriptedModel(text), "LDS size", target="mi300x") == phrasings


def test_the_model_gets_only_the_question_and_the_chip() -> None:
    model = ScriptedModel("local data share")

    ask_for_phrasings(model, "LDS size", target="mi300x")

    assert [(asked.said, asked.stable) for asked in model.asked] == [(("Chip: mi300x\nQuestion: LDS size",), "")]


@pytest.mark.parametrize("outcome", [ModelOutcome.KEY_MISSING, ModelOutcome.TRUNCATED])
def test_the_reason_for_a_missing_answer_is_reported(outcome: ModelOutcome) -> None:
    with pytest.raises(ModelError) as caught:
        ask_for_phrasings(ScriptedModel(ModelError("no", outcome)), "LDS size", target=None)

    assert caught.value.outcome is outcome

"""Other words for a question, asked of a model that answers from a script."""

from pathlib import Path

import pytest

from synth.anthropic import AnthropicSynthesizer, ModelError, ModelOutcome
from synth.phrasings import LONGEST, MOST, RULES, ask_for_phrasings
from tests.synth.model_server import Reply, answer, serving


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "no-key")


def asked(*script: Reply) -> tuple[list[str], list[dict]]:
    with serving(*script) as server:
        model = AnthropicSynthesizer("some-model", server.url, timeout_s=10, sleep=lambda _: None)
        return ask_for_phrasings(model, "LDS size", target="mi300x"), server.requests


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
    assert asked(answer(text))[0] == phrasings


def test_the_model_is_told_question_and_chip_and_no_more() -> None:
    _, [request] = asked(answer("local data share"))

    said = str(request["messages"])
    assert request["system"] == RULES
    assert "LDS size" in said
    assert "mi300x" in said


def test_a_key_that_cannot_be_read_is_an_error_in_words(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", str(tmp_path))
    monkeypatch.setenv("ANTHROPIC_PROFILE", "absent")

    with pytest.raises(ModelError) as caught:
        asked(answer("local data share"))

    assert caught.value.outcome is ModelOutcome.KEY_MISSING


def test_an_answer_that_is_cut_is_an_error() -> None:
    cut = answer("local data", stop_reason="max_tokens")

    with pytest.raises(ModelError) as caught:
        asked(cut, cut)

    assert caught.value.outcome is ModelOutcome.TRUNCATED

"""Lets a model read passages and answer a question of the worksheet with quoted facts."""

from collections.abc import Sequence
from contextlib import suppress

from pydantic import ValidationError

from kb.facts.quantities import NAME, SHAPE, quantities
from kb.types.base import Frozen
from kb.types.fact import FactAnswer
from synth.authors.asking import Desk
from synth.prompts.render import render, render_parts

BRIEF_FORM = (
    'One JSON object a line: {"quantity", "value", "unit", "condition", "quote", "passage"}. Only hardware facts,'
    " each with the shortest words of the text that state it, word for word. `kb facts ask` without a topic says more."
)


class ModelFacts(Frozen):
    """A model's answers to one question, not yet checked."""

    answers: tuple[FactAnswer, ...]
    unreadable: int
    """Number of lines that begin like an answer and are none."""


def fact_form() -> str:
    """How to write an answer, for a model or a person."""
    return render("fact_form", shape_unit=SHAPE, name_unit=NAME)


def ask_for_facts(
    desk: Desk, question: str, passages: str, *, target: str, quantity_names: Sequence[str]
) -> ModelFacts:
    """Ask a model one question.

    Args:
        passages: The text to read, with an id before each passage.
        quantity_names: kb's names of quantities that the question is about.

    Raises:
        AuthorError: the model gave no answer.
    """
    known = quantities().by_name
    parts = render_parts(
        "facts",
        form=fact_form(),
        target=target,
        question=question,
        names=[f"{name} ({known[name].unit})" for name in quantity_names],
        passages=passages,
    )
    answer = desk.ask(parts["rules"], parts["question"])
    lines = [line for line in answer.text.splitlines() if line.lstrip().startswith("{")]
    answers = []
    for line in lines:
        with suppress(ValidationError):
            answers.append(FactAnswer.model_validate_json(line))
    return ModelFacts(answers=tuple(answers), unreadable=len(lines) - len(answers))

"""A model's answers become candidates, whichever model it is."""

import pytest

from eval.languages.registry import CPP
from kb.errors import SynthesisError
from synth.authors.chat import HINTS, ModelError, ModelOutcome
from synth.authors.model import ModelSynthesizer
from synth.prompts.prompt import build_prompt
from tests.synth.samples import CPP_SOURCE, request, warm
from tests.synth.scripted import ScriptedModel

REQUEST = request(CPP)
GOOD = f"note: größer\n\n```cpp\n{CPP_SOURCE}```\n"
BAD = "I would rather not say."


def test_an_answer_becomes_a_proposal() -> None:
    proposal = ModelSynthesizer(ScriptedModel(GOOD)).propose(REQUEST)

    assert (proposal.candidate.source, proposal.note, proposal.usage) == (CPP_SOURCE, "größer", {"output_tokens": 10})


def test_the_model_is_asked_the_prompt_with_its_stable_part_apart() -> None:
    model, prompt = ScriptedModel(GOOD), build_prompt(warm())

    proposal = ModelSynthesizer(model).propose(warm())

    assert model.asked == [(prompt.rules, (prompt.rest,), prompt.stable)]
    assert proposal.skills_used == prompt.skills


def test_after_an_answer_without_a_kernel_the_model_is_told_what_is_wrong() -> None:
    model = ScriptedModel(BAD, GOOD)

    proposal = ModelSynthesizer(model).propose(REQUEST)

    first, second = model.asked
    assert (second.rules, second.stable, second.said[:2]) == (first.rules, first.stable, (*first.said, BAD))
    assert "found no fenced code block" in second.said[2]
    assert proposal.usage == {"output_tokens": 20}


@pytest.mark.parametrize("text", ["", " \n", "```python\nx\n```"])
def test_two_answers_without_a_kernel_are_enough(text: str) -> None:
    model = ScriptedModel(text)

    with pytest.raises(ModelError) as caught:
        ModelSynthesizer(model).propose(REQUEST)

    assert caught.value.outcome is ModelOutcome.BAD_ANSWER
    assert (caught.value.usage, len(model.asked)) == ({"output_tokens": 20}, 2)


def test_what_was_paid_before_a_failure_is_counted_with_it() -> None:
    model = ScriptedModel(BAD, ModelError("busy", ModelOutcome.OVERLOADED))

    with pytest.raises(ModelError) as caught:
        ModelSynthesizer(model).propose(REQUEST)

    assert (caught.value.outcome, caught.value.usage) == (ModelOutcome.OVERLOADED, {"output_tokens": 20})


def test_a_prompt_that_does_not_fit_is_never_sent() -> None:
    model = ScriptedModel(GOOD)

    with pytest.raises(SynthesisError, match="tokens"):
        ModelSynthesizer(model).propose(request(CPP, budget_tokens=10))

    assert model.asked == []


def test_every_outcome_has_a_hint() -> None:
    assert set(HINTS) == set(ModelOutcome)

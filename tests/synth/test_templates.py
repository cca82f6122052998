"""A template uses exactly the values that the code gives it, and a value is never taken for a template."""

import ast
from collections import defaultdict
from pathlib import Path

import pytest
from jinja2 import UndefinedError, meta

from eval.languages.registry import CPP, LANGUAGES, described_language
from eval.languages.rules import CONTRACT
from kb.types.briefing import Briefing
from kb.types.evidence import Outcome
from kb.types.kernels import Language
from kb.types.protocols import Stage
from synth.authors.synthesizer import Synthesizer
from synth.fact_answers import ask_for_facts
from synth.prompts.prompt import build_prompt
from synth.prompts.render import ENVIRONMENT, render
from tests.synth.samples import CPP_SOURCE, TASK, Candidate, answer, attempt, fact, request, said, skill
from tests.synth.scripted import ScriptedAuthor, desk_of

SYNTH = Path(__file__).parents[2] / "synth"
JINJA = "{{ 7 * 191 }}{% if 1 %}yes{% endif %}{{ nothing }}{# gone #}{% include 'kernel.md.j2' %}"
"""Text of a document that would be 1337yes and an error, if it were a template."""


def given_values() -> dict[str, list[set[str]]]:
    """The names of the values in each call of `render` and `render_parts`, by template."""
    given = defaultdict(list)
    for file in SYNTH.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Name("render" | "render_parts"), args=[ast.Constant(name)], keywords=values):
                    given[f"{name}.md.j2"].append({value.arg for value in values})
    return given


@pytest.mark.parametrize("name", ENVIRONMENT.list_templates())
def test_a_template_uses_exactly_the_values_that_the_code_gives_it(name: str) -> None:
    source = (SYNTH / "prompts" / "templates" / name).read_text(encoding="utf-8")
    used = meta.find_undeclared_variables(ENVIRONMENT.parse(source))

    given = given_values()[name]

    assert given
    assert all(names == used for names in given)


def test_a_missing_value_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="remedy"):
        render("retry", problem="no code block")


def test_a_document_that_looks_like_a_template_is_shown_as_it_is() -> None:
    recalled = skill("s", CPP)
    code, prose = {"candidate": Candidate(language="cpp", source=JINJA)}, {"description": JINJA, "candidate": None}
    asked = request(
        stage=Stage.IMPROVE,
        language=CPP.model_copy(update={"rules": JINJA}),
        briefing=Briefing(answers=(answer(JINJA, (fact(1, condition=JINJA),), said(1, JINJA)),), open=(JINJA,)),
        skills=tuple(
            recalled.model_copy(update={"skill": recalled.skill.model_copy(update=texts)}) for texts in (code, prose)
        ),
        attempts=(attempt(CPP, Outcome.RAISED, mark=JINJA, detail=f"detail {JINJA}", log=f"log {JINJA}"),),
    ).model_copy(update={"task": TASK.model_copy(update={"source": f'x = """{JINJA}"""'})})

    text = build_prompt(asked).text

    said_once = ["rules", "task", "question", "fact", "statement", "open", *prose, "note", "detail", "log", "source"]
    assert text.count(JINJA) == len(said_once)


def test_questions_and_passages_that_look_like_templates_reach_a_model_as_they_are() -> None:
    model = ScriptedAuthor("")

    ask_for_facts(desk_of(model), JINJA, JINJA, target="mi300x", quantity_names=[])

    assert [asked.said[0].count(JINJA) for asked in model.asked] == [2]


def test_an_answer_that_looks_like_a_template_is_told_back_as_it_is() -> None:
    model = ScriptedAuthor(f"```{JINJA}\n```", f"```cpp\n{CPP_SOURCE}```")

    Synthesizer(desk_of(model), CPP).propose(build_prompt(request(CPP)))

    assert JINJA.partition(" ")[0] in model.asked[1].said[2]


@pytest.mark.parametrize("language", [*LANGUAGES, described_language("zc")], ids=lambda language: language.name)
def test_no_rules_of_a_language_have_a_gap(language: Language) -> None:
    assert language.rules
    assert CONTRACT not in language.rules

"""The skills that ship with kb: of each language exactly one applies to a task of its operation, and none to others."""

from pathlib import Path

import pytest

from eval.oracle.reference import Reference
from eval.oracle.task import load_task
from kb.runs.journal import Plan, SynthesizerKind
from kb.runs.skills import fitting_skills, need_of
from kb.skillbook.library import Skillbook
from kb.targets import Targets

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
TEMPLATES = {"int8-matvec-wide": "int8-matvec", "reverse-cumsum": "exclusive-cumsum"}
"""Templates of tasks that are not named like them."""
LEARNT = {"logsumexp", "logsumexp-long"}
"""Tasks whose first skill the demo learns: none ships."""
LANGUAGES = {"triton": "mi300x", "cpp": "cpu-x86"}


@pytest.mark.parametrize("kind", [SynthesizerKind.TUNE, SynthesizerKind.EXTERNAL])
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_one_template_applies_to_an_example_in_an_empty_home(
    home: Path, file: Path, language: str, kind: SynthesizerKind
) -> None:
    targets, task = Targets.load(home), load_task(file)
    target = LANGUAGES[language]
    plan = Plan(task=task, target=target, language=language, synthesizer=kind, evaluations=1)
    scope = targets.scope(target)
    interface = Reference(task, seed=0, device="meta").interface()

    need = need_of(plan, interface, scope, targets.family(target) - scope)
    found = fitting_skills(Skillbook(home), plan, need)

    expected = [] if task.name in LEARNT else [f"{TEMPLATES.get(task.name, task.name)}-{language}"]
    assert [one.skill.name for one in found] == expected

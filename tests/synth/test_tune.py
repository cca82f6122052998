"""`tune` starts with values that won, in the order of the skills, and with a template's own values if none did."""

import pytest

from eval.languages.registry import CPP
from kb.model.protocols import RecalledSkill, Request
from kb.model.skill import Skill, SkillStanding
from synth.tune import TuneSynthesizer
from tests.synth.samples import INTERFACE, TASK, candidate

HYPOTHESIS, VERIFIED, ACTIVE, STALE = (
    SkillStanding.HYPOTHESIS, SkillStanding.VERIFIED, SkillStanding.ACTIVE, SkillStanding.STALE,
)  # fmt: skip


def recalled(standing: SkillStanding, unroll: int) -> RecalledSkill:
    kernel = candidate(CPP).with_parameters({"UNROLL": unroll})
    skill = Skill(
        name=f"unroll-{unroll}", description="Scale rows.", body="Unroll it.", target="cpu-x86", language="cpp",
        candidate=kernel, suffix=".cpp",
    )  # fmt: skip
    return RecalledSkill(skill=skill, standing=standing)


@pytest.mark.parametrize(
    ("known", "first"),
    [
        pytest.param([(HYPOTHESIS, 4), (VERIFIED, 8), (ACTIVE, 2)], 8, id="what won, in its order"),
        pytest.param([(VERIFIED, 8), (HYPOTHESIS, 4)], 8, id="what won, if it is first"),
        pytest.param([(HYPOTHESIS, 4), (STALE, 8)], 4, id="the best ranked, if nothing won"),
    ],
)
def test_the_first_candidate_has_values_that_won(known: list[tuple[SkillStanding, int]], first: int) -> None:
    skills = tuple(recalled(standing, unroll) for standing, unroll in known)
    request = Request(task=TASK, interface=INTERFACE, target="cpu-x86", language=CPP, skills=skills)

    proposal = TuneSynthesizer().propose(request)

    assert proposal
    assert {parameter.name: parameter.value for parameter in proposal.candidate.parameters} == {"UNROLL": first}
    assert proposal.skills_used == (f"unroll-{first}",)

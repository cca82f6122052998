"""`tune` starts with values that skills hold, those that won first, and goes on from the fastest."""

import pytest

from eval.languages.registry import CPP
from kb.types.evidence import Evidence
from kb.types.kernels import Candidate
from kb.types.protocols import Attempt, RecalledSkill, Request
from kb.types.skill import Skill, SkillStanding
from synth.search.tune import TuneSynthesizer
from tests.synth.samples import INTERFACE, TASK, candidate, evidence

HYPOTHESIS, VERIFIED, STALE = SkillStanding.HYPOTHESIS, SkillStanding.VERIFIED, SkillStanding.STALE


def recalled(standing: SkillStanding, unroll: int) -> RecalledSkill:
    kernel = candidate(CPP).with_parameters({"UNROLL": unroll})
    skill = Skill(
        name=f"unroll-{unroll}", description="Scale rows.", body="Unroll it.", target="cpu-x86", language="cpp",
        candidate=kernel, suffix=".cpp",
    )  # fmt: skip
    return RecalledSkill(skill=skill, standing=standing)


@pytest.mark.parametrize(
    ("known", "order"),
    [
        pytest.param(
            [(HYPOTHESIS, 4), (VERIFIED, 8), (VERIFIED, 2)], [8, 4, 2], id="the best win, the template, others"
        ),
        pytest.param([(VERIFIED, 8), (VERIFIED, 4), (HYPOTHESIS, 2), (STALE, 1)], [8, 2, 4], id="of others one alone"),
        pytest.param([(VERIFIED, 8), (VERIFIED, 4)], [8, 4], id="wins alone"),
        pytest.param([(HYPOTHESIS, 4), (STALE, 8)], [4], id="the best ranked, if nothing won"),
    ],
)
def test_values_of_skills_are_tried_first(known: list[tuple[SkillStanding, int]], order: list[int]) -> None:
    skills = tuple(recalled(standing, unroll) for standing, unroll in known)
    request = Request(task=TASK, interface=INTERFACE, target="cpu-x86", language=CPP, skills=skills)

    for unroll in order:
        proposal = TuneSynthesizer().propose(request)
        assert proposal
        assert [parameter.value for parameter in proposal.candidate.parameters] == [unroll]
        assert proposal.skills_used == (f"unroll-{unroll}",)
        attempt = Attempt(candidate=proposal.candidate, evidence=evidence(proposal.candidate, speedup=1.0))
        request = request.model_copy(update={"attempts": (*request.attempts, attempt)})


def beside_a_slow_baseline(found: Evidence) -> Evidence:
    """The same speed-up, but baseline and candidate took twice as long."""
    assert found.timing
    slow = [
        session.model_copy(
            update={name: tuple(2 * us for us in getattr(session, name)) for name in ("baseline_us", "candidate_us")}
        )
        for session in found.timing.sessions
    ]
    return found.model_copy(update={"timing": found.timing.model_copy(update={"sessions": tuple(slow)})})


def test_the_search_goes_on_from_the_fastest_kernel_whatever_its_speed_up() -> None:
    known = recalled(VERIFIED, 1)

    def judged(unroll: int, speedup: float) -> tuple[Candidate, Evidence]:
        kernel = candidate(CPP).with_parameters({"UNROLL": unroll})
        return kernel, evidence(kernel, speedup=speedup)

    slow, lucky = judged(1, 1.5)
    fast, found = judged(8, 1.2)
    attempts = (
        Attempt(candidate=slow, evidence=beside_a_slow_baseline(lucky)),
        Attempt(candidate=fast, evidence=found),
    )
    request = Request(
        task=TASK, interface=INTERFACE, target="cpu-x86", language=CPP, skills=(known,), attempts=attempts
    )  # fmt: skip

    proposal = TuneSynthesizer().propose(request)

    assert proposal
    assert [parameter.value for parameter in proposal.candidate.parameters] == [4]

"""The synthesizer without a model: it searches the declared parameters of the kernels in skills.

It writes no kernels, so its results are limited to the library. Its reports say so.
"""

from kb.model.evidence import Evidence, Grade
from kb.model.kernels import Candidate
from kb.model.protocols import Attempt, Proposal, Request
from kb.model.skill import Skill
from synth.search.greedy import next_point

NOTICE = "tune searches the parameters of kernels that skills hold; it writes no kernels"


class TuneSynthesizer:
    """Takes the first skill whose kernel passes unchanged, then searches its parameters greedily."""

    name = "tune"

    def propose(self, request: Request) -> Proposal | None:
        """The next point; None if all skills were refused, every point was tried, or candidates cannot be timed."""
        for skill in _templates(request):
            own = [a for a in request.attempts if a.candidate.template_digest == skill.candidate.template_digest]
            if _refused_as_it_is(skill, own):
                continue
            if any(a.evidence.grade is Grade.COMPILED for a in own):
                return None
            space, start = skill.candidate.parameters, _values(skill.candidate)
            tried = [(_values(a.candidate), score_of(a.evidence)) for a in own]
            point = next_point(space, start, tried, seed=request.seed)
            if point is None:
                return None
            note = f"{skill.name} ({skill.standing})"
            changes = ", ".join(f"{name}={value}" for name, value in point.items())
            return Proposal(
                candidate=skill.candidate.with_parameters(point),
                note=f"{note}: {changes}" if changes else note,
                skills_used=(skill.name,),
            )
        return None


def score_of(evidence: Evidence) -> float | None:
    """Score of a candidate, higher is better; None if it was refused."""
    return (evidence.speedup or 0.0) if evidence.passed else None


def _templates(request: Request) -> list[Skill]:
    """The skills to try, best first; of skills that differ only in parameter values, only the first."""
    by_template: dict[str, Skill] = {}
    for skill in request.skills:
        if skill.candidate.language == request.language.name:
            by_template.setdefault(skill.candidate.template_digest, skill)
    return list(by_template.values())


def _refused_as_it_is(skill: Skill, own: list[Attempt]) -> bool:
    return any(a.candidate.digest == skill.candidate.digest and not a.evidence.passed for a in own)


def _values(candidate: Candidate) -> dict[str, int]:
    return {parameter.name: parameter.value for parameter in candidate.parameters}

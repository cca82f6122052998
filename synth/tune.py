"""The synthesizer without a model: it searches the declared parameters of the kernels in skills.

It writes no kernels, so its results are limited to the library. Its reports say so.
"""

from kb.model.evidence import Evidence, Grade
from kb.model.kernels import Candidate
from kb.model.protocols import Proposal, RecalledSkill, Request
from kb.model.skill import SkillKind
from synth.search.greedy import next_point

NOTICE = "tune searches the parameters of kernels that skills hold; it writes no kernels"


class TuneSynthesizer:
    """Takes the first skill whose kernel passes unchanged, then searches its parameters greedily."""

    name = "tune"

    def propose(self, request: Request) -> Proposal | None:
        """The next point; None if all skills were refused, every point was tried, or candidates cannot be timed."""
        for recalled, kernel in _templates(request):
            own = [a for a in request.attempts if a.candidate.template_digest == kernel.template_digest]
            if any(a.candidate.digest == kernel.digest and not a.evidence.passed for a in own):
                continue
            if any(a.evidence.grade is Grade.COMPILED for a in own):
                return None
            space, start = kernel.parameters, _values(kernel)
            tried = [(_values(a.candidate), score_of(a.evidence)) for a in own]
            point = next_point(space, start, tried, seed=request.seed)
            if point is None:
                return None
            note = f"{recalled.skill.name} ({recalled.standing})"
            changes = ", ".join(f"{name}={value}" for name, value in point.items())
            return Proposal(
                candidate=kernel.with_parameters(point),
                note=f"{note}: {changes}" if changes else note,
                skills_used=(recalled.skill.name,),
            )
        return None


def score_of(evidence: Evidence) -> float | None:
    """Score of a candidate, higher is better; None if it was refused."""
    return (evidence.speedup or 0.0) if evidence.passed else None


def _templates(request: Request) -> list[tuple[RecalledSkill, Candidate]]:
    """The kernels to try, best first; of kernels that differ only in parameter values, only the first."""
    by_template: dict[str, tuple[RecalledSkill, Candidate]] = {}
    for recalled in request.skills:
        kernel = recalled.skill.candidate
        if kernel and recalled.skill.kind is SkillKind.KERNEL and kernel.language == request.language.name:
            by_template.setdefault(kernel.template_digest, (recalled, kernel))
    return list(by_template.values())


def _values(candidate: Candidate) -> dict[str, int]:
    return {parameter.name: parameter.value for parameter in candidate.parameters}

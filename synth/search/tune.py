"""The synthesizer without a model: it searches the declared parameters of the kernels in skills.

It writes no kernels, so its results are limited to the library. Its reports say so.
"""

from kb.types.evidence import Evidence, Grade
from kb.types.kernels import Candidate
from kb.types.protocols import Proposal, RecalledSkill, Request
from kb.types.skill import SkillKind, SkillStanding
from synth.search.greedy import next_point

Start = tuple[RecalledSkill, Candidate]
NOTICE = "tune searches the parameters of kernels that skills hold; it writes no kernels"


class TuneSynthesizer:
    """Takes the first kernel that passes with values that a skill holds, then searches its parameters greedily.

    A kernel may stand in several skills with different values. First come those that won in the best skill, then those
    of the best skill that has won nothing, such as the template's own, so that a win that does not fit costs little,
    and then all others that won.
    """

    name = "tune"

    def propose(self, request: Request) -> Proposal | None:
        """The next point; None if all kernels were refused, every point was tried, or candidates cannot be timed."""
        for starts in _starts(request):
            recalled, kernel = starts[0]
            own = [a for a in request.attempts if a.candidate.template_digest == kernel.template_digest]
            if any(a.evidence.grade is Grade.COMPILED for a in own):
                return None
            judged = {a.candidate.digest for a in own}
            if fresh := [start for start in starts if start[1].digest not in judged]:
                recalled, kernel = fresh[0]
                return _proposal(recalled, kernel, _values(kernel))
            if not any(a.evidence.passed for a in own):
                continue
            tried = [(_values(a.candidate), score_of(a.evidence)) for a in own]
            point = next_point(kernel.parameters, _values(kernel), tried, seed=request.seed)
            return None if point is None else _proposal(recalled, kernel, point)
        return None


def _proposal(recalled: RecalledSkill, kernel: Candidate, point: dict[str, int]) -> Proposal:
    note = f"{recalled.skill.name} ({recalled.standing})"
    changes = ", ".join(f"{name}={value}" for name, value in point.items())
    return Proposal(
        candidate=kernel.with_parameters(point),
        note=f"{note}: {changes}" if changes else note,
        skills_used=(recalled.skill.name,),
    )


def score_of(evidence: Evidence) -> float | None:
    """Score of a candidate, higher is better; None if it was refused."""
    return -evidence.time_us if evidence.passed else None


def _starts(request: Request) -> list[list[Start]]:
    """The kernels to try, best first. The values in a kernel's skills are tried before its parameters are searched."""
    by_template: dict[str, list[Start]] = {}
    for recalled in request.skills:
        kernel = recalled.skill.candidate
        if kernel and recalled.skill.kind is SkillKind.KERNEL and kernel.language == request.language.name:
            by_template.setdefault(kernel.template_digest, []).append((recalled, kernel))
    return [_first_values(starts) for starts in by_template.values()]


def _first_values(starts: list[Start]) -> list[Start]:
    verified = [start for start in starts if start[0].standing is SkillStanding.VERIFIED]
    others = [start for start in starts if start[0].standing is not SkillStanding.VERIFIED]
    return [*verified[:1], *others[:1], *verified[1:]]


def _values(candidate: Candidate) -> dict[str, int]:
    return {parameter.name: parameter.value for parameter in candidate.parameters}

"""What a judge does for one candidate, step by step: its verdict, quick timings of settings, verdicts on these."""

from typing import NamedTuple

from eval.pool.cards import Job
from kb.tuner import VERDICTS, finalists, most_points, next_point
from kb.types.base import Frozen
from kb.types.evidence import Evidence
from kb.types.kernels import Candidate, Interface
from kb.types.protocols import Judge, Tried


class Found(Frozen):
    """What became of one candidate."""

    number: int
    interface: Interface | None = None
    """Of the task; None if there is no evidence."""
    evidence: Evidence | None = None
    tried: tuple[Tried, ...] = ()
    """Settings of its parameters that were timed quickly."""
    tuned: tuple[Evidence, ...] = ()
    """Verdicts on the fastest of them."""
    failure: str = ""
    """Why there is no evidence, or why the tuner has not come to its end."""


class Step(NamedTuple):
    """Judge a kernel."""

    kernel: Candidate
    is_quick: bool = False
    """Whether only a quick timing is wanted."""

    def taken(self, judge: Judge) -> Evidence | Tried:
        """Errors as in `Judge`."""
        return Tried.by(judge, self.kernel) if self.is_quick else judge.verify(self.kernel)


def is_final(evidence: Evidence | None) -> bool:
    """Whether the judge did not fail, and the machine was not so busy that no time counts."""
    return evidence is not None and not evidence.untimed


def next_step(job: Job, found: Found) -> Step | None:
    """What the judge does next for a candidate; None if nothing is left. It follows from what is found alone.

    Quick timings take at most as long as the verdicts on the kernel and its best settings, as in a run.
    """
    kernel, evidence = job.candidate, found.evidence
    if evidence is None or evidence.untimed:
        return Step(kernel)
    if not (job.finalists and evidence.timing):
        return None
    judged_s = VERDICTS * evidence.took.seconds if evidence.took else 0.0
    most = most_points(sum(one.took_s for one in found.tried), judged_s)
    tried = [(one.values, one.time_us) for one in found.tried]
    if point := next_point(kernel.parameters, job.settings, tried, seed=job.seed, most=most):
        return Step(kernel.with_parameters(point), is_quick=True)
    judged = {one.candidate_digest: is_final(one) for one in found.tuned}
    best = [kernel.with_parameters(point) for point in finalists(kernel.parameters, tried)[: job.finalists]]
    best.sort(key=lambda one: one.digest in judged)  # the machine may be busy whenever one of them is judged
    return next((Step(one) for one in best if not judged.get(one.digest)), None)


def is_half_tuned(job: Job, found: Found) -> bool:
    """Whether the verdict on a candidate counts, and the tuner has not come to its end."""
    return is_final(found.evidence) and next_step(job, found) is not None


def with_result(found: Found, result: Evidence | Tried, interface: Interface) -> Found:
    """What is found after a step. The verdict on a setting takes the place of an earlier one."""
    if isinstance(result, Tried):
        return found.model_copy(update={"tried": (*found.tried, result), "failure": ""})
    if not is_final(found.evidence):
        return Found(number=found.number, evidence=result, interface=interface)
    others = (one for one in found.tuned if one.candidate_digest != result.candidate_digest)
    return found.model_copy(update={"tuned": (*others, result), "failure": ""})


def with_refusal(found: Found, setting: Candidate) -> Found:
    """What is found after a setting has ended its judge: it is not timed again, and the next start goes on."""
    refused = Tried(template=setting.template_digest, values=setting.values)
    return found.model_copy(update={"tried": (*found.tried, refused)})

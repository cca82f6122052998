"""Candidates that the judge refused, each with its cause."""

import re
from collections.abc import Iterator, Sequence

from kb.exports.attempts import Kept
from kb.exports.records import About, Named, Rewards, about, named, origin, rewards_of
from kb.types.evidence import Outcome
from synth.prompts.diagnosis import MEANING, diagnose

_CASE = re.compile(r"\(([^()]+; [^()]+)\)$", re.M)


class Failure(About):
    """A candidate that the judge refused."""

    attempt: int
    stage: str
    author: str
    model: str
    date: str
    candidate: str
    outcome: str
    meaning: str
    detail: str
    case: str
    """The case that refused it, by its sizes and values: the judge tries small ones first. Empty if it ran in none."""
    diagnosis: tuple[str, ...]
    log: str
    """The end of its output."""
    rewards: Rewards
    mended_by: int
    """Number of the attempt that changes it and passes; 0 if there is none."""
    mended: str
    """Its source."""
    environment: tuple[Named, ...]


def failures(kept: Sequence[Kept], held_out: frozenset[str]) -> Iterator[Failure]:
    for one in (one for one in kept if not one.passed):
        evidence = one.attempt.evidence
        mended = next((k for k in kept if k.run is one.run and k.attempt.parent == one.number and k.passed), None)
        failed = [case.name for case in evidence.cases if case.outcome is not Outcome.PASSED]
        yield Failure(
            **about(one, held_out),
            **origin(one),
            candidate=one.attempt.candidate.source,
            outcome=evidence.outcome,
            meaning=MEANING[evidence.outcome],
            detail=evidence.detail,
            case=next(iter((*failed, *_CASE.findall(evidence.detail))), ""),
            diagnosis=diagnose(evidence),
            log=evidence.log,
            rewards=rewards_of(one),
            mended_by=mended.number if mended else 0,
            mended=mended.attempt.candidate.source if mended else "",
            environment=named(evidence.environment),
        )

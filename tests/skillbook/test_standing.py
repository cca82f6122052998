"""A kernel's standing follows from what was measured here, that of prose from a curator; nothing else can raise it."""

from datetime import date, timedelta
from typing import Any

import pytest

from kb.skillbook.standing import STALE_DAYS, StandingContext, major, standing_of
from kb.types.evidence import Outcome
from kb.types.skill import Skill, SkillKind, SkillRecord, SkillStanding
from tests.skillbook.conftest import TODAY
from tests.skillbook.evidence import KERNEL, evidence, kernel, refused, skill

WIN = evidence(speedup=1.5)
OTHER = KERNEL.with_parameters({"BLOCK": 256})
LATER = "2025-11-21T10:00:00+00:00"
PROSE = [kind for kind in SkillKind if kind is not SkillKind.KERNEL]


def after(one: Skill, *verbs: str) -> Skill:
    """The skill with decisions, one a day."""
    records = tuple(
        SkillRecord(verb=verb, skill=one.name, content_digest=one.content_digest, created=f"2025-11-2{day}", by="ann")
        for day, verb in enumerate(verbs)
    )
    return one.model_copy(update={"records": records})


def standing(one: Skill, **context: Any) -> SkillStanding:
    """With the software and the documents that the evidence was made with."""
    usual = {"versions": dict, "stands": lambda citation: True, "today": TODAY}
    return standing_of(one, StandingContext(**usual | context))


KERNELS: dict[str, tuple[Skill, str]] = {
    "no evidence": (skill(), "hypothesis"),
    "a refusal": (skill(evidence=(refused(KERNEL),)), "hypothesis"),
    "a pass": (skill(evidence=(evidence(),)), "screened"),
    "a pass that is slower": (skill(evidence=(evidence(speedup=0.9),)), "screened"),
    "a win": (skill(evidence=(WIN,)), "verified"),
    "a win of other code": (skill(evidence=(evidence(OTHER, speedup=2.0),)), "hypothesis"),
    "a win, and later none in the same environment": (
        skill(evidence=(WIN, evidence(speedup=0.9, created=LATER))),
        "screened",
    ),
    "a win, and later a refusal": (
        skill(evidence=(WIN, evidence(outcome=Outcome.INCORRECT, grade=None, created=LATER))),
        "hypothesis",
    ),
    "a win, and later a pass without a time": (skill(evidence=(WIN, evidence(created=LATER))), "verified"),
    "a win, and a loss on another machine": (
        skill(evidence=(WIN, evidence(speedup=0.9, created=LATER, environment={"machine": "B", "torch": "2.11"}))),
        "verified",
    ),
    "accepted with a win": (after(skill(evidence=(WIN,)), "accept"), "verified"),
    "accepted without a win": (after(skill(evidence=(evidence(),)), "accept"), "screened"),
    "accepted without evidence": (after(skill(), "accept"), "hypothesis"),
    "rejected": (after(skill(evidence=(WIN,)), "reject"), "retired"),
    "accepted, then retired": (after(skill(evidence=(WIN,)), "accept", "retire"), "retired"),
    "retired, then accepted": (after(skill(evidence=(WIN,)), "retire", "accept"), "verified"),
    "retired, then restored by an earlier kb": (after(skill(evidence=(WIN,)), "retire", "restore"), "verified"),
    "retired, then used": (after(skill(evidence=(WIN,)), "retire", "use"), "retired"),
}


@pytest.mark.parametrize(("one", "expected"), KERNELS.values(), ids=KERNELS)
def test_a_kernel_stands_by_what_was_measured_of_it(one: Skill, expected: str) -> None:
    assert standing(one) == expected


@pytest.mark.parametrize("candidate", [None, KERNEL], ids=["without a kernel", "with one"])
@pytest.mark.parametrize("kind", PROSE)
def test_prose_stands_by_what_a_curator_decided_whatever_was_measured(kind: SkillKind, candidate: Any) -> None:
    prose = skill(kind=kind, candidate=candidate, evidence=(refused(OTHER), WIN))
    decided = {(): "hypothesis", ("accept",): "verified", ("reject",): "retired", ("accept", "retire"): "retired"}
    decided |= {("reject", "accept"): "verified", ("accept", "retire", "restore"): "hypothesis"}

    assert {verbs: standing(after(prose, *verbs)) for verbs in decided} == decided


@pytest.mark.parametrize("candidate", [None, KERNEL], ids=["without a kernel", "with one"])
def test_evidence_on_other_kernels_proves_nothing(candidate: Any) -> None:
    foreign = (refused(kernel("foreign")), evidence(kernel("foreign"), speedup=2.0))
    carrier = skill(kind=SkillKind.KERNEL if candidate else SkillKind.PLAYBOOK, candidate=candidate, evidence=foreign)

    assert standing(carrier) == "hypothesis"
    assert (carrier.own_evidence, carrier.best) == ((), None)


STALE: dict[str, tuple[dict[str, Any], str]] = {
    "the same versions": ({"versions": lambda: {"torch": "2.12.1", "triton": "3.2"}}, "verified"),
    "another major version": ({"versions": lambda: {"torch": "3.0"}}, "stale"),
    "a passage that changed": ({"stands": lambda citation: citation != "abc"}, "stale"),
    "the last day": ({"today": date(2025, 11, 20) + timedelta(STALE_DAYS)}, "verified"),
    "the day after": ({"today": date(2025, 11, 21) + timedelta(STALE_DAYS)}, "stale"),
}


@pytest.mark.parametrize(("context", "expected"), STALE.values(), ids=STALE)
def test_a_win_goes_stale_with_versions_passages_and_time(context: dict[str, Any], expected: str) -> None:
    assert standing(skill(evidence=(WIN,), citations=("abc",)), **context) == expected
    assert standing(skill(citations=("abc",)), **context) == "hypothesis", "what never won is not stale"


def test_accepted_prose_goes_stale_with_its_passages_alone() -> None:
    prose = after(skill(kind=SkillKind.TECHNIQUE, candidate=None, citations=("abc",)), "accept")

    assert standing(prose, stands=lambda citation: False) == "stale"
    assert standing(prose, today=date(2035, 1, 1), versions=lambda: {"torch": "9"}) == "verified"


def test_a_repeated_win_is_fresh_again_in_its_own_environment() -> None:
    repeated = evidence(speedup=1.4, created=LATER, environment={"machine": "Test Machine", "torch": "3.0"})

    assert standing(skill(evidence=(WIN, repeated)), versions=lambda: {"torch": "3.1"}) == "verified"


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("2.11.0+cu128", "2"),
        ("0.4.1", "0.4"),
        ("c++ (Debian 12.2.0-14+deb12u1) 12.2.0", "12"),
        ("Linux 6.8.0-generic", "6"),
        ("unknown", "unknown"),
        ("", ""),
    ],
)
def test_the_major_version_is_the_first_number(version: str, expected: str) -> None:
    assert major(version) == expected

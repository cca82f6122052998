"""A standing follows from evidence measured here and from a curator's decisions; nothing else can raise it."""

from collections.abc import Sequence
from datetime import date, timedelta
from itertools import permutations
from typing import Any

import pytest

from kb.skillbook.standing import STALE_DAYS, StandingContext, major, proven, standings_of
from kb.skillbook.value import value_of
from kb.types.evidence import Evidence, Outcome
from kb.types.skill import Preconditions, Skill, SkillKind, SkillStanding
from kb.types.skill_record import SkillRecord, UseOutcome
from tests.skillbook.conftest import TODAY
from tests.skillbook.evidence import KERNEL, evidence, kernel, refused, skill

WIN = evidence(speedup=1.5)
OTHER = KERNEL.with_parameters({"BLOCK": 256})
LATER = "2025-11-21T10:00:00+00:00"


def decided(one: Skill, *verbs: str, content: str = "", successor: str = "") -> Skill:
    """The skill with decisions, one a day."""
    records = tuple(
        SkillRecord(
            verb=verb, skill=one.name, content_digest=content or one.content_digest, created=f"2025-11-2{day}",
            by="a curator", successor=successor,
        )
        for day, verb in enumerate(verbs)
    )  # fmt: skip
    return one.model_copy(update={"records": records})


def standing(one: Skill, *others: Skill, **context: Any) -> SkillStanding:
    return standings_of([one, *others], in_context(**context)).of[one.name]


def in_context(**fields: Any) -> StandingContext:
    """All evidence was measured here, by the software that is here, on documents that are still here."""
    usual = {"measured": lambda skill, found: True, "versions": dict, "stands": lambda citation: True, "today": TODAY}
    return StandingContext(**usual | fields)


def technique(slow: float, fast: float, **fields: Any) -> Skill:
    found = (evidence(OTHER, speedup=slow), evidence(KERNEL, speedup=fast))
    return skill(kind=SkillKind.TECHNIQUE, evidence=found, **{"worse": OTHER} | fields)


def pitfall(*found: Evidence, **fields: Any) -> Skill:
    return skill(kind=SkillKind.PITFALL, evidence=found, **{"worse": OTHER} | fields)


FOREIGN = (
    refused(kernel("foreign worse")),
    evidence(kernel("foreign worse"), speedup=1.0, created=LATER[:18]),
    evidence(kernel("foreign"), speedup=2.0),
)
"""Genuine evidence on kernels of other skills: a refusal, and a win over another kernel."""


CASES: dict[str, tuple[Skill, str]] = {
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
    "a win that was accepted": (decided(skill(evidence=(WIN,)), "accept"), "active"),
    "accepted without a win": (decided(skill(evidence=(evidence(),)), "accept"), "screened"),
    "accepted without evidence": (decided(skill(), "accept"), "hypothesis"),
    "other content was accepted": (decided(skill(evidence=(WIN,)), "accept", content="0" * 64), "verified"),
    "rejected": (decided(skill(evidence=(WIN,)), "reject"), "retired"),
    "accepted, then retired": (decided(skill(evidence=(WIN,)), "accept", "retire"), "retired"),
    "retired, then restored": (decided(skill(evidence=(WIN,)), "accept", "retire", "restore"), "verified"),
    "retired, then accepted": (decided(skill(evidence=(WIN,)), "retire", "accept"), "active"),
    "a technique that is faster": (technique(1.0, 2.0), "verified"),
    "a technique within the noise": (technique(1.0, 1.015), "screened"),
    "a technique that is slower": (technique(2.0, 1.0), "screened"),
    "a technique without what it is compared with": (
        skill(kind=SkillKind.TECHNIQUE, evidence=(WIN,), worse=OTHER),
        "screened",
    ),
    "a technique that is faster than a kernel that it does not hold": (technique(1.0, 2.0, worse=None), "screened"),
    "a technique that is faster than a foreign kernel": (technique(1.0, 2.0, worse=kernel("third")), "screened"),
    "a technique without a kernel": (technique(1.0, 2.0, candidate=None, worse=None), "hypothesis"),
    "a pitfall with failure and mended kernel": (pitfall(refused(OTHER), WIN), "verified"),
    "a pitfall without a failure": (pitfall(WIN), "screened"),
    "a pitfall that was not mended": (pitfall(refused(OTHER)), "hypothesis"),
    "a pitfall where a foreign kernel was refused": (pitfall(refused(kernel("third")), WIN), "screened"),
    "a pitfall whose mended kernel is not the one that passed": (
        pitfall(refused(OTHER), evidence(kernel("third"), speedup=2.0)),
        "hypothesis",
    ),
    "a pitfall with the mended kernel alone": (pitfall(refused(OTHER), WIN, worse=None), "screened"),
    "a pitfall without kernels": (pitfall(refused(OTHER), WIN, candidate=None, worse=None), "hypothesis"),
    "a playbook that led to a win": (
        skill(kind=SkillKind.PLAYBOOK, candidate=None, evidence=(evidence(kernel("any"), speedup=2.0),)),
        "hypothesis",
    ),
}


@pytest.mark.parametrize(("one", "expected"), CASES.values(), ids=CASES)
def test_a_standing_follows_from_evidence_and_decisions(one: Skill, expected: str) -> None:
    assert standing(one) == expected


@pytest.mark.parametrize("kind", list(SkillKind))
@pytest.mark.parametrize("kernels", [{"candidate": None}, {}, {"worse": OTHER}], ids=["none", "one", "two"])
def test_evidence_on_other_kernels_proves_nothing(kind: SkillKind, kernels: dict[str, Any]) -> None:
    carrier = skill(kind=kind, evidence=FOREIGN, **kernels)

    assert standing(carrier) == "hypothesis"
    assert standing(decided(carrier, "accept")) == "hypothesis", "it can be used all the same"
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


def test_evidence_that_was_not_measured_here_proves_nothing() -> None:
    claimed = decided(skill(evidence=(WIN, evidence(speedup=9.0))), "accept")

    assert standing(claimed, measured=lambda skill, found: False) == "hypothesis"


def test_a_repeated_win_is_fresh_again_in_its_own_environment() -> None:
    repeated = evidence(speedup=1.4, created=LATER, environment={"machine": "Test Machine", "torch": "3.0"})

    assert standing(skill(evidence=(WIN, repeated)), versions=lambda: {"torch": "3.1"}) == "verified"


def accepted(name: str, *found: Evidence, **fields: Any) -> Skill:
    return decided(skill(name, evidence=found, **fields), "accept")


def test_a_skill_is_superseded_by_an_active_one_that_is_faster_wherever_it_won() -> None:
    slow, other = accepted("slow", WIN), kernel("other")
    fast = evidence(other, speedup=2.0)

    assert standing(slow, accepted("fast", fast, candidate=other)) == "superseded"
    assert standing(slow, skill("fast", candidate=other, evidence=(fast,))) == "active", "nobody accepted the other"
    elsewhere = evidence(other, speedup=2.0, environment={"machine": "B"})
    assert standing(slow, accepted("fast", elsewhere, candidate=other)) == "active", "they were not compared"
    within = evidence(other, speedup=1.505)
    assert standing(slow, accepted("fast", within, candidate=other)) == "active", "the intervals overlap"


def test_a_retired_skill_is_superseded_while_its_successor_is_active() -> None:
    old = decided(skill("old", evidence=(WIN,)), "retire", successor="new")
    new = accepted("new", WIN, target="hopper")

    assert standing(old, new) == "superseded"
    assert standing(old, decided(new, "retire")) == "retired"
    assert standing(new, old) == "active"


def used(one: Skill, *outcomes: UseOutcome, run: str = "run-{}") -> Skill:
    records = tuple(
        SkillRecord(
            verb="use", skill=one.name, content_digest=one.content_digest, created=f"2025-11-{day:02}",
            by=run.format(day), outcome=outcome,
        )
        for day, outcome in enumerate(outcomes, start=1)
    )  # fmt: skip
    return one.model_copy(update={"records": records})


WON, LOST, FAILED = UseOutcome.REPRODUCED, UseOutcome.NO_WIN, UseOutcome.FAILED


@pytest.mark.parametrize(
    ("outcomes", "value"),
    [((), 0), ((WON,), 1 / 5), ((WON,) * 4, 1 / 2), ((WON, FAILED), 0), ((LOST,) * 9, 0), ((FAILED,) * 4, -1 / 2)],
)
def test_the_value_is_the_shrunken_mean_of_outcomes(outcomes: tuple[UseOutcome, ...], value: float) -> None:
    assert value_of(used(skill(), *outcomes)) == pytest.approx(value)


def test_the_last_outcome_of_a_run_counts_and_only_for_this_content() -> None:
    assert value_of(used(skill(), FAILED, WON, run="the same")) == pytest.approx(1 / 5)
    assert value_of(used(skill(), WON).model_copy(update={"body": "Other words."})) == 0


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


def seats(*skills: Skill) -> tuple[set[str], dict[str, tuple[str, ...]]]:
    found = standings_of(skills, in_context())
    return {name for name, standing in found.of.items() if standing is SkillStanding.ACTIVE}, found.resting


def seated(
    name: str, day: int, speedup: float = 1.5, *, language: str = "triton", machine: str = "A", **fields: Any
) -> Skill:
    """A proven skill that was accepted on a day, perhaps in another library."""
    own = kernel(name, language)
    won = evidence(own, speedup=speedup, environment={"machine": machine})
    one = skill(name, candidate=own, evidence=(won,), **fields)
    record = SkillRecord(
        verb="accept", skill=name, content_digest=one.content_digest, created=f"2025-11-2{day}", by="ann"
    )
    return one.model_copy(update={"records": (record,)})


THREE = tuple(seated(name, day) for day, name in enumerate("abc"))


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_of_too_many_accepted_skills_of_merged_libraries_the_last_rests(order: tuple[int, ...]) -> None:
    known = (*THREE, seated("d", 3))

    assert seats(*(known[place] for place in order)) == ({"a", "b", "c"}, {"d": ("a", "b", "c")})
    assert standing(known[3], *THREE) == "verified"


def for_ops(*ops: str) -> dict[str, Preconditions]:
    return {"preconditions": Preconditions(ops=ops)}


CROWDS: dict[str, tuple[Sequence[Skill], set[str]]] = {
    "as fast ones": ([seated(name, 1) for name in "gfedcba"], {"a", "b", "c"}),
    "measured on other machines": ([seated(name, day, machine=name) for day, name in enumerate("cbadefg")], set("cba")),
    "faster ones in another language": (
        [*(seated(name, 1) for name in "abc"), *(seated(name, 2, 2.5, language="cpp") for name in "defg")],
        {"a", "b", "c"},
    ),
    "one of each operation, and some for two": (
        [
            *(seated(name, 1, **for_ops("softmax")) for name in "ab"),
            seated("c", 2, **for_ops("gelu")),
            *(seated(name, 3, **for_ops("softmax", "gelu")) for name in "def"),
        ],
        {"a", "b", "c", "d"},
    ),
    "some for all operations": (
        [*(seated(name, 1) for name in "ab"), *(seated(f"{op}-{n}", 2, **for_ops(op)) for op in "xy" for n in "12")],
        {"a", "b", "x-1", "y-1"},
    ),
    "a faster one that frees the seat of one for another that waited": (
        [*(seated(name, 1) for name in "ab"), *(seated(m, 2, machine=m) for m in "cd"), seated("e", 3, 2.0)],
        {"c", "d", "e"},
    ),
    "a faster one, measured where only one of them was": (
        [*(seated(name, 1, machine=name) for name in "abcd"), seated("e", 2, 2.0, machine="a")],
        {"e", "b", "c"},
    ),
}
"""Skills that were all accepted, and which of them are active."""


@pytest.mark.parametrize(("known", "active"), CROWDS.values(), ids=CROWDS)
def test_at_most_three_are_active_for_an_operation_on_a_target_those_that_were_accepted_first(
    known: Sequence[Skill], active: set[str]
) -> None:
    for order in (known, known[::-1], sorted(known, key=lambda one: one.content_digest)):
        assert seats(*order)[0] == active


@pytest.mark.parametrize(("known", "active"), CROWDS.values(), ids=CROWDS)
def test_who_has_room_is_active_when_it_is_accepted(known: Sequence[Skill], active: set[str]) -> None:
    """And takes no seat but those of whom it beats."""
    held: list[Skill] = []
    for one in known:
        before = standings_of(held, in_context()).active
        newcomer = proven(one, in_context())
        if newcomer.has_room(before):
            late = one.records[0].model_copy(update={"created": f"2025-11-25T00:00:{len(held):02}"})
            held.append(one.model_copy(update={"records": (late,)}))
            after = {each.skill.name for each in standings_of(held, in_context()).active}
            kept = {other.skill.name for other in before if not newcomer.beats(other)}
            beaten = any(other.beats(newcomer) for other in before)
            assert kept <= after
            assert (one.name in after) is not beaten


EXEMPT = {
    "for another operation": (
        [seated(name, day, preconditions=Preconditions(ops=("softmax",))) for day, name in enumerate("abc")],
        seated("d", 3, preconditions=Preconditions(ops=("gelu",))),
        {"a", "b", "c", "d"},
    ),
    "on another target": (THREE, seated("d", 3, target="hopper"), {"a", "b", "c", "d"}),
    "faster than all": (THREE, seated("d", 3, speedup=2.0), {"d"}),
    "slower than one that was accepted before": (THREE[:2], seated("d", 3, speedup=1.1), {"a", "b"}),
}


@pytest.mark.parametrize(("known", "newcomer", "active"), EXEMPT.values(), ids=EXEMPT)
def test_who_beats_others_or_is_for_something_else_needs_no_room(
    known: Sequence[Skill], newcomer: Skill, active: set[str]
) -> None:
    assert seats(newcomer, *known) == (active, {})


def test_a_skill_that_rests_is_active_when_another_is_retired() -> None:
    retired = decided(THREE[0], "accept", "retire")

    assert seats(retired, *THREE[1:], seated("d", 3)) == ({"b", "c", "d"}, {})


def test_a_skill_that_was_retired_and_accepted_again_comes_after_the_others() -> None:
    again = decided(THREE[0], "accept", "retire", "restore", "accept", "accept")

    active, resting = seats(again, *THREE[1:], seated("d", 2))

    assert (active, resting.keys()) == ({"b", "c", "d"}, {"a"})

"""Kernels of skills are judged again on the tasks that are known here, and what is measured counts."""

from collections.abc import Callable
from typing import Any

import pytest

from kb.errors import JudgeError, SkillError
from kb.runs.journal import Plan, SynthesizerKind
from kb.types.evidence import Evidence, Outcome
from kb.types.kernels import Candidate, Precision, Task
from kb.types.skill import Skill, SkillKind, SkillStanding
from kb.usecases import reverifying
from kb.usecases.knowledge_base import KnowledgeBase
from kb.usecases.reverifying import Reverified
from tests.skillbook.evidence import KERNEL, TASK, kernel, refused
from tests.usecases.skills import OTHER, accepted, proposed, today

LONG_AGO = "2020-01-01T00:00:00+00:00"


@pytest.fixture
def ran(kb: KnowledgeBase) -> KnowledgeBase:
    """A home with a run on the task of the evidence."""
    kb.runs.start(Plan(task=TASK, target="mi300x", language="triton", synthesizer=SynthesizerKind.TUNE, evaluations=1))
    return kb


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Candidate, Task, str]]:
    """What a judge was asked; `wrong` kernels are refused, and `broken` ones break the judge."""
    asked = []

    def verify(kb: KnowledgeBase, task: Task, candidate: Candidate, target: str) -> Evidence:
        asked.append((candidate, task, target))
        if "broken" in candidate.source:
            raise JudgeError("the judge broke", hint="")
        about = {"task": task.name, "task_digest": task.digest, "target": target}
        if "wrong" in candidate.source:
            about |= {"environment": {"machine": "A"}}
            return refused(candidate, Outcome.INCORRECT, "wrong").model_copy(update=about)
        return today(candidate, speedup=2.0, **about)

    monkeypatch.setattr(KnowledgeBase, "verify", verify)
    return asked


def reverify(*given: Any, **options: Any) -> list[Reverified]:
    return list(reverifying.reverify(*given, **options))


def names(done: list[Reverified]) -> list[str]:
    return [one.name for one in done]


def test_a_claimed_win_that_is_repeated_here_is_verified(ran: KnowledgeBase, judged: list[object]) -> None:
    proposed(ran)

    (done,) = reverify(ran, ["softmax"])

    assert judged == [(KERNEL, TASK, "mi300x")]
    assert (done.before, done.after) == (SkillStanding.HYPOTHESIS, SkillStanding.VERIFIED)
    assert [one.speedup for one in ran.skills.find("softmax").evidence] == [1.5, 2.0]
    assert [held.name for held in ran.skills.proposals()] == ["softmax"], "it still waits for a curator"


def test_a_claimed_win_that_is_not_repeated_here_stays_a_guess(ran: KnowledgeBase, judged: list[object]) -> None:
    wrong = kernel("wrong")
    proposed(ran, candidate=wrong)

    (done,) = reverify(ran, ["softmax"])

    assert (done.evidence and done.evidence.outcome, done.after) == (Outcome.INCORRECT, SkillStanding.HYPOTHESIS)


def test_a_stale_skill_is_judged_on_a_named_task_if_its_evidence_has_that_task(
    kb: KnowledgeBase, judged: list[tuple[Candidate, Task, str]]
) -> None:
    accepted(kb, "old", evidence=(today(created=LONG_AGO),))
    accepted(kb, "fresh", candidate=OTHER)
    other = Task(name="other", source="class Other: ...\n")

    (done,) = reverify(kb, stale=True, tasks=[TASK, other])

    assert (done.name, done.after) == ("old", SkillStanding.VERIFIED)
    assert [task for _, task, _ in judged] == [TASK]


def test_evidence_is_repeated_in_its_own_precision(
    kb: KnowledgeBase, judged: list[tuple[Candidate, Task, str]]
) -> None:
    exact = TASK.model_copy(update={"precision": Precision.IEEE})
    accepted(kb, "old", evidence=(today(created=LONG_AGO, task_digest=exact.digest, precision=Precision.IEEE),))

    reverify(kb, stale=True, tasks=[TASK])

    assert [task for _, task, _ in judged] == [exact]


def test_a_stale_skill_that_wins_again_is_verified_again(ran: KnowledgeBase, judged: list[object]) -> None:
    accepted(ran, "old", evidence=(today(created=LONG_AGO),))
    accepted(ran, "fresh", candidate=OTHER)

    (done,) = reverify(ran, stale=True)

    assert (done.name, done.before, done.after) == ("old", SkillStanding.STALE, SkillStanding.VERIFIED)


def test_after_the_time_is_up_nothing_is_judged_and_each_rest_is_named(
    ran: KnowledgeBase, judged: list[object]
) -> None:
    accepted(ran, "one")
    accepted(ran, "two", candidate=OTHER)

    done = reverify(ran, minutes=0)

    assert (judged, names(done)) == ([], ["one", "two"])
    assert {one.reason for one in done} == {"not judged: the time is up"}


def test_only_evidence_for_the_named_target_is_repeated(ran: KnowledgeBase, judged: list[object]) -> None:
    proposed(ran, evidence=(today(), today(target="mi355x")))

    assert [one.target for one in reverify(ran, ["softmax"], target="mi355x")] == ["mi355x"]


def test_a_skill_without_evidence_is_judged_on_a_named_task(kb: KnowledgeBase, judged: list[object]) -> None:
    proposed(kb, evidence=())

    (done,) = reverify(kb, ["softmax"], tasks=[TASK])

    assert (done.task, done.target, done.after) == ("row-softmax", "mi300x", SkillStanding.VERIFIED)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda kb: proposed(kb), "no run of this home has the task row-softmax"),
        (lambda kb: proposed(kb, evidence=()), "kb skills reverify softmax --target mi300x --task FILE`"),
        (lambda kb: proposed(kb, kind=SkillKind.TECHNIQUE), "it is prose"),
    ],
    ids=["task unknown", "no evidence", "prose"],
)
def test_what_cannot_be_judged_is_reported_with_the_reason(
    kb: KnowledgeBase, judged: list[object], make: Callable[[KnowledgeBase], Skill], reason: str
) -> None:
    make(kb)

    (done,) = reverify(kb, ["softmax"])

    assert judged == []
    assert reason in done.reason


def test_a_fault_of_the_judge_does_not_keep_others_from_being_judged(ran: KnowledgeBase, judged: list[object]) -> None:
    accepted(ran, "a-broken", candidate=kernel("broken"))
    accepted(ran, "sound")

    first, second = reverify(ran)

    assert (first.reason, second.after) == ("not judged: the judge broke", SkillStanding.VERIFIED)
    assert len(ran.skills.find("a-broken").evidence) == 1


def test_an_unknown_name_is_an_error_before_anything_is_judged(ran: KnowledgeBase, judged: list[object]) -> None:
    proposed(ran)

    with pytest.raises(SkillError, match="unknown skill"):
        reverify(ran, ["softmax", "none"])
    assert judged == []

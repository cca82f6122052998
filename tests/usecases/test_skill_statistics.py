"""What skills are worth follows from what runs and uses came to; nothing is counted that nobody measured."""

import pytest

from kb.runs.journal import JournalEntry, Plan, SynthesizerKind
from kb.types.kernels import Candidate
from kb.types.protocols import Proposal
from kb.types.skill import Preconditions, SkillStanding
from kb.types.skill_record import SkillRecord, UseOutcome
from kb.usecases.knowledge_base import KnowledgeBase
from kb.usecases.skill_statistics import Statistics, statistics
from tests.skillbook.evidence import KERNEL, TASK, refused
from tests.usecases.skills import OTHER, active, proposed, today


def ran(kb: KnowledgeBase, speedup: float | None, *used: str, control: bool = False, **fields: str) -> None:
    """A run whose best candidate has this speed-up, or was refused."""
    plan = {"task": TASK, "target": "mi300x", "language": "triton", "synthesizer": SynthesizerKind.TUNE} | fields
    run = kb.runs.start(Plan(evaluations=1, control=control, **plan))
    candidate = Candidate(language="triton", source=f"{KERNEL.source}# {used}{speedup}")
    judged = refused(candidate) if speedup is None else today(candidate, speedup=speedup)
    run.append(JournalEntry(kind="proposed", step=1, proposal=Proposal(candidate=candidate, skills_used=used)))
    run.append(JournalEntry(kind="judged", step=1, evidence=judged))


def found(kb: KnowledgeBase, *names: str) -> Statistics:
    return statistics(kb, [kb.skills.get(name) for name in names], proposals=0)


def test_runs_with_a_skill_are_set_beside_control_runs_and_runs_with_other_skills(kb: KnowledgeBase) -> None:
    active(kb, "softmax")
    for speedup, used, control in ((1.8, ["softmax"], False), (1.6, ["softmax"], False), (1.0, ["softmax"], True),
                                   (1.2, ["other"], False), (1.1, [], False), (None, ["softmax"], False)):  # fmt: skip
        ran(kb, speedup, *used, control=control)
    ran(kb, 3.0, "softmax", target="mi355x")

    here, elsewhere = sorted(found(kb, "softmax").skills[0].arms, key=lambda arms: arms.target)

    assert [sorted(arm) for arm in (here.with_skill, here.without, here.other)] == [[1.6, 1.8], [1.0, 1.1], [1.2]]
    assert here.lift == pytest.approx(1.7 / 1.05)
    assert (elsewhere.with_skill, elsewhere.lift) == ((pytest.approx(3.0),), None)


def test_a_skill_that_no_run_used_has_no_lift(kb: KnowledgeBase) -> None:
    active(kb, "softmax")
    ran(kb, 1.2, "other")

    assert found(kb, "softmax").skills[0].arms == ()


def test_uses_are_counted_once_for_each_run_and_harm_is_the_share_that_failed(kb: KnowledgeBase) -> None:
    held = active(kb, "softmax")
    uses = [("a", "failed"), ("a", "reproduced"), ("b", "failed"), ("c", "inapplicable"), ("d", "no_win")]
    for second, (run, outcome) in enumerate(uses):
        about = {"skill": "softmax", "content_digest": held.content_digest, "created": f"2026-01-01T00:00:0{second}"}
        record = SkillRecord(verb="use", by=run, task="t", outcome=UseOutcome(outcome), **about)
        kb.skills.record(kb.skills.get("softmax"), record)

    (skill,) = found(kb, "softmax").skills

    assert skill.uses == {
        UseOutcome.REPRODUCED: 1,
        UseOutcome.FAILED: 1,
        UseOutcome.INAPPLICABLE: 1,
        UseOutcome.NO_WIN: 1,
    }
    assert (skill.harm, skill.value) == (0.5, kb.skills.value(kb.skills.get("softmax")))


def test_the_best_speed_up_is_of_evidence_that_was_measured_here(kb: KnowledgeBase) -> None:
    held = active(kb, "softmax")
    kb.skills.propose(held.model_copy(update={"evidence": (today(speedup=9.0),)}))

    assert found(kb, "softmax").skills[0].speedup == 1.5


def test_the_coverage_counts_standings_by_operation_and_target(kb: KnowledgeBase) -> None:
    active(kb, "one", preconditions=Preconditions(ops=("softmax", "cross-entropy")))
    proposed(kb, "two", candidate=OTHER, preconditions=Preconditions(ops=("softmax",)))
    kb.skills.accept("two", "ann", "")
    active(kb, "three", candidate=Candidate(language="triton", source="3"))

    cells = {(c.op, c.target): c.standings for c in found(kb, "one", "two", "three").coverage}

    assert cells == {
        ("any", "mi300x"): {SkillStanding.ACTIVE: 1},
        ("cross-entropy", "mi300x"): {SkillStanding.ACTIVE: 1},
        ("softmax", "mi300x"): {SkillStanding.ACTIVE: 1, SkillStanding.HYPOTHESIS: 1},
    }

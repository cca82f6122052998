"""What a skill gained is told in times of one machine: beside the best baseline, and of runs with it and without."""

from typing import Any

import pytest

from kb.runs.entries import JournalEntry
from kb.runs.journal import Plan, SynthesizerKind
from kb.types.evidence import Evidence
from kb.types.protocols import Proposal
from kb.types.skill import SkillKind
from kb.usecases.knowledge_base import KnowledgeBase
from kb.usecases.skill_gains import Gain, gains_of
from tests.skillbook.evidence import KERNEL, TASK, kernel
from tests.usecases.skills import OTHER, proposed, today


def ran(kb: KnowledgeBase, judged: Evidence, *used: str, published: str = "", **plan: Any) -> None:
    """A run with one candidate, which was made from these skills."""
    fields = {"task": TASK, "target": "mi300x", "language": "triton", "synthesizer": SynthesizerKind.TUNE}
    run = kb.runs.start(Plan(evaluations=1, **fields | plan))
    run.append(JournalEntry(kind="proposed", step=1, proposal=Proposal(candidate=OTHER, skills_used=used)))
    run.append(JournalEntry(kind="judged", step=1, evidence=judged))
    if published:
        run.append(JournalEntry(kind="published", step=1, text=published))


def in_us(time_us: float, baseline_us: float = 150.0, **fields: Any) -> Evidence:
    """Evidence of this time beside this one of the best baseline."""
    stated = today(OTHER, speedup=1.5, **fields).model_dump()
    for session in stated["timing"]["sessions"]:
        gain = baseline_us / time_us
        session |= {"baseline_us": (baseline_us,), "candidate_us": (time_us,)}
        session |= {"speedup": gain, "low": gain * 0.99, "high": gain * 1.01}
    return Evidence.model_validate(stated)


def gain(kb: KnowledgeBase) -> Gain:
    (found,) = gains_of(kb, kb.skills.find("softmax"))
    return found


def test_the_newest_time_stands_beside_that_of_the_best_baseline(kb: KnowledgeBase) -> None:
    old = today(speedup=2.0, created="2025-01-01T00:00:00+00:00")
    proposed(kb, here=True, evidence=(old, today(speedup=1.5)))

    found = gain(kb)

    assert (found.task, found.target, found.machine, found.baseline) == ("row-softmax", "mi300x", "A", "torch.compile")
    assert (found.kernel_us, found.baseline_us) == (pytest.approx(100.0), pytest.approx(150.0))
    assert str(found) == "row-softmax for mi300x on A: 100.00 us, torch.compile 150.00 us"


def test_runs_with_it_are_compared_by_time_with_runs_without_skills(kb: KnowledgeBase) -> None:
    proposed(kb, here=True)
    ran(kb, in_us(90.0), "softmax")
    ran(kb, in_us(110.0), "softmax")
    ran(
        kb, in_us(120.0, baseline_us=600.0), "softmax-of-others", control=True
    )  # the largest speed-up, and not the shortest time
    ran(kb, in_us(130.0), "softmax-triton")
    ran(kb, in_us(20.0), "softmax-of-others")

    found = gain(kb)

    assert (found.with_us, found.without_us) == (pytest.approx(90.0), pytest.approx(120.0))
    assert str(found).endswith("; runs reached 90.00 us with it, 120.00 us without skills")


def test_what_was_timed_elsewhere_or_not_at_all_is_not_compared(kb: KnowledgeBase) -> None:
    proposed(kb, here=True)
    ran(kb, in_us(10.0, environment={"machine": "B"}), "softmax")
    ran(kb, in_us(10.0, target="mi355x"), control=True, target="mi355x")
    ran(kb, today(OTHER, speedup=None, grade="compiled"), "softmax")
    ran(kb, in_us(10.0, task_digest="another"), task=TASK.model_copy(update={"source": "x = 1\n"}))

    assert (gain(kb).with_us, gain(kb).without_us) == (None, None)


def test_the_run_that_won_a_skill_did_not_use_it(kb: KnowledgeBase) -> None:
    proposed(kb, here=True)
    ran(kb, in_us(90.0), "softmax", published="softmax")

    assert (gain(kb).with_us, gain(kb).without_us) == (None, pytest.approx(90.0))


def test_claims_prose_and_other_kernels_have_no_gain(kb: KnowledgeBase) -> None:
    proposed(kb, "claimed")
    proposed(kb, "prose", kind=SkillKind.TECHNIQUE, candidate=None, evidence=(today(),))
    proposed(kb, "other", here=True, candidate=kernel("other"), evidence=(today(),))

    assert [gains_of(kb, kb.skills.find(name)) for name in ("claimed", "prose", "other")] == [()] * 3
    assert kb.skills.find("claimed").candidate == KERNEL

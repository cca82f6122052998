"""Runs are packed for another machine, and take each verdict once; what does not count is named and costs no other."""

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from eval.batch.pack import BATCH, Batch, read_batch
from kb.errors import BatchError, CandidateError, KbError, RunError, TargetError
from kb.runs.entries import JournalEntry
from kb.runs.journal import HEADER, Plan, Run, SynthesizerKind
from kb.runs.loop import state_of
from kb.types.evidence import Evidence, Grade, Outcome
from kb.types.kernels import Candidate
from kb.types.protocols import Proposal, Stage, Tried
from kb.usecases.batches import take
from kb.usecases.knowledge_base import KnowledgeBase
from kb.usecases.packing import entry_of, pack, pack_candidates, pack_runs
from synth.search.moves import tuning
from tests.eval.batches import TUNABLE, evidence_on, found_by, kernel, tuned, verdict_on, write_verdict
from tests.runs.fakes import BEST, TASK, evidence_of


def proposal(text: str, language: str = "cpp") -> Proposal:
    return Proposal(candidate=kernel(text).model_copy(update={"language": language}), note=f"{text}.cpp")


def screened(one: Candidate) -> Evidence:
    return evidence_of(one).model_copy(update={"grade": Grade.COMPILED, "timing": None})


def run_with(kb: KnowledgeBase, *evidence: Evidence | None, names: Sequence[str] = ("k1", "k2", "k3", "k4")) -> Run:
    """A run that is over with these verdicts, the last of which may be pending."""
    by = SynthesizerKind.AUTHORS
    plan = Plan(task=TASK, target="cpu-x86", language="cpp", synthesizer=by, evaluations=len(evidence))
    run = kb.runs.start(plan)
    for step, seen in enumerate(evidence, start=1):
        run.append(JournalEntry(kind="proposed", step=step, proposal=proposal(names[step - 1])))
        if seen:
            run.append(JournalEntry(kind="judged", step=step, evidence=seen))
    if run.pending is None:
        run.append(JournalEntry(kind="ended", step=run.step, text="all evaluations are spent"))
    return run


def judged(folder: Path) -> Batch:
    """Judge a batch: what contains `wrong` is refused, all else wins."""
    batch = read_batch(folder)
    for number in batch.entries:
        write_verdict(folder, batch, verdict_on(batch, number))
    return batch


def runs_of(batch: Batch) -> list[str]:
    return list(dict.fromkeys(entry.run for entry in batch.entries.values()))


def now(kb: KnowledgeBase, run_id: str) -> list[tuple[str, bool]]:
    """Note and whether it won, of each attempt of a run."""
    return [(a.note, a.evidence.won) for a in kb.runs.get(run_id).attempts]


def test_what_passed_without_a_time_or_is_not_judged_is_packed_and_takes_its_verdict_once(
    kb: KnowledgeBase, tmp_path: Path
) -> None:
    refused = evidence_of(kernel("k2"), outcome=Outcome.INCORRECT)
    run = run_with(kb, screened(kernel("k1")), refused, evidence_of(kernel("k3"), speedup=1.1), None)

    pack_runs(kb, tmp_path / "batch", kb.runs)
    batch = judged(tmp_path / "batch")
    assert [entry.proposal.note for entry in batch.entries.values()] == ["k1.cpp", "k4.cpp"]
    assert {entry.run for entry in batch.entries.values()} == {run.id}

    taken = take(kb, tmp_path / "batch")

    assert (taken.new, taken.runs, taken.missing) == (2, (run.id,), ())
    again = kb.runs.get(run.id)
    assert now(kb, run.id) == [("k1.cpp", True), ("k2.cpp", False), ("k3.cpp", True), ("k4.cpp", True)]
    assert (again.ended, len(again.published), again.untimed) == ("all evaluations are spent", 1, ())
    assert [e.text for e in again.entries if e.kind == "judged"][-2:] == [batch.id] * 2
    assert kb.skills.standings()[again.published[0]] == "verified"

    assert take(kb, tmp_path / "batch").new == 0
    assert kb.runs.get(run.id).entries == again.entries


def test_a_run_that_is_over_takes_what_its_screen_could_not_time(kb: KnowledgeBase, tmp_path: Path) -> None:
    run = run_with(kb, screened(kernel("k1")), screened(kernel("k1")), names=("k1", "k1"))
    pack_runs(kb, tmp_path / "batch", [run])

    assert len(judged(tmp_path / "batch").entries) == 1, "a kernel that was tried twice is packed once"
    assert take(kb, tmp_path / "batch").new == 2
    assert now(kb, run.id) == [("k1.cpp", True)] * 2


def test_files_become_a_run_for_each_language(kb: KnowledgeBase, tmp_path: Path) -> None:
    given = [proposal("right"), proposal("wrong"), proposal("other", "torch")]

    packed = runs_of(pack_candidates(kb, tmp_path / "batch", TASK, "x86", given))
    judged(tmp_path / "batch")
    take(kb, tmp_path / "batch")

    assert [kb.runs.get(name).plan.language for name in packed] == ["cpp", "torch"]
    assert now(kb, packed[0]) == [("right.cpp", True), ("wrong.cpp", False)]
    assert [kb.runs.get(name).ended for name in packed] == ["all evaluations are spent"] * 2


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        (lambda kb, to: pack_runs(kb, to, []), BatchError, "no candidate waits"),
        (
            lambda kb, to: pack_runs(kb, to, [run_with(kb, evidence_of(kernel("k1")))]),
            BatchError,
            "no candidate waits for a device",
        ),
        (lambda kb, to: pack_candidates(kb, to, TASK, "mi9000", [proposal("a")]), TargetError, "unknown target"),
        (lambda kb, to: pack_candidates(kb, to, TASK, "h100", [proposal("a")]), CandidateError, "no device times cpp"),
        (lambda kb, to: pack_candidates(kb, to, TASK, "trainium2", [proposal("a")]), CandidateError, "no device times"),
        (lambda kb, to: pack_candidates(kb, to.parent, TASK, "x86", [proposal("a")]), BatchError, "exists already"),
        (lambda kb, to: take(kb, to.parent), BatchError, "is not a batch"),
    ],
)
def test_what_cannot_be_packed_or_taken_is_refused(
    kb: KnowledgeBase, tmp_path: Path, ask: Callable[[KnowledgeBase, Path], object], error: type[KbError], message: str
) -> None:
    with pytest.raises(error, match=message):
        ask(kb, tmp_path / "batch")

    assert not (tmp_path / "batch").exists()
    assert not [run for run in kb.runs if not run.entries], "no empty run is left"


def test_a_batch_of_another_home_or_with_another_key_is_refused(kb: KnowledgeBase, home: Path, tmp_path: Path) -> None:
    pack_candidates(kb, tmp_path / "batch", TASK, "x86", [proposal("right")])
    batch = judged(tmp_path / "batch")
    (home / "batches" / batch.id).write_text((tmp_path / "batch" / BATCH).read_text().replace("right", "left"))

    with pytest.raises(BatchError, match="this home did not pack"):
        take(kb, tmp_path / "batch")
    (home / "batches" / batch.id).unlink()
    with pytest.raises(BatchError, match="this home did not pack"):
        take(kb, tmp_path / "batch")


def without_run(kb: KnowledgeBase, run: Run) -> None:
    shutil.rmtree(run.folder)


def with_another_task(kb: KnowledgeBase, run: Run) -> None:
    plan = json.loads((run.folder / HEADER).read_text())
    plan["task"]["source"] += "# changed\n"
    (run.folder / HEADER).write_text(json.dumps(plan))


def with_another_candidate_that_waits(kb: KnowledgeBase, run: Run) -> None:
    run.append(JournalEntry(kind="proposed", step=1, proposal=proposal("paid")))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without_run, "there is no run"),
        (with_another_task, "has another task than when it was packed"),
        (with_another_candidate_that_waits, "another candidate of run .* waits for its verdict"),
    ],
)
def test_a_run_that_is_gone_or_changed_takes_nothing_and_the_others_take_theirs(
    kb: KnowledgeBase, tmp_path: Path, change: Callable[[KnowledgeBase, Run], None], message: str
) -> None:
    given = [proposal("first"), proposal("second", "torch")]
    one, two = runs_of(pack_candidates(kb, tmp_path / "batch", TASK, "x86", given))
    judged(tmp_path / "batch")
    change(kb, kb.runs.get(one))

    taken = take(kb, tmp_path / "batch")

    assert (taken.new, taken.runs) == (1, (two,))
    with pytest.raises(RunError, match=message):
        raise RunError(*taken.missing, hint="")


def test_a_verdict_that_does_not_count_is_named_and_the_others_are_taken(kb: KnowledgeBase, tmp_path: Path) -> None:
    given = [proposal(f"k{n}") for n in range(5)]
    (run,) = runs_of(pack_candidates(kb, tmp_path / "batch", TASK, "x86", given))
    batch = judged(tmp_path / "batch")
    file = tmp_path / "batch" / "verdicts"
    (file / "1").write_text((file / "1").read_text()[:300])
    write_verdict(tmp_path / "batch", batch, verdict_on(batch, 2), key="another")
    write_verdict(
        tmp_path / "batch", batch, verdict_on(batch, 3).model_copy(update={"evidence": None, "failure": "it died"})
    )
    (file / "4").unlink()

    taken = take(kb, tmp_path / "batch")

    assert (taken.new, now(kb, run)) == (1, [("k4.cpp", True)])
    assert [line.replace(str(file), "") for line in taken.missing] == [
        "/1 is damaged, or not signed with the key of this batch",
        "/2 is damaged, or not signed with the key of this batch",
        "3 of 5: row-sum for cpu-x86: it died",
        "4 of 5: row-sum for cpu-x86: it is not judged yet",
    ]
    judged(tmp_path / "batch")
    assert (take(kb, tmp_path / "batch").new, len(now(kb, run))) == (4, 5)


def test_what_could_not_be_timed_is_taken_once_and_can_be_packed_again(kb: KnowledgeBase, tmp_path: Path) -> None:
    (run,) = runs_of(pack_candidates(kb, tmp_path / "batch", TASK, "x86", [proposal("busy")]))
    judged(tmp_path / "batch")

    assert [take(kb, tmp_path / "batch").new for _ in range(2)] == [1, 0]
    assert runs_of(pack_runs(kb, tmp_path / "again", [kb.runs.get(run)])) == [run]


SEARCHED = {"synthesizer": SynthesizerKind.AUTHORS, "evaluations": 9, "seed": 7}


def tunable(kb: KnowledgeBase, text: str = "k", judged: int = 0, **plan: Any) -> Run:
    """A run in which a kernel with parameters waits for its verdict, after others that were refused."""
    fields = {"task": TASK, "target": "cpu-x86", "language": "cpp"} | SEARCHED | plan
    run = kb.runs.start(Plan.model_validate(fields))
    for step in range(1, judged + 1):
        run.append(JournalEntry(kind="proposed", step=step, proposal=proposal(f"{step}")))
        run.append(JournalEntry(kind="judged", step=step, evidence=evidence_of(kernel(f"{step}"))))
    own = tuned(text).proposal.model_copy(update={"stage": Stage.DRAFT, "author": "a"})
    run.append(JournalEntry(kind="proposed", step=run.step, proposal=own))
    return run


PACKED = {
    "the run searches on two levels": ({}, 0, False, 2),
    "kernels of skills": ({"synthesizer": SynthesizerKind.TUNE}, 0, False, 2),
    "one verdict is left for settings": ({}, 7, False, 1),
    "no verdict is left for settings": ({}, 8, False, 0),
    "the run is greedy": ({"search": "greedy"}, 0, False, 0),
    "the tuner is left out": ({"without": ("tuner",)}, 0, False, 0),
    "by hand": ({"synthesizer": SynthesizerKind.EXTERNAL}, 0, False, 0),
    "the kernel was tuned before": ({}, 0, True, 0),
}


@pytest.mark.parametrize(("plan", "judged", "is_known", "finalists"), PACKED.values(), ids=PACKED)
def test_kernels_of_runs_that_tune_are_packed_to_be_tuned(
    kb: KnowledgeBase, tmp_path: Path, plan: dict[str, Any], judged: int, is_known: bool, finalists: int
) -> None:
    run = tunable(kb, judged=judged, **plan)
    if is_known:
        template = tuned("k").proposal.candidate.template_digest
        run.append(JournalEntry(kind="tried", step=run.step, tried=Tried(template=template, values={"UNROLL": 2})))

    (entry,) = pack_runs(kb, tmp_path / "batch", [run]).entries.values()

    assert (entry.finalists, entry.seed) == (finalists, 7)


def test_a_kernel_without_parameters_is_packed_as_it_is(kb: KnowledgeBase, tmp_path: Path) -> None:
    run = run_with(kb, None, None, names=("k1", "k2"))

    assert pack_runs(kb, tmp_path / "batch", [run]).entries[1].finalists == 0


@pytest.mark.parametrize("parts", [(99,), (99, 99), (1, 99), (4, 4, 9, 99), (18, 99)])
def test_settings_and_verdicts_on_the_best_are_taken_once_also_in_parts(
    kb: KnowledgeBase, tmp_path: Path, parts: tuple[int, ...]
) -> None:
    run = tunable(kb)
    pack_runs(kb, tmp_path / "batch", [run])
    batch = read_batch(tmp_path / "batch")

    for steps in parts:
        verdict = found_by(batch, 1, steps)
        write_verdict(tmp_path / "batch", batch, verdict)
        taken = take(kb, tmp_path / "batch")
        late = ["1 of 1: row-sum for cpu-x86: the tuner has not come to its end"]
        assert [*taken.missing] == ([] if steps == 99 else late)

    now = kb.runs.get(run.id)
    assert [(one.values, one.time_us) for one in now.tried] == [(one.values, one.time_us) for one in verdict.tried]
    assert [one.evidence for one in now.attempts] == [verdict.evidence, *verdict.tuned]
    assert [(one.parent, one.is_tuned, one.author) for one in now.attempts] == [(0, False, "a"), *[(1, True, "a")] * 2]
    assert now.attempts[1].note == f"UNROLL=4, BLOCK=128: among the fastest of {len(now.tried)} settings of candidate 1"
    assert now.attempts[1].candidate.values == BEST
    assert len(now.published) == 1 + (parts[0] < 18), "the best that a take brings becomes a skill"
    entries = now.entries
    assert take(kb, tmp_path / "batch").new == 0
    assert kb.runs.get(run.id).entries == entries
    assert tuning(state_of(now)) == [], "a run that goes on elsewhere tunes it no more"


def screened_run(kb: KnowledgeBase, *kernels: Candidate, evaluations: int) -> Run:
    """A run that searches, with kernels that passed a screen."""
    by = SynthesizerKind.AUTHORS
    run = kb.runs.start(Plan(task=TASK, target="cpu-x86", language="cpp", synthesizer=by, evaluations=evaluations))
    for one in kernels:
        own = Proposal(candidate=one, stage=Stage.DRAFT, author="a")
        run.append(JournalEntry(kind="proposed", step=run.step, proposal=own))
        run.append(JournalEntry(kind="judged", step=run.step, evidence=screened(one)))
    return run


def tuned_batch(folder: Path) -> Batch:
    """Judge and tune all of a batch."""
    batch = read_batch(folder)
    for number in batch.entries:
        write_verdict(folder, batch, found_by(batch, number, 99))
    return batch


def test_of_kernels_that_differ_in_settings_alone_one_is_tuned_and_each_setting_is_taken_once(
    kb: KnowledgeBase, tmp_path: Path
) -> None:
    one = kernel("k", TUNABLE)
    run = screened_run(kb, one, one.with_parameters({"UNROLL": 2}), kernel("other", TUNABLE), evaluations=24)

    pack_runs(kb, tmp_path / "batch", [run])
    batch = tuned_batch(tmp_path / "batch")
    assert [entry.finalists for entry in batch.entries.values()] == [2, 0, 2]
    take(kb, tmp_path / "batch")

    tried = [(one.template, *one.values.items()) for one in kb.runs.get(run.id).tried]
    assert len(tried) == len({*tried}) == 2 * 16


def test_settings_that_a_batch_holds_twice_are_taken_once(kb: KnowledgeBase, tmp_path: Path) -> None:
    one = kernel("k", TUNABLE)
    run = screened_run(kb, one, one.with_parameters({"UNROLL": 2}), evaluations=24)
    entries = [entry_of(run, own).model_copy(update={"finalists": 2}) for own in run.untimed]

    pack(kb, tmp_path / "batch", entries)
    tuned_batch(tmp_path / "batch")
    take(kb, tmp_path / "batch")

    assert len(kb.runs.get(run.id).tried) == 16


def test_the_settings_of_all_kernels_of_a_run_stay_within_its_evaluations(kb: KnowledgeBase, tmp_path: Path) -> None:
    run = screened_run(kb, *(kernel(f"k{n}", TUNABLE) for n in range(4)), evaluations=7)

    pack_runs(kb, tmp_path / "batch", [run])
    batch = tuned_batch(tmp_path / "batch")
    assert [entry.finalists for entry in batch.entries.values()] == [2, 1, 0, 0]
    take(kb, tmp_path / "batch")

    assert len(kb.runs.get(run.id).attempts) == 7


def test_a_run_whose_evaluations_other_batches_spent_takes_settings_only_as_tried(
    kb: KnowledgeBase, tmp_path: Path
) -> None:
    run = screened_run(kb, kernel("k1", TUNABLE), kernel("k2", TUNABLE), evaluations=4)
    for name, own in zip(("one", "two"), run.untimed, strict=True):
        pack(kb, tmp_path / name, [entry_of(run, own).model_copy(update={"finalists": 2})])
        tuned_batch(tmp_path / name)
        take(kb, tmp_path / name)

    now = kb.runs.get(run.id)
    assert (len(now.attempts), len(now.tried), now.ended) == (4, 2 * 16, "all evaluations are spent")
    assert now.attempts[1].evidence.timing, "its own verdict is taken all the same"


def test_settings_whose_signature_is_wrong_are_not_taken(kb: KnowledgeBase, tmp_path: Path) -> None:
    run = tunable(kb)
    pack_runs(kb, tmp_path / "batch", [run])
    batch = read_batch(tmp_path / "batch")
    write_verdict(tmp_path / "batch", batch, found_by(batch, 1, 99), key="another")

    assert ["is damaged, or not signed" in line for line in take(kb, tmp_path / "batch").missing] == [True]
    assert (kb.runs.get(run.id).tried, kb.runs.get(run.id).attempts) == ((), ())


def test_evidence_of_a_batch_is_that_of_the_candidate(kb: KnowledgeBase, tmp_path: Path) -> None:
    (run,) = runs_of(pack_candidates(kb, tmp_path / "batch", TASK, "x86", [proposal("right")]))
    batch = judged(tmp_path / "batch")

    take(kb, tmp_path / "batch")

    assert kb.runs.get(run).attempts[0].evidence == evidence_on(batch.entries[1])

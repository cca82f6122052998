"""A batch tunes the kernels of runs that tune: each setting is timed once, however often the judge is stopped."""

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from eval.batch import here
from eval.batch.here import job_of
from eval.batch.judge import judge_batch
from eval.batch.pack import Batch, BatchVerdict, read_batch, read_verdict, write_batch
from eval.pool import cards, judging
from eval.pool.steps import next_step
from eval.worker.gpu_driver import SHARE
from kb.errors import BatchError, JudgeError, KbError, TaskError
from kb.tuner import LEAST_POINTS, VERDICTS
from kb.types.evidence import Took
from tests.eval.batches import (
    GPUS,
    FakeJudge,
    batch_of,
    entry,
    found_by,
    judge_in_this_process,
    text_of,
    tuned,
    write_verdict,
)
from tests.eval.judging import FORKING, needs_linux
from tests.runs.fakes import BEST, TASK

pytestmark = needs_linux
SETTINGS = 16
OTHER = TASK.model_copy(update={"name": "other", "source": f"{TASK.source}# other\n"})
ABOUT = "1 of 1: row-sum for cpu-x86: "
PASSED = f"{ABOUT}passed, 2.20x eager"
ONE = batch_of(tuned("right"))


@pytest.fixture
def judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """What the fake judge of this machine, which has a CPU and two H100, has done since it was last asked."""
    monkeypatch.setattr(here, "LocalJudge", FakeJudge)
    monkeypatch.setattr(FakeJudge, "log", tmp_path / "log", raising=False)
    monkeypatch.setattr(FakeJudge, "environments", [])
    monkeypatch.setattr(FakeJudge, "broken", {})
    monkeypatch.setattr(cards, "present_gpus", lambda: GPUS)

    def judged() -> list[str]:
        lines = (tmp_path / "log").read_text().splitlines()
        (tmp_path / "log").write_text("")
        return [line for line in lines if not line.endswith(("row-sum", "other"))]

    return judged


def packed(tmp_path: Path, batch: Batch) -> Path:
    write_batch(batch, tmp_path / "batch")
    return tmp_path / "batch"


def found(folder: Path, number: int = 1) -> BatchVerdict:
    verdict = read_verdict(folder, read_batch(folder), number)
    assert verdict
    return verdict


def quick(lines: list[str]) -> list[str]:
    return [line for line in lines if " quick " in line]


def test_settings_of_a_kernel_that_passed_are_timed_once_and_the_best_judged_in_full(
    tmp_path: Path, judged: Callable[[], list[str]]
) -> None:
    folder, told = packed(tmp_path, ONE), list[str]()

    assert judge_batch(folder, told.append) == 0

    lines = judged()
    assert lines[:2] == ["cpu right UNROLL=1 BLOCK=64", "cpu quick right UNROLL=1 BLOCK=64"]
    assert len(quick(lines)) == len({*quick(lines)}) == SETTINGS
    assert lines[-2] == "cpu right UNROLL=4 BLOCK=128"
    assert told == [PASSED, f"{ABOUT}{SETTINGS} settings timed, the best passed, 3.00x eager"]
    assert [len(found(folder).tried), len(found(folder).tuned)] == [SETTINGS, 2]
    best = ONE.entries[1].proposal.candidate.with_parameters(BEST)
    assert found(folder).tuned[0].candidate_digest == best.digest
    assert (judge_batch(folder, told.append), judged(), len(told)) == (0, [], 2)


@pytest.mark.parametrize(
    "one",
    [entry("right"), tuned("wrong"), tuned("busy"), tuned("right").model_copy(update={"finalists": 0})],
    ids=["no parameters", "refused", "no time that counts", "its run does not tune it"],
)
def test_nothing_else_is_tuned(tmp_path: Path, judged: Callable[[], list[str]], one: object) -> None:
    judge_batch(packed(tmp_path, batch_of(one)), lambda line: None)  # type: ignore[arg-type]

    assert quick(judged()) == []


def test_no_more_settings_are_judged_than_the_run_has_verdicts_left(tmp_path: Path, judged: Callable) -> None:
    folder = packed(tmp_path, batch_of(tuned("right").model_copy(update={"finalists": 1})))

    judge_batch(folder, lambda line: None)
    assert len(found(folder).tuned) == 1


@pytest.mark.parametrize(("each_s", "timed"), [(0.1, SETTINGS), (1.0, 13), (100.0, LEAST_POINTS)])
def test_quick_timings_take_at_most_as_long_as_the_verdicts(each_s: float, timed: int) -> None:
    took = Took(compile_s=1.0, baselines_s=0.0, judge_s=12 / VERDICTS - 1)
    whole = found_by(ONE, 1, 1 + SETTINGS)
    assert whole.evidence
    evidence = whole.evidence.model_copy(update={"took": took})
    tried = tuple(one.model_copy(update={"took_s": each_s}) for one in whole.tried)
    seen = [whole.model_copy(update={"evidence": evidence, "tried": tried[:n]}) for n in range(SETTINGS + 1)]

    steps = [next_step(job_of(ONE, 1), one) for one in seen]
    assert sum(bool(step and step.is_quick) for step in steps) == timed


@pytest.mark.parametrize("kills", [3, pytest.param(15, marks=pytest.mark.slow)])
def test_a_judge_that_is_killed_at_any_moment_loses_no_setting_and_times_none_twice(tmp_path: Path, kills: int) -> None:
    entries = [tuned(f"{target}-{n}", target=target) for target in ("h100", "cpu-x86") for n in range(2)]
    batch, log, chance = batch_of(*entries), tmp_path / "log", random.Random(kills)
    folder = packed(tmp_path, batch)
    log.touch()
    known: dict[int, tuple[str, ...]] = {}
    for number in range(kills + 1):
        before = len(log.read_text())
        process = FORKING.Process(target=judge_in_this_process, args=(folder, log, 0.02))
        process.start()
        process.join(None if number == kills else 0.1 + chance.random() * 0.3)
        process.kill()
        process.join()

        again = {line.partition(" ")[2] for line in log.read_text()[before:].splitlines()}
        assert not {line for lines in known.values() for line in lines} & again
        for n in batch.entries:
            lines = done(batch, read_verdict(folder, batch, n))
            assert lines[: len(known.get(n, ()))] == known.get(n, ())
            known[n] = lines
    assert [len(lines) for lines in known.values()] == [1 + SETTINGS + 2] * len(entries)


def done(batch: Batch, verdict: BatchVerdict | None) -> tuple[str, ...]:
    """The lines that the fake judge wrote for what a verdict holds."""
    if verdict is None or verdict.evidence is None:
        return ()
    kernel = batch.entries[verdict.number].proposal.candidate
    kernels = [kernel.with_parameters(one.values) for one in verdict.tried]
    by_digest = {one.digest: one for one in (kernel, *kernels)}
    full = [text_of(by_digest[one.candidate_digest]) for one in (verdict.evidence, *verdict.tuned)]
    return (full[0], *(f"quick {text_of(one)}" for one in kernels), *full[1:])


def test_a_setting_that_ends_the_judge_costs_no_verdict_and_no_setting_and_is_timed_no_more(
    tmp_path: Path, judged: Callable[[], list[str]]
) -> None:
    folder, told = packed(tmp_path, batch_of(tuned("breaks"), entry("right"))), list[str]()

    assert judge_batch(folder, told.append) == 1
    first, count = judged(), len(found(folder).tried)
    died = f"{count} settings timed, then the tuner stopped: the judge died (exit status -9)"
    assert told == [PASSED.replace("1 of 1", "1 of 2"), f"1 of 2: row-sum for cpu-x86: {died}", told[2]]
    assert first[-1] == "cpu right"

    lines = quick(first)
    for starts_left in range(SETTINGS // 4 - 2, -1, -1):
        assert judge_batch(folder, told.append) == 1
        lines += (later := judged())
        assert later == quick(later), "it judges nothing again"
        assert sum(one.time_us is None for one in found(folder).tried) == SETTINGS // 4 - starts_left
    assert judge_batch(folder, told.append) == 0
    lines += quick(judged())
    assert len(lines) == len({*lines}) == SETTINGS
    assert len(found(folder).tuned) == 2


@pytest.mark.parametrize(
    ("at", "error"), [("__enter__", JudgeError("no room", hint="")), ("estimate", TaskError("no inputs", hint=""))]
)
def test_no_setting_is_refused_because_its_judge_does_not_start_or_the_task_fails(
    tmp_path: Path, judged: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch, at: str, error: KbError
) -> None:
    def fail(*_: object) -> None:
        raise error

    folder = packed(tmp_path, ONE)
    write_verdict(folder, ONE, before := found_by(ONE, 1, 5))
    monkeypatch.setattr(FakeJudge, at, fail)

    assert judge_batch(folder, lambda line: None) == 1
    assert found(folder) == before.model_copy(update={"failure": error.message})


def test_settings_that_the_machine_was_too_busy_to_judge_are_judged_again_at_the_next_start(
    tmp_path: Path, judged: Callable[[], list[str]]
) -> None:
    folder, told = packed(tmp_path, batch_of(tuned("hectic"))), list[str]()

    for _ in range(3):
        assert judge_batch(folder, told.append) == 1
        again = f"{SETTINGS} settings timed, the best passed; the machine was busy, so the next start times it again"
        assert told[-1] == f"{ABOUT}{again}"
    lines = judged()
    assert len(quick(lines)) == SETTINGS
    assert lines[-3:] == [f"cpu hectic UNROLL=4 BLOCK={block}" for block in (128, 32, 128)]
    assert len(found(folder).tuned) == 2


def test_settings_without_a_verdict_are_judged_before_one_for_which_the_machine_was_too_busy() -> None:
    judged = found_by(ONE, 1, 99)
    busy = found_by(batch_of(tuned("hectic")), 1, 99).tuned[0]
    first = judged.tuned[0].model_copy(update={"timing": busy.timing})
    assert first.untimed

    found = [judged.model_copy(update={"tuned": tuned}) for tuned in ((first,), (first, judged.tuned[1]))]
    steps = [next_step(job_of(ONE, 1), one) for one in found]
    assert [step and step.kernel.digest for step in steps] == [one.candidate_digest for one in reversed(judged.tuned)]


def test_what_other_judges_of_the_gpu_may_have_refused_is_timed_again_by_one_alone(
    tmp_path: Path, judged: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judging, "usable_cores", lambda: [min(os.sched_getaffinity(0))] * 16)
    monkeypatch.setattr(cards, "present_gpus", lambda: {"one": GPUS["one"]})
    folder = packed(tmp_path, batch_of(tuned("refuses", target="h100"), entry("right", target="h100", task=OTHER)))

    assert judge_batch(folder, lambda line: None) == 0

    assert [SHARE in each for each in FakeJudge.environments] == [True, True, False]
    lines = quick(judged())
    assert len(lines) == SETTINGS + 1, "one setting is timed twice, and no other"
    assert sum(one.time_us is None for one in found(folder).tried) == SETTINGS // 4


def test_settings_that_a_failing_card_timed_are_withdrawn_with_its_verdict(
    tmp_path: Path, judged: Callable[[], list[str]]
) -> None:
    tasks = [TASK.model_copy(update={"source": f"{TASK.source}# {n}\n"}) for n in range(2)]
    folder = packed(tmp_path, batch_of(*(tuned(f"k{n}", target="h100", task=task) for n, task in enumerate(tasks))))
    FakeJudge.broken["two"] = 0

    assert judge_batch(folder, lambda line: None) == 0
    for number in (1, 2):
        evidence = [found(folder, number).evidence, *found(folder, number).tuned]
        assert len(evidence) == 3
        assert all(one and one.passed for one in evidence)
    assert len(quick(judged())) == 2 * SETTINGS


def test_a_failing_card_costs_none_of_what_an_earlier_start_found(
    tmp_path: Path, judged: Callable[[], list[str]]
) -> None:
    folder, told = packed(tmp_path, ONE), list[str]()
    write_verdict(folder, ONE, before := found_by(ONE, 1, 5))
    FakeJudge.broken["cpu"] = 0

    assert judge_batch(folder, told.append) == 1

    assert len(quick(judged())) == SETTINGS - 4
    assert found(folder).model_copy(update={"failure": ""}) == before
    assert told[-1].startswith(f"{ABOUT}4 settings timed, then the tuner stopped: no ")


WHOLE = found_by(ONE, 1, 99)
ELSEWHERE = found_by(batch_of(tuned("right", target="h100")), 1, 99)
ANOTHER = found_by(batch_of(tuned("left")), 1, 99)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"tuned": ELSEWHERE.tuned}, "is on another task, candidate or target"),
        ({"tuned": ANOTHER.tuned}, "is on another task, candidate or target"),
        ({"tried": ANOTHER.tried}, "is on another task, candidate or target"),
        ({"tried": WHOLE.tried[:1]}, "is on another task, candidate or target"),
        ({"judge": "0" * 64}, "is by another version of the judge"),
    ],
    ids=["another target", "another candidate", "settings of another", "a setting not tried", "another judge"],
)
def test_settings_of_another_candidate_target_or_judge_do_not_count(
    tmp_path: Path, judged: Callable[[], list[str]], changes: dict[str, object], why: str
) -> None:
    folder, told = packed(tmp_path, ONE), list[str]()
    write_verdict(folder, ONE, WHOLE.model_copy(update=changes))

    with pytest.raises(BatchError, match=why):
        read_verdict(folder, ONE, 1)
    assert judge_batch(folder, told.append) == 0
    assert len(found(folder).tuned) == 2

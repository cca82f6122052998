"""KernelBench: problems and candidates are found by number, results continue, and scores mean what they say."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks.kernelbench.audit import Audit, Usability
from benchmarks.kernelbench.suite import (
    REFERENCE,
    Audited,
    Judged,
    Results,
    find_candidates,
    find_problems,
    reference_as_candidate,
    report,
    run_audits,
    run_judge,
)
from eval.oracle.task import load_task
from kb.errors import JudgeError, SourceError
from kb.types.evidence import Evidence, Outcome
from kb.types.kernels import Candidate, Task
from tests.cli.test_kernels import TASK
from tests.synth.samples import evidence

DIGEST = "0" * 64


def written_suite(folder: Path) -> Path:
    """A folder of problems in KernelBench's layout."""
    for name in ("level1/1_Double.py", "level1/2_Triple.py", "level1/10_Same.py", "level2/1_Other.py"):
        file = folder / "KernelBench" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(TASK.replace("2 * x + 1", "x.clone()") if "Same" in name else f"{TASK}\n# {name}\n")
    return folder


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return written_suite(tmp_path)


def names(suite: Path, levels: Sequence[int], *numbers: int) -> list[str]:
    return [problem.name for problem in find_problems(suite, levels, frozenset(numbers) or None)]


def test_problems_are_found_by_level_and_number(suite: Path) -> None:
    assert names(suite, [1]) == ["level1/1_Double", "level1/2_Triple", "level1/10_Same"]
    assert names(suite / "KernelBench", [2, 1], 1, 5) == ["level2/1_Other", "level1/1_Double"]


@pytest.mark.parametrize(("levels", "number"), [([3], 1), ([1], 7)])
def test_a_level_or_problem_that_is_not_there_is_refused(suite: Path, levels: list[int], number: int) -> None:
    with pytest.raises(SourceError):
        names(suite, levels, number)


def test_candidates_are_files_or_folders_named_by_the_problem(suite: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    for name in ("1_double.py", "1_notes.txt", "10_same.cpp", "2/first.py", "2/second.cpp", "level2/1.py"):
        (mine / name).parent.mkdir(parents=True, exist_ok=True)
        (mine / name).write_text("")

    found = {p.name: [f.name for f in find_candidates(p, mine)] for p in find_problems(suite, [1, 2], None)}

    assert found == {
        "level1/1_Double": ["1_double.py"],
        "level1/2_Triple": ["first.py", "second.cpp"],
        "level1/10_Same": ["10_same.cpp"],
        "level2/1_Other": ["1.py"],
    }


def audited(problem: str, verdict: Usability = Usability.USABLE) -> Audited:
    return Audited(problem=problem, audit=Audit(task="made-up", task_digest=DIGEST, verdict=verdict))


def judged(problem: str, outcome: Outcome | None = Outcome.PASSED, *, low: float = 1.0, **fields: object) -> Judged:
    return Judged(
        problem=problem, task_digest=DIGEST, target="cpu-x86", file="1.py", candidate_digest=DIGEST, outcome=outcome,
        detail="", speedup=low * 1.05, low=low, high=low * 1.1, won=low > 1.03, seconds=1.0, **fields,
    )  # fmt: skip


def test_fast_p_counts_wins_over_all_usable_problems() -> None:
    problems = [f"p{n}" for n in range(6)]
    lines = [
        *map(audited, problems[:5]),
        audited("p5", Usability.REFUSED),
        judged("p0", low=1.01),
        judged("p1", low=1.3),
        judged("p2", low=2.5),
        judged("p3", Outcome.INCORRECT, low=9.0),
        judged("p5", low=9.0),
    ]

    found = report(lines, problems)

    assert (found.problems, found.correct, found.without_candidate) == (5, 3, 1)
    assert {f.speedup: f.share for f in found.fast} == {1.0: 0.4, 1.2: 0.4, 1.5: 0.2, 2.0: 0.2}
    assert all(f.low <= f.share <= f.high for f in found.fast)
    assert found.outcomes == {"passed": 3, "incorrect": 1}
    assert found.audits == {"usable": 5, "refused": 1}


def test_the_best_of_several_candidates_counts_and_the_last_verdict_on_each() -> None:
    lines = [
        audited("p0"),
        judged("p0", low=3.0),
        judged("p0", low=1.1),  # the same file, judged again
        judged("p0", low=1.6).model_copy(update={"file": "2.py"}),
    ]

    found = report(lines, ["p0"])

    assert [f.share for f in found.fast] == [1.0, 1.0, 1.0, 0.0]


def test_results_continue_after_a_line_that_was_cut(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    results = Results(file)
    results.add(audited("p0"))
    results.add(judged("p0"))
    os.truncate(file, file.stat().st_size - 10)

    again = Results(file)
    again.add(judged("p1"))

    assert [line.problem for line in Results(file).lines] == ["p0", "p1"]


def test_results_of_earlier_versions_are_read(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    line = audited("p0").model_dump(mode="json")
    line["audit"]["operations"] = 8
    file.write_text("".join(json.dumps(each) + "\n" for each in (line, judged("p0", floor_us=1.0).model_dump())))

    assert len(Results(file).lines) == 2


def test_a_file_that_is_no_file_of_results_is_refused_and_kept(tmp_path: Path) -> None:
    file = tmp_path / "notes.jsonl"
    file.write_text("my notes\nend")
    with pytest.raises(SourceError, match="not a file of results"):
        Results(file)
    assert file.read_text() == "my notes\nend"


def test_what_a_file_has_is_not_done_again(suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks: list[Task] = []

    def audit(task: Task) -> Audit:
        tasks.append(task)
        return Audit(task=task.name, task_digest=task.digest, verdict=Usability.USABLE)

    monkeypatch.setattr("benchmarks.kernelbench.suite.audit", audit)
    problems = find_problems(suite, [1], None)
    run_audits(problems[:2], Results(tmp_path / "r.jsonl"), lambda line: None)
    results = Results(tmp_path / "r.jsonl")
    run_audits(problems, results, lambda line: None)

    assert len(tasks) == 3
    results.add(judged("p").model_copy(update={"task_digest": tasks[0].digest}))
    kernel = Candidate(language="torch", source="")
    assert not results.has(tasks[0], kernel, "cpu-x86")
    results.add(judged("p").model_copy(update={"task_digest": tasks[0].digest, "candidate_digest": kernel.digest}))
    assert results.has(tasks[0], kernel, "cpu-x86")
    assert not results.has(tasks[0], kernel, "mi300x")


class FakeKnowledgeBase:
    """Lets the candidates pass whose source says so."""

    def __init__(self) -> None:
        self.judged: list[tuple[str, str]] = []

    def verify(self, task: Task, candidate: Candidate, target: str) -> Evidence:
        self.judged.append((task.name, target))
        if "die" in candidate.source:
            raise JudgeError("the judge died", hint="")
        return evidence(candidate, speedup=1.5) if "right" in candidate.source else evidence(candidate)


def test_candidates_get_one_verdict_and_only_on_usable_problems(suite: Path, tmp_path: Path) -> None:
    mine, kb, told = tmp_path / "mine", FakeKnowledgeBase(), list[Audited | Judged]()
    mine.mkdir()
    for name, source in (("1_a.cpp", "right"), ("2_b.cpp", "die"), ("10_c.cpp", "right")):
        (mine / name).write_text(source)
    (mine / "2_broken.cpp").write_bytes(b"\xff\xfe\xff")
    problems, results = find_problems(suite, [1], None), Results(tmp_path / "r.jsonl")
    for problem in problems:
        task = load_task(problem.path)
        verdict = Usability.REFUSED if "Same" in problem.name else Usability.USABLE
        results.add(
            Audited(problem=problem.name, audit=Audit(task=task.name, task_digest=task.digest, verdict=verdict))
        )

    for _ in range(2):
        run_judge(kb, problems, results, target="cpu-x86", candidates=mine, tell=told.append)

    assert kb.judged == [("1-double", "cpu-x86"), ("2-triple", "cpu-x86"), ("2-triple", "cpu-x86")]
    assert [(j.file, j.outcome, j.speedup) for j in told[:2]] == [
        ("1_a.cpp", Outcome.PASSED, 1.5),
        ("2_b.cpp", None, None),
    ]
    assert [j.file for j in told[2:]] == ["2_broken.cpp", "2_b.cpp", "2_broken.cpp"], (
        "what has no verdict is tried again"
    )


def test_without_candidates_the_references_are_judged_which_times_the_baselines(suite: Path) -> None:
    kb, told, results = FakeKnowledgeBase(), list[Audited | Judged](), Results(None)
    [problem] = find_problems(suite, [1], frozenset({1}))
    task = load_task(problem.path)
    audit = Audit(task=task.name, task_digest=task.digest, verdict=Usability.USABLE)
    results.add(Audited(problem=problem.name, audit=audit))

    run_judge(kb, [problem], results, target="cpu-x86", candidates=None, tell=told.append)

    assert [(j.file, j.candidate_digest) for j in told] == [(REFERENCE, reference_as_candidate(task).digest)]

"""A batch is judged in shares of whole tasks, and a kernel that several runs have is judged and tuned once for all."""

import json
from pathlib import Path

import pytest

from benchmarks import arms_judge
from benchmarks.arms_judge import TUNED, TuningJudge, dealt
from eval.judge.driver import LocalJudge
from kb.types.evidence import Estimate, Evidence
from kb.types.kernels import Candidate, Task
from kb.types.protocols import Proposal
from tests.eval.batches import batch_of, entry
from tests.runs.fakes import candidate, evidence_of, speedup_of


def test_the_shares_of_a_batch_have_all_candidates_and_no_task_is_in_two() -> None:
    tasks = [Task(name=f"task-{number}", source=f"# {number}\n") for number in range(3)]
    batch = batch_of(*(entry(f"{number}", task=tasks[number % 3]) for number in range(9)))

    shares = [dealt(batch, number, 2).entries for number in (1, 2)]
    assert sorted(place for share in shares for place in share) == [*range(1, 10)]
    names = [{one.task.name for one in share.values()} for share in shares]
    assert names[0].isdisjoint(names[1])


def test_a_kernel_of_two_runs_is_judged_and_tuned_once_for_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged = list[str]()

    def verify(_: LocalJudge, kernel: Candidate) -> Evidence:
        judged.append(kernel.digest)
        return evidence_of(kernel)

    monkeypatch.setattr(LocalJudge, "verify", verify)
    monkeypatch.setattr(LocalJudge, "estimate", lambda _, kernel: Estimate(time_us=100 / speedup_of(kernel)))
    monkeypatch.setattr(LocalJudge, "close", lambda _: None)
    monkeypatch.setattr(arms_judge, "HERE", tmp_path)
    slow = candidate(UNROLL=1, BLOCK=256)
    proposal = Proposal(candidate=slow).model_dump(mode="json")
    wanted = {slow.digest: [{"run": run, "number": 1, "seed": 0, "proposal": proposal} for run in ("a", "b")]}
    monkeypatch.setattr(TuningJudge, "wanted", wanted, raising=False)

    with TuningJudge.__new__(TuningJudge) as judge:
        assert judge.verify(slow) == judge.verify(slow)

    lines = [json.loads(line) for line in (tmp_path / TUNED).read_text(encoding="utf-8").splitlines()]
    own = {run: [line | {"run": ""} for line in lines if line["run"] == run] for run in ("a", "b")}
    assert own["a"] == own["b"]
    assert [judged.count(digest) for digest in {*judged}] == [1] * 3, "the kernel, and its two best settings"

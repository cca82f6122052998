"""The judge in its own process gives complete verdicts; a problem that is not the candidate's fault is an error."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from eval.judge import driver
from eval.judge.driver import LocalJudge
from eval.judge.task_judge import TaskJudge
from eval.machine import sandbox_level
from eval.selftest.known import WRONG
from kb.errors import JudgeError, KbError, TaskError
from kb.types.evidence import Evidence, Grade, Outcome
from kb.types.kernels import Candidate, Task
from kb.types.target import Isa
from tests.eval.judging import candidate, is_alive, needs_compiler, needs_linux, task

pytestmark = needs_linux

HERE_ISA = Isa("cpu", os.uname().machine)
TRITON = Candidate(language="triton", source="import triton")


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def judge_for(subject: Task, cache: Path, *, isa: Isa | None = HERE_ISA, call_s: float = 60.0) -> LocalJudge:
    return LocalJudge(subject, target="cpu", isa=isa, facts=[], cache=cache, call_s=call_s)


@pytest.mark.alone
@needs_compiler
def test_one_judge_judges_several_candidates_whatever_the_working_directory(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("eval.py", "torch.py"):
        (tmp_path / name).write_text("raise SystemExit('not this one')\n")
    monkeypatch.chdir(tmp_path)

    with judge_for(task("row_sum"), tmp_path) as judge:
        wrong = judge.verify(candidate(WRONG / "special_cases_size.cpp"))
        right = judge.verify(ROW_SUM)
        with pytest.raises(JudgeError, match="a triton candidate cannot be judged for cpu"):
            judge.verify(TRITON)
        broken = judge.verify(candidate(WRONG / "does_not_compile.cpp"))

        assert [str(spec) for spec in judge.interface.inputs] == ["x: float32[100, 320]"]
    assert (wrong.outcome, wrong.grade, wrong.timing) == (Outcome.INCORRECT, None, None)
    assert "ROWS" in wrong.detail, "the case is named"
    assert broken.outcome is Outcome.COMPILE_ERROR
    assert (right.outcome, right.grade) == (Outcome.PASSED, Grade.MEASURED), right
    assert right.candidate_digest == ROW_SUM.digest
    assert right.task_digest == task("row_sum").digest
    assert len({case.name for case in right.cases}) > 4
    assert right.took
    assert min(right.took.compile_s, right.took.baselines_s, right.took.judge_s) > 0
    assert broken.took
    assert broken.took.compile_s > broken.took.baselines_s == 0.0, "the baselines ran already"
    assert right.timing
    assert right.timing.low <= right.timing.speedup
    assert 0 < right.timing.memory_bytes < right.timing.baseline_memory_bytes, "only the baseline loads torch"
    assert right.sandbox_level == sandbox_level()
    assert Evidence.model_validate_json(right.model_dump_json()) == right
    assert list(temporary.iterdir()) == []


ROW_SUM = Candidate(
    language="cpp",
    source="""
#include "kb_tensor.h"
extern "C" void model_new(const Tensor *inputs, const Tensor *, const double *, Tensor *outputs) {
    const float *x = (const float *)inputs[0].data;
    const int64_t rows = inputs[0].shape[0], cols = inputs[0].shape[1];
    for (int64_t row = 0; row < rows; row++) {
        long double sum = 0;  // slow, so that one session shows that it is not a win
        for (int64_t i = 0; i < cols; i++) sum += x[row * cols + i];
        ((float *)outputs[0].data)[row] = sum;
    }
}
""",
)


def test_a_reference_that_raises_is_a_task_error() -> None:
    source = task("row_sum").source.replace("return x.sum(dim=-1)", "raise ValueError('no rows')")

    with pytest.raises(TaskError, match="no rows") as caught:
        TaskJudge(Task(name="broken", source=source), "cpu", HERE_ISA, [], call_s=60.0)

    assert caught.value.hint


@pytest.mark.parametrize("isa", [None, Isa("sparc", "v9", 64)])
def test_a_target_without_a_compiler_is_refused_at_once(tmp_path: Path, isa: Isa | None) -> None:
    with pytest.raises(JudgeError, match="no compiler for cpu"):
        judge_for(task("row_sum"), tmp_path, isa=isa)


REFUSED = {
    "Triton on a CPU": (HERE_ISA, TRITON, "a triton candidate cannot be judged for cpu"),
    "C++ for a GPU": (Isa("hip", "gfx942", 64), ROW_SUM, "a cpp candidate cannot be judged for cpu"),
    "C++ for another CPU": (Isa("cpu", "sparc64"), ROW_SUM, "knows no compiler for cpu"),
}


@pytest.mark.parametrize(("isa", "subject", "message"), REFUSED.values(), ids=REFUSED)
def test_a_language_that_does_not_fit_the_target_or_machine_is_an_error_and_not_a_verdict(
    isa: Isa, subject: Candidate, message: str
) -> None:
    with pytest.raises(JudgeError, match=message):
        TaskJudge(task("row_sum"), "cpu", isa, [], call_s=60.0).verify(subject)


def test_a_task_without_sizes_to_change_is_tried_on_other_values() -> None:
    source = task("clone").source.replace("COLS = 1000", "").replace("COLS", "1000")
    judge = TaskJudge(Task(name="clone", source=source), "cpu", HERE_ISA, [], call_s=60.0)

    assert any("signs" in case.name for case in judge._cases.for_candidate())


@dataclass
class Verifying:
    """A judge that is judging a candidate that hangs."""

    judge: LocalJudge
    worker: int
    """Process id of the worker."""
    thread: threading.Thread
    errors: list[Exception]

    def ended(self) -> Exception:
        self.thread.join(30)
        [error] = self.errors
        return error


@pytest.fixture
def verifying(tmp_path: Path, temporary: Path) -> Iterator[Verifying]:
    judge = judge_for(task("scale"), tmp_path)
    errors: list[Exception] = []

    def verify() -> None:
        try:
            judge.verify(HANGS)
        except (KbError, OSError) as error:  # OSError if the judge is closed meanwhile
            errors.append(error)

    thread = threading.Thread(target=verify)
    thread.start()
    yield Verifying(judge, _first(lambda: _worker_of(judge._process.pid, temporary)), thread, errors)
    judge.close()
    thread.join()


HANGS = Candidate(
    language="cpp",
    source="""
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "kb_tensor.h"
extern "C" void model_new(const Tensor *, const Tensor *, const double *, Tensor *) {
    close(open("hangs", O_CREAT | O_WRONLY, 0600));
    sleep(100);
}
""",
)


def _worker_of(judge: int, temporary: Path) -> int | None:
    """Process id of the judge's worker, once the candidate hangs."""
    if (hangs := next(temporary.glob("*/hangs"), None)) is None:
        return None
    children = Path(f"/proc/{judge}/task/{judge}/children").read_text(encoding="utf-8").split()
    return next((int(pid) for pid in children if Path(f"/proc/{pid}/cwd").resolve() == hangs.parent), None)


def _first(find: Callable[[], int | None]) -> int:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if found := find():
            return found
        time.sleep(0.05)
    raise AssertionError("the candidate was not called")


@needs_compiler
def test_killing_the_judge_ends_its_worker_and_is_an_error(verifying: Verifying) -> None:
    verifying.judge._process.send_signal(signal.SIGKILL)

    assert isinstance(verifying.ended(), JudgeError)
    assert not is_alive(verifying.worker)
    with pytest.raises(JudgeError, match="died"):
        verifying.judge.verify(ROW_SUM)


@pytest.mark.slow
@needs_compiler
def test_closing_the_judge_ends_its_worker_and_removes_its_files(verifying: Verifying, temporary: Path) -> None:
    verifying.judge.close()

    assert not is_alive(verifying.worker)
    assert list(temporary.iterdir()) == []


LATE_JUDGE = """#!{python}
import json, sys, time
questions, answers = open(int(sys.argv[-2])), open(int(sys.argv[-1]), "w")
interface = {{"inputs": [], "state": [], "outputs": [], "init": []}}
for number, question in enumerate(questions):
    time.sleep(1 if number else 0)
    print(json.dumps({{"interface": interface}} if number == 0 else {{"evidence": "late"}}), file=answers, flush=True)
"""


def test_a_late_answer_is_not_taken_for_the_answer_to_the_next_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "judge"
    fake.write_text(LATE_JUDGE.format(python=sys.executable))
    fake.chmod(0o755)
    monkeypatch.setattr(driver.sys, "executable", str(fake))

    with judge_for(task("scale"), tmp_path) as judge:
        monkeypatch.setattr(driver, "ANSWER_S", 0.3)
        with pytest.raises(JudgeError, match=r"no verdict within 0\.3 s"):
            judge.verify(ROW_SUM)
        monkeypatch.setattr(driver, "ANSWER_S", 30.0)
        with pytest.raises(JudgeError, match="died"):
            judge.verify(ROW_SUM)


def test_a_closed_judge_can_be_closed_again_and_does_not_judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "judge"
    fake.write_text(LATE_JUDGE.format(python=sys.executable))
    fake.chmod(0o755)
    monkeypatch.setattr(driver.sys, "executable", str(fake))
    judge = judge_for(task("scale"), tmp_path)

    judge.close()
    judge.close()

    with pytest.raises(JudgeError):
        judge.verify(ROW_SUM)

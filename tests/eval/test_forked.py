"""Workers that are forked from a process which has loaded torch: they start afresh, alone, and end with their judge."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from eval.languages.registry import TORCH
from eval.selftest.known import WRONG
from eval.supervisor.forked import ForkedWorker, Zygote, zygote_for
from eval.supervisor.process import WorkerProcess
from eval.supervisor.settings import ALL_GUARDS, WorkerSettings
from eval.worker.fault import Fault
from eval.worker.zygote import Handles
from kb.errors import JudgeError
from kb.types.evidence import Outcome
from kb.types.kernels import Candidate
from tests.eval.judging import given_case, is_alive, judge, needs_linux, needs_sandbox, trial_of

pytestmark = needs_linux
LEAVES_A_CHILD = """
import sys
from eval.languages.registry import TORCH
from eval.machine import sandbox_level
from eval.selftest.known import WRONG, known_task, read_candidate
from eval.oracle.cases import make_case
from eval.oracle.reference import Reference
from eval.supervisor.trial import Trial
task = known_task("scale")
reference = Reference(task, seed=1)
case = make_case("given", reference, reference.inputs(2))
trial = Trial(read_candidate(WRONG / "forks.py"), language=TORCH, level=sandbox_level())
with trial.worker() as worker:
    trial.build(worker, reference, case)
    worker.let_run(2)
    print(worker.pid, worker.log, flush=True)
    sys.stdin.read()
"""
WORKER = """
import sys
from eval.languages.registry import TORCH
from eval.supervisor.process import WorkerProcess
from eval.supervisor.settings import WorkerSettings
from kb.types.kernels import Candidate
worker = WorkerProcess(WorkerSettings(language=TORCH, level=0, call_s=9))
worker.give(Candidate(language="torch", source="")).__enter__()
print(worker.pid, flush=True)
sys.stdin.read()
"""
MARKS = """
import sys
import torch
assert not hasattr(torch, "mark"), "another candidate was here"
torch.mark = True

class ModelNew(torch.nn.Module):
    def forward(self, x):
        return 2 * x + 1
"""
SECCOMP = """{
    line.split()[1] for thread in os.listdir("/proc/self/task") for line in open(f"/proc/self/task/{thread}/status")
    if line.startswith("Seccomp:")
}"""


def worker() -> WorkerProcess:
    started = WorkerProcess(WorkerSettings(language=TORCH, level=0, call_s=20))
    return started.give(Candidate(language="torch", source="# nothing"))


def test_a_forked_worker_has_only_its_own_handles() -> None:
    with worker() as started:
        handles = [os.readlink(f"/proc/{started.pid}/fd/{name}") for name in os.listdir(f"/proc/{started.pid}/fd")]  # noqa: PTH115, PTH208

    kinds = sorted(handle.split(":")[0].rpartition("/")[2] for handle in handles)
    assert kinds == ["log", "log", "memfd", "null", "pipe", "pipe"]


def test_forked_workers_start_afresh(tmp_path: Path) -> None:
    (tmp_path / "marks.py").write_text(MARKS)

    for _ in range(2):
        assert judge(tmp_path / "marks.py", "scale").outcome is Outcome.PASSED


def test_forked_workers_have_different_random_numbers(tmp_path: Path) -> None:
    shows = MARKS.replace("torch.mark = True", "import random\nprint(random.random())")
    (tmp_path / "shows.py").write_text(shows)

    first, second = (judge(tmp_path / "shows.py", "scale").log for _ in range(2))

    assert float(first) != float(second)


def test_workers_of_one_process_have_the_numbers_of_threads_that_they_are_told(tmp_path: Path) -> None:
    (tmp_path / "shows.py").write_text(MARKS.replace("torch.mark = True", "print(torch.get_num_threads())"))
    trial = trial_of(tmp_path / "shows.py", ALL_GUARDS)

    told = [replace(trial, threads=count).check([given_case("scale")], []) for count in (1, 3)]

    assert told == ["1\n", "3\n"]
    assert len({zygote_for(TORCH.preload, {"OMP_NUM_THREADS": count}) for count in "13"}) == 1


@needs_sandbox
def test_no_thread_of_a_worker_is_outside_its_sandbox(tmp_path: Path) -> None:
    shows = MARKS.replace("torch.mark = True", f"import os\nprint({SECCOMP})")
    (tmp_path / "shows.py").write_text(shows)
    trial = replace(trial_of(tmp_path / "shows.py", ALL_GUARDS), threads=3)

    assert trial.check([given_case("scale")], []) == "{'2'}\n"


def test_the_judge_starts_what_loads_torch_before_it_loads_torch_itself() -> None:
    loads = (
        "import sys, eval.judge.process; from eval.devices.cpu import Cpu; Cpu.prepare(); print('torch' in sys.modules)"
    )

    assert subprocess.check_output([sys.executable, "-c", loads], text=True) == "False\n"


def test_a_zygote_that_cannot_load_a_module_is_a_judge_error(tmp_path: Path) -> None:
    zygote = Zygote(["no_such_module"], {})

    with pytest.raises(JudgeError, match="does not start"):
        fork(zygote, tmp_path)

    zygote.close()


def test_a_zygote_that_does_not_answer_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zygote = Zygote(["eval.worker.fault"], {})
    fork(zygote, tmp_path).wait()
    os.kill(zygote._process.pid, signal.SIGSTOP)
    zygote._socket.settimeout(0.1)

    with pytest.raises(JudgeError, match="timed out"):
        fork(zygote, tmp_path)

    zygote._process.wait()
    assert not zygote.is_alive
    zygote.close()


def test_nobody_waits_for_modules_when_the_worker_is_no_longer_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Zygote, "_ready", lambda _: False)
    answers = iter([True, True, False])
    zygote = Zygote(["eval.worker.fault"], {})

    with pytest.raises(Fault, match="nobody waits"):
        fork(zygote, tmp_path, lambda: next(answers))

    zygote.close()


def fork(zygote: Zygote, folder: Path, wanted: Callable[[], bool] = lambda: True) -> ForkedWorker:
    return zygote.fork(folder, Handles(0, 1, 2, 2), {}, None, wanted)


def test_another_zygote_takes_the_place_of_one_that_was_killed() -> None:
    zygotes = [zygote_for(["eval.worker.fault"], {"NAME": "value"}) for _ in range(2)]
    zygotes[0]._process.kill()
    zygotes[0]._process.wait()

    zygotes.append(zygote_for(["eval.worker.fault"], {"NAME": "value"}))

    assert zygotes[0] is zygotes[1] is not zygotes[2]
    assert zygotes[2].is_alive
    zygotes[2].close()


def test_a_worker_ends_when_its_judge_is_killed() -> None:
    pid = int(when_killed(WORKER))

    assert not is_alive(pid)


@pytest.mark.slow
@needs_sandbox
def test_what_a_candidate_starts_ends_when_its_judge_is_killed() -> None:
    [child] = re.findall(r"left behind: (\d+)", when_killed(LEAVES_A_CHILD))

    try:
        assert not is_alive(int(child))
    finally:
        with suppress(ProcessLookupError):
            os.kill(int(child), signal.SIGKILL)


def when_killed(script: str) -> str:
    """What a judge said before it was killed."""
    command, pipe = [sys.executable, "-c", script], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as judge:
        said = judge.stdout.readline() if judge.stdout else ""
        judge.kill()
    return said


@needs_sandbox
def test_nothing_is_left_of_what_a_candidate_starts() -> None:
    verdict = judge(WRONG / "forks.py", "scale")

    [child] = re.findall(r"left behind: (\d+)", verdict.log)
    assert not Path(f"/proc/{child}").exists()

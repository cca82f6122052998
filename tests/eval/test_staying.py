"""A judge stays for the next command with the same assignment; one that is gone, stuck or another's holds nobody up."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from eval.judge.driver import LocalJudge
from eval.judge.staying import Stay, connected, socket_path
from kb.errors import JudgeError
from kb.types.kernels import Candidate
from kb.types.target import Isa
from kb.usecases import judging
from kb.usecases.knowledge_base import KnowledgeBase
from tests.eval.judging import PATIENCE_S, needs_compiler, needs_linux, task
from tests.eval.test_estimates import row_sum

pytestmark = [needs_linux, needs_compiler]


@pytest.fixture
def stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stay:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    path = socket_path(tmp_path / "home")
    assert path
    return Stay(path, 60)


Start = Callable[..., LocalJudge]


@pytest.fixture
def start(stay: Stay, tmp_path: Path) -> Iterator[Start]:
    pids: list[int] = []

    def start(stay: Stay = stay) -> LocalJudge:
        isa = Isa("cpu", os.uname().machine)
        judge = LocalJudge(task("row_sum"), target="cpu", isa=isa, facts=[], cache=tmp_path, stay=stay)
        pids.extend([judge._process.pid] if judge._process else [])
        return judge

    yield start
    for pid in pids:
        if is_running(pid):
            os.kill(pid, signal.SIGKILL)


def is_running(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] not in "ZX"


def ends(pid: int) -> bool:
    """Whether a process ends soon, on a machine that may be busy."""
    deadline = time.monotonic() + PATIENCE_S
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not is_running(pid)


def left(judge: LocalJudge, stay: Stay) -> int:
    """The process of a judge whose command has ended, once it waits for the next."""
    judge.close()
    deadline = time.monotonic() + PATIENCE_S
    while not stay.path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert judge._process
    return judge._process.pid


def test_a_judge_serves_the_next_command_and_ends_for_one_with_another_assignment(start: Start, stay: Stay) -> None:
    pid = left(start(), stay)

    with start() as again:
        assert again._process is None
        assert again.interface.inputs
        assert again.estimate(row_sum()).time_us
    with start(replace(stay, made_of="changed code")) as other:
        assert other._process
        assert ends(pid)
        assert other.estimate(row_sum()).time_us


@pytest.mark.parametrize(
    "how", [signal.SIGKILL, pytest.param(signal.SIGSTOP, marks=pytest.mark.slow)], ids=["killed", "stopped"]
)
def test_a_judge_that_does_not_answer_holds_nobody_up(start: Start, stay: Stay, how: signal.Signals) -> None:
    pid = left(start(), stay)
    os.kill(pid, how)

    with start() as judge:
        assert judge._process
        assert judge.estimate(row_sum()).time_us
    os.kill(pid, signal.SIGCONT)
    assert ends(pid), "another has taken its place"


def test_a_judge_ends_when_nobody_comes(start: Start, stay: Stay) -> None:
    pid = left(start(replace(stay, waits_s=1)), stay)

    assert ends(pid)
    assert not stay.path.exists()
    assert connected(stay.path) is None


def test_a_judge_ends_when_its_command_ends_before_it_has_answered(start: Start) -> None:
    judge = start()
    assert judge._process
    hangs: Candidate = row_sum("sleep(100);")
    errors: list[Exception] = []

    def estimate() -> None:
        try:
            judge.estimate(hangs)
        except (JudgeError, OSError) as error:
            errors.append(error)

    asking = threading.Thread(target=estimate)
    asking.start()
    time.sleep(1)
    judge.close()

    assert ends(judge._process.pid)
    asking.join(PATIENCE_S)


def test_no_judge_stays_where_others_could_reach_it(stay: Stay, tmp_path: Path) -> None:
    stay.path.parent.chmod(0o755)

    assert socket_path(tmp_path / "home") is None


@pytest.mark.parametrize("seconds", [0, 600])
def test_a_setting_says_for_how_long_a_judge_stays(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, seconds: int
) -> None:
    started: dict[str, object] = {}
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr(judging, "LocalJudge", lambda *_, **arguments: started.update(arguments))
    kb.settings = kb.settings.model_copy(update={"judge_stays_s": seconds})

    judging.judge_for(kb, task("row_sum"), "cpu-x86", "cpp")

    assert getattr(started["stay"], "waits_s", 0) == seconds

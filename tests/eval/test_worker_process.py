"""A worker starts confined, answers questions, is stopped between them, and leaves nothing behind."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

import pytest

from eval.languages.registry import TORCH
from eval.machine import sandbox_level
from eval.supervisor import process as worker_process
from eval.supervisor import tree
from eval.supervisor.folder import FOLDER, new_folder, remove
from eval.supervisor.language import JudgedLanguage
from eval.supervisor.launch import Launch
from eval.supervisor.process import WorkerProcess
from eval.supervisor.settings import ALL_GUARDS, Guard, WorkerSettings
from eval.worker.fault import Fault
from eval.worker.zygote import Handles
from kb.errors import JudgeError
from kb.types.evidence import Outcome
from kb.types.kernels import Candidate
from tests.eval.judging import is_alive, needs_linux

pytestmark = needs_linux

LATE_TO_END = """
import json, sys, time
questions, answers = open(int(sys.argv[-3])), open(int(sys.argv[-2]), "w")
for line in questions:
    question = json.loads(line)
    if question["verb"] == "exit":
        time.sleep(1)
        break
    print(json.dumps({"token": question["token"]}), file=answers, flush=True)
"""
HOSTILE_WORKER = """
import json, sys
questions, answers = open(int(sys.argv[-3])), open(int(sys.argv[-2]), "w")
for number, line in enumerate(questions):
    token = json.loads(line)["token"]
    answer = {answer!r} if number else '{{"token": "TOKEN"}}'
    print(answer.replace("TOKEN", token), file=answers, flush=True)
"""
COPIES_AFTER_ANSWER = """
import json, os, sys, threading, time
questions, answers, memory = open(int(sys.argv[-3])), open(int(sys.argv[-2]), "w"), int(sys.argv[-1])
space = bytearray(1 << 28)
os.ftruncate(memory, len(space))
os.pwrite(memory, b"1", 0)
def answer(token):
    while not space[0]:  # an answer before the copy has begun could stop the worker before it begins
        time.sleep(0)
    print(json.dumps({"token": token}), file=answers, flush=True)
for number, line in enumerate(questions):
    space[0] = number % 2 == 0
    answering = threading.Thread(target=answer, args=(json.loads(line)["token"],))
    answering.start()
    if number % 2:
        os.preadv(memory, [space], 0)
    answering.join()
"""
NOBODY = 65534
DEEP = "[" * 900 + "]" * 900
HOSTILE_ANSWERS = {
    "a claim that it has passed": ('{"token": "TOKEN", "outcome": "passed"}', Outcome.FORGED),
    "an unknown outcome": ('{"token": "TOKEN", "outcome": "won", "detail": "x"}', Outcome.FORGED),
    "an outcome that is not a string": ('{"token": "TOKEN", "outcome": [["passed"]]}', Outcome.FORGED),
    "a refusal whose detail is malformed text": (
        '{"token": "TOKEN", "outcome": "raised", "detail": "\\ud800"}',
        Outcome.RAISED,
    ),
    "a refusal without detail": ('{"token": "TOKEN", "outcome": "raised"}', Outcome.RAISED),
    "a refusal with a nested detail": (
        f'{{"token": "TOKEN", "outcome": "raised", "detail": {DEEP}}}',
        Outcome.RAISED,
    ),
    "another token": ('{"token": "0123456789abcdef"}', Outcome.FORGED),
    "a deeply nested token": (f'{{"token": {DEEP}}}', Outcome.FORGED),
    "deep nesting without a token": (f'{{"deep": {DEEP}, "\\ud800": 1}}', Outcome.FORGED),
    "not an object": ('["TOKEN"]', Outcome.FORGED),
    "not a number": ("NaN", Outcome.FORGED),
}

HOLD_A_FOLDER = """
import sys
from eval.supervisor.folder import new_folder
print(new_folder()[0], flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for the temporary files of this test only."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


@pytest.fixture
def worker() -> Iterator[WorkerProcess]:
    with start() as worker:
        yield worker


def start(
    language: JudgedLanguage = TORCH,
    *,
    guards: frozenset[Guard] = ALL_GUARDS,
    call_s: float = 20.0,
    level: int | None = None,
) -> WorkerProcess:
    level = sandbox_level() if level is None else level
    worker = WorkerProcess(WorkerSettings(language=language, level=level, call_s=call_s, guards=guards))
    return worker.give(Candidate(language="torch", source="# nothing"))


@pytest.mark.parametrize("level", [0, 1, 2])
def test_a_worker_starts_at_every_sandbox_level(level: int) -> None:
    if level > sandbox_level():
        pytest.skip("this kernel lacks Landlock or seccomp")
    with start(level=level) as worker:
        assert worker.ask("ping") == {}
        assert worker.reply_s > 0
        worker.finish()


def test_a_worker_leaves_neither_process_nor_folder_nor_handle(temporary: Path) -> None:
    handles = set(os.listdir("/proc/self/fd"))  # noqa: PTH208 - only the names

    with start() as worker:
        assert worker.folder.parent == temporary
        assert (worker.folder / "candidate.py").exists()

    assert not is_alive(worker.pid)
    assert list(temporary.iterdir()) == []
    assert set(os.listdir("/proc/self/fd")) == handles  # noqa: PTH208


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, ValueError])
def test_a_worker_ends_if_its_judge_is_interrupted(temporary: Path, error: type[BaseException]) -> None:
    with pytest.raises(error), start() as worker:
        raise error

    assert not is_alive(worker.pid)
    assert list(temporary.iterdir()) == []


def test_a_worker_that_does_not_start_is_a_judge_error(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", shutil.which("false"))

    with pytest.raises(JudgeError, match="does not start") as caught:
        start().__enter__()

    assert "doctor" in caught.value.hint
    assert list(temporary.iterdir()) == []


def test_a_worker_that_ends_late_but_well_is_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_process, "DEATH_S", 0.05)
    play(LATE_TO_END, tmp_path, monkeypatch)

    with start(level=0) as worker:
        worker.finish()

        assert worker._running.poll() == 0


def test_a_worker_that_does_not_end_has_taken_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play(LATE_TO_END, tmp_path, monkeypatch)

    with start(level=0, call_s=0.2) as worker, pytest.raises(Fault) as caught:
        worker.finish()

    assert caught.value.outcome == Outcome.TIMED_OUT


def test_a_worker_that_fills_the_machine_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free = iter([{"memory": 100}, {"memory": 50}])
    monkeypatch.setattr(tree, "_free", lambda folder: next(free, {"memory": 10}))
    play(LATE_TO_END, tmp_path, monkeypatch)

    with start(level=0) as worker, pytest.raises(Fault, match="memory: 10 of 100 are left") as caught:
        worker.ask("exit")

    assert caught.value.outcome == Outcome.FORBIDDEN


def play(script: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a script take the part of the worker."""
    actor = folder / "worker.py"
    actor.write_text(script)

    def started(launch: Launch, handles: Handles, is_wanted: object) -> "Actor":
        passed = handles.read, handles.write, handles.memory
        return Actor([sys.executable, "-I", actor, *map(str, passed)], pass_fds=passed, start_new_session=True)

    monkeypatch.setattr(Launch, "worker", started)


class Actor(subprocess.Popen[bytes]):
    def report_end(self) -> None:
        """No zygote has started it."""


def test_an_unknown_question_is_answered_with_a_fault(worker: WorkerProcess) -> None:
    with pytest.raises(Fault) as caught:
        worker.ask("dance")

    assert caught.value.outcome == Outcome.RAISED


def test_an_unbuilt_candidate_cannot_run(worker: WorkerProcess) -> None:
    with pytest.raises(Fault, match="nothing is built"):
        worker.ask("ready", set=0)


@pytest.mark.parametrize(("answer", "outcome"), HOSTILE_ANSWERS.values(), ids=HOSTILE_ANSWERS)
def test_any_hostile_answer_gives_an_outcome_that_can_be_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, outcome: Outcome
) -> None:
    play(HOSTILE_WORKER.format(answer=answer), tmp_path, monkeypatch)

    with start(level=0) as worker, pytest.raises(Fault) as caught:
        worker.ask("ping")

    assert caught.value.outcome == outcome
    assert caught.value.detail.encode().decode() == caught.value.detail


@pytest.mark.alone
def test_a_system_call_that_goes_on_after_the_answer_is_timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play(COPIES_AFTER_ANSWER, tmp_path, monkeypatch)
    lingering_s = []
    with start(level=0) as worker:
        for _ in range(10):
            worker.ask("ping")
            lingering_s.append(worker.lingering_s)

    assert median(lingering_s[::2]) > median(lingering_s[1::2]) + 0.005


@pytest.mark.alone
def test_the_system_tells_when_a_worker_has_stopped(worker: WorkerProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "PAUSE_S", 0.5)
    lingering_s = []
    for _ in range(9):
        worker.ask("ping")
        lingering_s.append(worker.lingering_s)

    assert median(lingering_s) < 0.1


@pytest.mark.parametrize("name", ["SIGKILL", "SIGSEGV", "SIGTERM"])
def test_a_dead_worker_counts_as_crashed_and_the_message_names_the_signal(worker: WorkerProcess, name: str) -> None:
    os.kill(worker.pid, signal.Signals[name])

    with pytest.raises(Fault, match=f"died of {name} during `ping`") as caught:
        worker.ask("ping")

    assert caught.value.outcome == Outcome.CRASHED


def test_a_worker_is_stopped_between_questions(worker: WorkerProcess) -> None:
    assert state(worker.pid) == "T"
    worker.ask("ping")
    assert state(worker.pid) == "T"


def test_a_worker_lasts_until_it_dies_or_has_used_half_its_processor_time(
    worker: WorkerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert worker.is_reusable
    with monkeypatch.context() as patched:
        patched.setattr(tree.ProcessTree, "cpu_s", lambda _: 0.51 * worker_process.cpu_limit_s(worker._call_s))
        assert not worker.is_reusable
    os.kill(worker.pid, signal.SIGKILL)
    os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOWAIT)
    assert not worker.is_reusable


def test_killing_a_worker_twice_does_no_harm(worker: WorkerProcess) -> None:
    worker.kill()
    with tempfile.TemporaryFile() as other:  # may get the number of the memory's handle
        worker.kill()
        assert os.fstat(other.fileno())


def test_without_the_guard_a_worker_is_not_stopped() -> None:
    with start(guards=ALL_GUARDS - {Guard.PAUSE}) as worker:
        assert state(worker.pid) != "T"


def test_a_worker_is_stopped_again_after_it_was_allowed_to_run(worker: WorkerProcess) -> None:
    worker.let_run(0.01)

    assert state(worker.pid) == "T"
    assert worker.ask("ping") == {}


def test_a_worker_that_runs_while_it_should_be_stopped_is_refused(
    worker: WorkerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree, "STOP_S", 0.1)
    os.kill(worker.pid, signal.SIGCONT)
    worker._channel.send({"verb": "ping", "token": "", "long": "a" * (1 << 23)})
    time.sleep(0.2)

    with pytest.raises(Fault, match="should have stood still") as caught:
        worker.ask("ping")

    assert caught.value.outcome == Outcome.FORBIDDEN


def test_a_worker_ends_when_its_judge_is_killed() -> None:
    script = """
import sys
from eval.languages.registry import CPP
from eval.supervisor.process import WorkerProcess
from eval.supervisor.settings import WorkerSettings
from kb.types.kernels import Candidate
candidate = Candidate(language="cpp", source="")
worker = WorkerProcess(WorkerSettings(language=CPP, level=1, call_s=9)).give(candidate)
worker.__enter__()
print(worker.pid, flush=True)
sys.stdin.read()
"""
    judge = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert judge.stdout
    pid = int(judge.stdout.readline())

    judge.kill()
    judge.communicate()

    assert not is_alive(pid)


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]


def test_folders_of_dead_judges_are_removed_and_those_of_live_ones_are_kept(temporary: Path) -> None:
    holders = [
        subprocess.Popen(
            [sys.executable, "-c", HOLD_A_FOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    dead, living = (Path(holder.stdout.readline().strip()) for holder in holders if holder.stdout)
    (dead / "deep").mkdir()
    (dead / "deep" / "file").write_text("")
    holders[0].kill()
    holders[0].communicate()
    other = temporary / "somebody-elses"
    other.mkdir()

    with start() as worker:
        left = {folder.name for folder in temporary.iterdir()}
        assert left == {worker.folder.name, living.name, other.name}

    holders[1].communicate("")


def test_judges_that_start_at_the_same_time_do_not_remove_each_other_s_folders(temporary: Path) -> None:
    def lost(_: int) -> int:
        count = 0
        for _ in range(100):
            folder, lock = new_folder()
            count += not folder.exists()
            remove(folder, lock)
        return count

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(lost, range(4))) == 0


def test_a_link_that_looks_like_a_dead_judge_s_folder_is_not_followed(temporary: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("kept")
    (temporary / f"{FOLDER}link").symlink_to(precious)

    with start():
        pass

    assert (precious / "file").read_text() == "kept"


@pytest.mark.parametrize("user", [None, NOBODY])
def test_a_folder_is_removed_however_a_candidate_leaves_it(user: int | None) -> None:
    if user is not None and os.getuid():
        pytest.skip("only root can become another user")
    with tempfile.TemporaryDirectory(dir="/tmp") as root:
        os.chown(root, -1 if user is None else user, -1)
        os.seteuid(os.getuid() if user is None else user)
        try:
            leave_a_mess(Path(root) / "folder")
            remove(Path(root) / "folder", os.open(Path(root) / "folder", os.O_RDONLY))
        finally:
            os.seteuid(os.getuid())

        assert list(Path(root).iterdir()) == []


def leave_a_mess(folder: Path) -> None:
    """Folders without rights, and folders deeper than Python recurses and than a path may be long."""
    (folder / "closed" / "inner").mkdir(parents=True)
    (folder / "closed" / "inner" / "file").write_text("")
    (folder / "closed" / "inner").chmod(0)
    (folder / "closed").chmod(0)
    before = Path.cwd()
    os.chdir(folder)
    for _ in range(sys.getrecursionlimit() + 100):
        Path("deep").mkdir()
        os.chdir("deep")
    Path("file").write_text("")
    os.chdir(before)

"""A campaign with recorded answers and a fake judge: after a kill it neither judges nor pays twice."""

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Thread, current_thread, main_thread
from typing import Any, Self

import pytest

from eval.batch.pack import read_batch
from kb.campaign.allot import Standing
from kb.campaign.drive import report, run_campaign, stored
from kb.campaign.file import read_campaign
from kb.errors import CampaignError, JudgeError, KbError, SynthesisError, TaskError
from kb.runs.journal import Plan, Run
from kb.settings import Settings
from kb.types.campaign import Amounts
from kb.types.evidence import Estimate, Evidence, Outcome
from kb.types.kernels import Candidate, Task
from kb.usecases.knowledge_base import KnowledgeBase
from kb.usecases.running import carried, start_carried
from kb.web.report import campaign_page
from synth.authors.author import Ask, Reply
from synth.authors.recorded import RecordedAuthor
from tests.conftest import HashEmbedder
from tests.eval.batches import TUNABLE, found_by, kernel, verdict_on, write_verdict
from tests.runs.fakes import INTERFACE, evidence_of

SOURCE = "class Model: ...\ndef get_inputs(): ...\ndef get_init_inputs(): ...\n"
FILE = """\
targets = ["cpu-x86"]
language = "cpp"
authors = ["recorded:{answers}"]
{more}
[budget]
evaluations = 6
[[tasks]]
files = ["one.py", "other.py"]
"""


class KillError(BaseException):
    """The process ends here."""


@pytest.fixture
def campaign_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    monkeypatch.setattr("kb.usecases.judging.cache_dir", lambda: tmp_path / "cache")
    (tmp_path / "answers").mkdir()
    for number in range(6):
        wrong = "wrong" if number == 1 else "right"
        (tmp_path / "answers" / f"{number}.md").write_text(f"note: {number}\n\n```cpp\nint {wrong}_{number};\n```\n")
    for name in ("one", "other"):
        (tmp_path / f"{name}.py").write_text(f"# {name}\n{SOURCE}")

    def write(text: str = FILE, more: str = "") -> Path:
        path = tmp_path / "c.toml"
        path.write_text(text.format(answers=tmp_path / "answers", more=more))
        return path

    return write


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Task and candidate of each verdict that the fake judge gave."""
    given: list[tuple[str, str]] = []

    class Judge:
        interface = INTERFACE

        def __init__(self, task: Task, **named: object) -> None:
            self.task = task

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *error: object) -> None: ...

        def verify(self, one: Candidate) -> Evidence:
            given.append((self.task.name, one.digest))
            outcome = Outcome.INCORRECT if "wrong" in one.source else Outcome.PASSED
            found = evidence_of(one, outcome=outcome, speedup=2.0)
            return found.model_copy(update={"task": self.task.name, "task_digest": self.task.digest})

        def estimate(self, one: Candidate) -> Estimate:
            return Estimate(time_us=1.0)

    monkeypatch.setattr("kb.usecases.judging.LocalJudge", Judge)
    return given


def go(kb: KnowledgeBase, path: Path, **more: Any) -> str:
    return run_campaign(kb, read_campaign(path), batches=path.parent, **more)


def rows(kb: KnowledgeBase, path: Path) -> list[tuple[str, int, bool, int]]:
    return [
        (one.task, one.judged, one.won, one.refused.get("incorrect", 0))
        for one in report(kb, read_campaign(path)).results
    ]


def test_a_campaign_runs_each_task_and_a_second_start_does_nothing(
    kb: KnowledgeBase, campaign_file: Callable[..., Path], judged: list[tuple[str, str]]
) -> None:
    path = campaign_file()
    go(kb, path)

    assert rows(kb, path) == [("one", 3, True, 1), ("other", 3, True, 1)]
    before = len(judged)
    go(kb, path)
    assert len(judged) == before == 6


@pytest.mark.parametrize("at", range(1, 26, 2))
def test_a_killed_campaign_goes_on_without_judging_or_paying_twice(
    at: int, kb: KnowledgeBase, campaign_file: Callable[..., Path], judged: list[tuple[str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    path, calls, append = campaign_file(), [0], Run.append

    def killing(run: Run, entry: Any) -> None:
        append(run, entry)
        calls[0] += current_thread() is main_thread()
        if calls[0] == at and current_thread() is main_thread():
            raise KillError

    with monkeypatch.context() as patched:
        patched.setattr(Run, "append", killing)
        with suppress(KillError):
            go(kb, path)
    go(kb, path)

    assert [judged for _, judged, _, _ in rows(kb, path)] == [3, 3]
    assert set(Counter(judged).values()) == {1}
    answered = [(run.id, one.number) for run in kb.runs for one in run.exchanges if one.answered]
    assert len(answered) == len(set(answered)) <= 8
    assert len(list(kb.runs)) == 2, "no task has two runs"


KILLED_AT = [round(random.Random(seed).random(), 3) for seed in range(6)]
"""As a share of what the whole campaign takes."""


@pytest.mark.parametrize("at", KILLED_AT)
def test_a_campaign_whose_process_is_killed_goes_on_in_the_next(
    at: float, home: Path, embedder: HashEmbedder, campaign_file: Callable[..., Path], judged: list[tuple[str, str]]
) -> None:
    path = campaign_file()

    def begin(home: Path) -> int:
        if pid := os.fork():
            return pid
        with KnowledgeBase(Settings.load(home), embedder=embedder) as kb:
            go(kb, path)
        os._exit(0)

    start = time.monotonic()
    os.waitpid(begin(home / "whole"), 0)
    pid, whole_s = begin(home / "killed"), time.monotonic() - start
    time.sleep(at * whole_s)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)

    with KnowledgeBase(Settings.load(home / "killed"), embedder=embedder) as kb:
        go(kb, path)
        assert [(task, count, won) for task, count, won, _ in rows(kb, path)] == [("one", 3, True), ("other", 3, True)]
        assert len(list(kb.runs)) == 2, "no task has two runs"
        for run in kb.runs:
            verdicts = [one.candidate.digest for one in run.attempts]
            assert len(verdicts) == len(set(verdicts)), "nothing is judged twice"
            answered = [one.number for one in run.exchanges if one.answered]
            assert len(answered) == len(set(answered)), "nothing is paid twice"


def test_a_carried_campaign_packs_one_candidate_of_each_run_and_goes_on_with_the_verdicts(
    kb: KnowledgeBase, campaign_file: Callable[..., Path], judged: list[tuple[str, str]], tmp_path: Path
) -> None:
    path = campaign_file(more='judge = "carried"')
    for number in (1, 2, 3):
        folder = tmp_path / f"c-batch-{number}"
        assert str(folder) in go(kb, path)
        assert go(kb, path) == "a batch is not judged yet"
        batch = read_batch(folder)
        assert len(batch.entries) == 2
        for entry in batch.entries:
            write_verdict(folder, batch, verdict_on(batch, entry))

    assert go(kb, path) == ""
    assert judged == []
    assert [one.judged for one in report(kb, read_campaign(path)).results] == [3, 3]


def test_settings_that_come_after_the_next_candidate_was_asked_for_are_taken_too(
    kb: KnowledgeBase, campaign_file: Callable[..., Path], judged: list[tuple[str, str]], tmp_path: Path
) -> None:
    for number in range(6):
        text = kernel(more=f"int k{number};\n{TUNABLE}").source
        (tmp_path / "answers" / f"{number}.md").write_text(f"note: {number}\n\n```cpp\n{text}```\n")
    path = campaign_file(FILE.replace("evaluations = 6", "evaluations = 18"), more='judge = "carried"')
    go(kb, path)
    first, second = tmp_path / "c-batch-1", tmp_path / "c-batch-2"
    batch = read_batch(first)
    for steps in (4, 99):  # killed, carried back, and carried there again
        for number in batch.entries:
            write_verdict(first, batch, found_by(batch, number, steps))
        go(kb, path)
    assert [len(run.attempts) for run in kb.runs] == [1, 1], "another candidate waits"
    for number in (batch := read_batch(second)).entries:
        write_verdict(second, batch, found_by(batch, number, 99))
    go(kb, path)

    assert [len(run.attempts) for run in kb.runs] == [6, 6]
    assert {len(run.tried) for run in kb.runs} == {32}


def test_a_campaign_in_rounds_asks_all_runs_at_once_and_judges_their_answers_here(
    kb: KnowledgeBase, campaign_file: Callable[..., Path], judged: list[tuple[str, str]], tmp_path: Path
) -> None:
    answers, at_once = tmp_path / "answers", list[int]()
    text = FILE.replace("recorded:", "files:")

    def answer_all() -> None:
        for number in (1, 2, 3):
            while len(prompts := [*answers.glob(f"*/{number:03}-prompt.md")]) < 2:
                time.sleep(0.01)
            at_once.append(len(judged))
            for prompt in prompts:
                whole = prompt.with_name("whole")
                whole.write_text(f"note: {number}\n\n```cpp\nint right_{number};\n```\n")
                whole.replace(prompt.with_name(f"{number:03}-answer.md"))

    author = Thread(target=answer_all, daemon=True)
    author.start()
    assert go(kb, campaign_file(text, more='judge = "rounds"')) == ""
    author.join()

    assert at_once == [0, 2, 4]
    assert [one.judged for one in report(kb, read_campaign(tmp_path / "c.toml")).results] == [3, 3]


def test_a_round_without_a_verdict_ends_the_campaign(
    kb: KnowledgeBase, campaign_file: Callable[..., Path], judged: list[tuple[str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    path = campaign_file(more='judge = "rounds"')
    with monkeypatch.context() as broken:
        broken.setattr("kb.usecases.judging.LocalJudge.verify", _fail)
        assert go(kb, path) == ""
    assert [one.judged for one in report(kb, read_campaign(path)).results] == [0, 0]

    go(kb, path)
    assert [one.judged for one in report(kb, read_campaign(path)).results] == [3, 3]


def _fail(judge: object, one: Candidate) -> Evidence:
    raise JudgeError("the judge is at fault", hint="")


def test_a_pool_judges_a_carried_campaign_to_its_end_and_tries_no_batch_twice(
    kb: KnowledgeBase, campaign_file: Callable[..., Path], judged: list[tuple[str, str]], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    path, tried = campaign_file(more='judge = "carried"'), list[str]()

    def judge_batch(folder: Path, tell: Callable[[str], None], *, pool: str) -> int:
        """All but the last candidate of the second batch."""
        tried.append(f"{pool} {folder.name}")
        batch = read_batch(folder)
        for number in batch.entries:
            if (folder.name, number, len(tried)) != ("c-batch-2", 2, 2):
                write_verdict(folder, batch, verdict_on(batch, number))
        return 0

    monkeypatch.setattr("kb.campaign.drive.judge_batch", judge_batch)
    said = read_campaign(path)
    assert run_campaign(kb, said, batches=tmp_path, pool="ray") == "a batch is not judged yet"
    assert tried == [f"ray c-batch-{number}" for number in (1, 2, 3, 4)]

    assert run_campaign(kb, said, batches=tmp_path, pool="ray") == ""
    assert tried[4:] == ["ray c-batch-2"]
    assert judged == []
    assert [one.judged for one in report(kb, said).results] == [4, 2]


def test_a_reply_in_a_carried_campaign_is_kept_if_the_next_run_fails(
    kb: KnowledgeBase, campaign_file: Callable[..., Path], judged: list[tuple[str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    path, answer = campaign_file(more='judge = "carried"'), RecordedAuthor.answer

    def slowly(author: RecordedAuthor, ask: Ask) -> Reply:
        time.sleep(0.2)
        return answer(author, ask)

    def only_the_first(kb: KnowledgeBase, run: Run, until: Amounts, device: str) -> object:
        if len(list(kb.runs)) > 1:
            raise KbError("broken", hint="")
        return carried(kb, run, until, device)

    monkeypatch.setattr(RecordedAuthor, "answer", slowly)
    monkeypatch.setattr("kb.campaign.drive.carried", only_the_first)
    with pytest.raises(KbError, match="broken"):
        go(kb, path)

    assert [(one.answered, bool(one.text)) for run in kb.runs for one in run.exchanges] == [(True, True)]


@pytest.mark.parametrize("judge", ["rounds", "carried"])
def test_a_task_that_fails_before_it_is_asked_for_does_not_stop_the_others(
    judge: str, kb: KnowledgeBase, campaign_file: Callable[..., Path], judged: list[tuple[str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    def broken(kb: KnowledgeBase, run: Run, *given: Any) -> object:
        if run.plan.task.name == "one":
            raise TaskError("its inputs cannot be made", hint="")
        return carried(kb, run, *given)

    monkeypatch.setattr("kb.campaign.drive.carried", broken)
    go(kb, campaign_file(more=f'judge = "{judge}"'))

    assert {run.plan.task.name: bool(run.exchanges) for run in kb.runs} == {"one": False, "other": True}
    assert {task for task, _ in judged} == ({"other"} if judge == "rounds" else set())


ANSWER, VERIFY = "synth.authors.recorded.RecordedAuthor.answer", "kb.usecases.judging.LocalJudge.verify"
FAILING = {
    "authors, judged here": ("here", ANSWER, SynthesisError("broken", hint="")),
    "authors, judged in rounds": ("rounds", ANSWER, SynthesisError("broken", hint="")),
    "authors, judged elsewhere": ("carried", ANSWER, SynthesisError("broken", hint="")),
    "what comes before a request": ("carried", "kb.campaign.drive.carried", JudgeError("broken", hint="")),
    "the judge here": ("here", VERIFY, JudgeError("broken", hint="")),
    "the judge in rounds": ("rounds", VERIFY, JudgeError("broken", hint="")),
}


@pytest.mark.parametrize(("judge", "what", "error"), FAILING.values(), ids=FAILING)
def test_a_campaign_stops_after_three_failures_in_a_row_that_are_no_fault_of_tasks(
    judge: str, what: str, error: KbError, kb: KnowledgeBase, campaign_file: Callable[..., Path],
    judged: list[tuple[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    def fail(*_: object) -> None:
        raise error

    told, names = list[str](), [f"task{number}" for number in range(4)]
    for name in names:
        (tmp_path / f"{name}.py").write_text(f"# {name}\n{SOURCE}")
    files = FILE.replace('"one.py", "other.py"', ", ".join(f'"{name}.py"' for name in names))
    path = campaign_file(files, more=f'judge = "{judge}"')
    monkeypatch.setattr(kb, "notify", told.append)
    monkeypatch.setattr(what, fail)

    with pytest.raises(type(error), match="broken"):
        go(kb, path)

    assert told == [f"{name} for cpu-x86: broken" for name in names[:3]]


def test_the_page_has_a_row_for_each_run_and_needs_no_network(
    kb: KnowledgeBase, campaign_file: Callable[..., Path], judged: list[tuple[str, str]]
) -> None:
    path = campaign_file()
    go(kb, path)

    page = campaign_page(report(kb, read_campaign(path)))
    assert page.count("2.00 (1.90 to 2.10)") == 2
    assert page.count("1 incorrect") == 2
    assert "default-src 'none'" in page
    assert "http" not in page.replace("http-equiv", "")


def test_a_changed_campaign_is_refused_unless_it_is_forced(
    kb: KnowledgeBase, campaign_file: Callable[..., Path], judged: list[tuple[str, str]], tmp_path: Path
) -> None:
    path = campaign_file()
    go(kb, path)
    (tmp_path / "other.py").write_text(f"# changed\n{SOURCE}")
    campaign_file(FILE.replace("evaluations = 6", "evaluations = 9"))

    with pytest.raises(CampaignError, match=r"has changed since it began: budget, tasks \(other\)"):
        go(kb, path)

    go(kb, path, force=True)
    found = stored(kb, "c")
    assert found is not None
    assert found.budget.evaluations == 9


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"other.py"', '"none.py"', "none.py cannot be read"),
        ('"other.py"', '"one.py"', "tasks named twice: one"),
        ("cpu-x86", "cpu-x87", "cpu-x87"),
        ('"cpp"', '"klingon"', "klingon"),
        ("recorded:", "nobody:", "names no author"),
        ('files = ["one.py", "other.py"]', 'folder = "."\ndraw = 1', "a draw needs a seed"),
        ('files = ["one.py", "other.py"]', 'folder = "."\ndraw = 9\nseed = 1', "9 tasks are drawn of 2"),
        ('files = ["one.py", "other.py"]', 'folder = "answers"', "holds no task"),
        ('files = ["one.py", "other.py"]', 'folder = "."\nnames = ["x"]', "has no task 'x'"),
        ("evaluations = 6", "evaluation = 6", "budget.evaluation"),
    ],
)
def test_a_file_that_is_not_right_is_refused_before_a_judge_starts(
    old: str, new: str, message: str, kb: KnowledgeBase, campaign_file: Callable[..., Path],
    judged: list[tuple[str, str]],
) -> None:  # fmt: skip
    with pytest.raises(KbError) as caught:
        go(kb, campaign_file(FILE.replace(old, new)))

    assert message in caught.value.message
    assert judged == []


def test_a_campaign_without_a_limit_keeps_the_default_with_which_it_began(
    kb: KnowledgeBase, campaign_file: Callable[..., Path], judged: list[tuple[str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    def start_the_first(kb: KnowledgeBase, plan: Plan) -> Run:
        if plan.task.name == "other":
            raise TaskError("its inputs cannot be made", hint="")
        return start_carried(kb, plan)

    path = campaign_file(FILE.replace("evaluations = 6", ""), more='judge = "carried"')
    with monkeypatch.context() as earlier:
        earlier.setattr("kb.campaign.file.WRITTEN", 8)
        earlier.setattr("kb.campaign.drive.start_carried", start_the_first)
        go(kb, path)
    go(kb, path)

    assert [run.plan.evaluations for run in kb.runs] == [8, 8]


def test_a_draw_with_a_seed_is_the_same_every_time(campaign_file: Callable[..., Path]) -> None:
    path = campaign_file(FILE.replace('files = ["one.py", "other.py"]', 'folder = "."\ndraw = 1\nseed = 3'))

    assert read_campaign(path) == read_campaign(path)
    assert len(read_campaign(path).tasks) == 1


def test_the_share_of_the_roof_that_ends_a_run_is_that_of_the_file(
    kb: KnowledgeBase, campaign_file: Callable[..., Path], judged: list[tuple[str, str]]
) -> None:
    go(kb, campaign_file(more="near_roof = 0.5"))

    assert {run.plan.near_roof for run in kb.runs} == {0.5}
    assert Standing(passed=True, reached=0.6, near_roof=0.5).headroom == 0 < Standing(passed=True, reached=0.6).headroom


def test_arms_are_runs_of_their_own_and_one_without_skills_publishes_none(
    kb: KnowledgeBase, campaign_file: Callable[..., Path], judged: list[tuple[str, str]]
) -> None:
    arms = '[[arms]]\nname = "kb"\n[[arms]]\nname = "alone"\ndocuments = false\nskills = false\nrules = "none"\n'
    path = campaign_file(FILE + arms)
    go(kb, path)

    by_arm = {run.plan.part.arm: run for run in kb.runs if run.plan.part}
    assert sorted(by_arm) == ["alone", "kb"]
    assert (bool(by_arm["kb"].published), by_arm["alone"].published) == (True, ())
    prompt = by_arm["alone"].prompt(1)
    assert prompt is not None
    assert prompt.cited == ()


def test_an_arm_that_searches_greedily_asks_for_no_settings(
    kb: KnowledgeBase, campaign_file: Callable[..., Path], judged: list[tuple[str, str]]
) -> None:
    go(kb, campaign_file(FILE + '[[arms]]\nname = "kb"\n[[arms]]\nname = "greedy"\nsearch = "greedy"\n'))

    prompts = {run.plan.part.arm: run.prompt(1) for run in kb.runs if run.plan.part}
    assert {arm: prompt is not None and "settings:" in prompt.text for arm, prompt in prompts.items()} == {
        "kb": True,
        "greedy": False,
    }


@pytest.mark.parametrize("judge", ["here", "carried"])
def test_an_arm_says_what_its_search_does_without(
    judge: str, kb: KnowledgeBase, campaign_file: Callable[..., Path], judged: list[tuple[str, str]]
) -> None:
    arms = '[[arms]]\nname = "kb"\n[[arms]]\nname = "bare"\nwithout = ["tuner", "diagnosis"]\n'
    go(kb, campaign_file(FILE + arms, more=f'judge = "{judge}"'))

    runs = {run.plan.part.arm: run for run in kb.runs if run.plan.part}
    assert {arm: run.plan.without for arm, run in runs.items()} == {"kb": (), "bare": ("tuner", "diagnosis")}
    prompts = {arm: run.prompt(1) for arm, run in runs.items()}
    asks = {arm: prompt and ("settings:" in prompt.text, "tune:" in prompt.text) for arm, prompt in prompts.items()}
    assert asks == {"kb": (True, True), "bare": (False, False)}

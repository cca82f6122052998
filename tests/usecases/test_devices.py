"""A run is judged on the devices that its plan names: one, several of one kind, or those of a pool."""

import os
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from eval.batch.pack import read_batch
from eval.languages.toolchain import ToolchainLanguage
from eval.machine import machine_kind
from kb.errors import BatchError, JudgeError, KbError, MissingLibraryError, RunError
from kb.runs.journal import Run
from kb.types.evidence import Evidence
from kb.types.kernels import Candidate, Task
from kb.usecases.devices import judge_of
from kb.usecases.knowledge_base import KnowledgeBase
from tests.eval.batches import MIXED, verdict_on, write_verdict
from tests.eval.judging import needs_linux
from tests.runs.fakes import INTERFACE, TASK, evidence_of

pytestmark = needs_linux
PLANS = "plan: by rows\nplan: by columns\n"
Started = list[str]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Started:
    """The card of each judge that was started here, as its environment names it."""
    found = Started()

    class Judge:
        interface = INTERFACE

        def __init__(
            self, task: Task, *, environment: Mapping[str, str] | None = None, toolchain: object = None, **_: object
        ) -> None:
            self.card, self.toolchain = (environment or {}).get("CUDA_VISIBLE_DEVICES", ""), toolchain
            found.append(self.card)

        def __enter__(self) -> "Judge":
            return self

        def __exit__(self, *error: object) -> None: ...

        def verify(self, one: Candidate) -> Evidence:
            where = {"environment": {"gpu": MIXED[self.card].kind} if self.card else {"machine": machine_kind()}}
            return evidence_of(one, speedup=2.0).model_copy(update=where)

    monkeypatch.setattr("kb.usecases.judging.LocalJudge", Judge)
    monkeypatch.setattr("kb.usecases.judging.cache_dir", lambda: tmp_path / "cache")
    monkeypatch.setattr("eval.pool.cards.present_gpus", lambda: MIXED)
    return found


@pytest.fixture
def author(tmp_path: Path) -> str:
    """Writes a kernel without parameters, another each time, and plans two."""
    folder = tmp_path / "answers"
    folder.mkdir()
    for number in range(9):
        plans = PLANS if number == 0 else ""
        (folder / f"{number}.md").write_text(f"{plans}note: {number}\n\n```python\nright_{number} = 1\n```\n")
    return f"recorded:{folder}"


def on(kb: KnowledgeBase, author: str, target: str = "h100", **given: Any) -> Any:
    given = {"authors": [author], "evaluations": 4} | given
    return kb.plan(TASK, target, **given)


@pytest.mark.parametrize(
    ("devices", "cards"),
    [
        ("", [""]),
        ("1", ["two"]),
        ("0,1", ["one", "two"]),
        ("all", ["one", "two"]),
        ("2", ["three"]),
        ("1, three", ["two"]),
    ],
)
def test_judges_start_on_the_named_devices_of_one_kind(
    kb: KnowledgeBase, started: Started, author: str, devices: str, cards: list[str]
) -> None:
    run = kb.optimize(on(kb, author, devices=devices))

    assert sorted(started) == cards
    assert len(run.attempts) == 4
    assert run.ended


@pytest.mark.parametrize(("devices", "is_named"), [("2", True), ("1", False)])
def test_prompts_describe_the_first_device_of_this_machine_unless_one_of_another_kind_judges(
    kb: KnowledgeBase, started: Started, author: str, devices: str, is_named: bool
) -> None:
    run = kb.optimize(on(kb, author, devices=devices, evaluations=1))

    prompt = run.prompt(1)
    assert prompt
    assert ("A GPU of this target runs and times it" in prompt.text) == is_named


def test_a_named_device_judges_and_no_toolchain_although_one_serves_the_target(
    kb: KnowledgeBase, started: Started, author: str
) -> None:
    assert isinstance(kb.toolchains.judges("h100")["cuda"], ToolchainLanguage)
    with judge_of(kb, on(kb, author, devices="2", language="cuda")) as judge:
        assert vars(judge) == {"card": "three", "toolchain": None}


@pytest.mark.parametrize(
    ("asked", "given", "error", "why"),
    [
        ({"devices": "7"}, {}, BatchError, "no device '7' may judge here"),
        ({"devices": "cpu"}, {}, BatchError, "of cpu there is no h100"),
        ({"devices": "0", "target": "mi300x"}, {}, BatchError, "there is no mi300x"),
        ({"devices": "cpu", "target": "tpu-v5e"}, {}, JudgeError, "no device times pallas kernels for tpu-v5e"),
        ({"pool": "ray", "target": "tpu-v5e"}, {}, JudgeError, "no device times pallas kernels for tpu-v5e"),
        ({"pool": "ray", "authors": []}, {}, JudgeError, "a pool judges what authors write, and tunes nothing"),
        ({"pool": "ray"}, {}, MissingLibraryError, "ray"),
    ],
)
def test_devices_that_cannot_judge_are_refused_before_a_run_begins(
    kb: KnowledgeBase, started: Started, author: str, asked: dict[str, Any], given: object, error: type[KbError],
    why: str, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr("kb.usecases.devices.is_installed", lambda name: False)
    with pytest.raises(error, match=why):
        kb.optimize(on(kb, author, **asked))
    assert (list(kb.runs), started) == ([], [])


def stopped_after(kb: KnowledgeBase, author: str, verdicts: int, **given: Any) -> Run:
    """A run that an interrupt ends after so many verdicts."""

    def on_start(run: Run) -> Callable[..., None]:
        def told(number: int, attempt: object) -> None:
            if number == verdicts:
                raise KeyboardInterrupt

        return told

    with pytest.raises(KeyboardInterrupt):
        kb.optimize(on(kb, author, **given), on_start=on_start)
    return next(iter(kb.runs))


def test_a_resumed_run_uses_its_devices_again_or_others_of_their_kind(
    kb: KnowledgeBase, started: Started, author: str
) -> None:
    run = stopped_after(kb, author, 1, devices="0,1")
    assert (run.plan.devices, run.ended) == ("0,1", "")
    for other in ("2", "cpu"):
        with pytest.raises(BatchError, match=f"of {'cpu' if other == 'cpu' else 'three'}.* there is no"):
            kb.resume(kb.runs.get(run.id), devices=other)
    started.clear()

    kb.resume(run, devices="1,2")
    assert started == ["two"]
    assert run.ended
    assert max(Counter(attempt.candidate.digest for attempt in run.attempts).values()) == 1


def has_verdict(file: Path) -> bool:
    return file.exists() and file.read_text() != "half"


@pytest.fixture
def rounds(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """A pool that judges all but the last candidate of a batch that is to fail; what each round judged."""
    judged = list[list[int]]()

    def judge_batch(folder: Path, tell: Callable[[str], None], devices: str, pool: str) -> int:
        batch = read_batch(folder)
        waiting = [number for number in batch.entries if not has_verdict(folder / "verdicts" / str(number))]
        judged.append(waiting)
        assert (devices, pool) == ("0", "ray://head:10001")
        for number in waiting:
            write_verdict(folder, batch, verdict_on(batch, number))
            if os.environ.get("KILLED"):
                raise KeyboardInterrupt
        return 0

    monkeypatch.setattr("eval.batch.in_rounds.judge_batch", judge_batch)
    monkeypatch.setattr("kb.usecases.devices.is_installed", lambda name: True)
    monkeypatch.setattr("kb.usecases.devices.interface_of", lambda task: INTERFACE)
    return judged


def test_a_pool_judges_what_the_authors_answer_in_rounds(
    kb: KnowledgeBase, started: Started, author: str, rounds: list[list[int]]
) -> None:
    run = kb.optimize(on(kb, author, pool="ray://head:10001", devices="0"))

    assert rounds == [[1, 2], [1, 2]], "the first kernel and a structure that it plans; a small step and the other one"
    assert len(run.attempts) == 4
    assert run.ended
    assert run.plan.without == ("tuner",)
    assert started == []
    assert run.published


def killed(kb: KnowledgeBase, author: str, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A run on a pool that was stopped while its first batch was judged."""
    monkeypatch.setenv("KILLED", "1")
    with pytest.raises(KeyboardInterrupt):
        kb.optimize(on(kb, author, pool="ray://head:10001", devices="0"))
    monkeypatch.delenv("KILLED")
    (run,) = kb.runs
    return run


def test_a_pool_that_was_stopped_goes_on_and_judges_nothing_again(
    kb: KnowledgeBase, started: Started, author: str, rounds: list[list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = killed(kb, author, monkeypatch)
    assert (run.ended, len(run.attempts)) == ("", 0)

    kb.resume(run)

    assert rounds == [[1, 2], [2], [1, 2]]
    assert len(run.attempts) == 4
    packed = [entry for folder in (run.folder / "batches").iterdir() for entry in read_batch(folder).entries.values()]
    assert len(packed) == 4
    assert {entry.timed_on for entry in packed} == {"", machine_kind()}, "the next batch knows what timed the first"


def test_a_candidate_without_a_verdict_stops_the_run_and_is_tried_again(
    kb: KnowledgeBase, started: Started, author: str, rounds: list[list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as without:
        without.setattr("eval.batch.in_rounds.judge_batch", lambda *given: 3)
        with pytest.raises(JudgeError, match="the pool gave no verdict"):
            kb.optimize(on(kb, author, pool="ray://head:10001", devices="0"))
    (run,) = kb.runs

    kb.resume(run)
    assert run.ended
    assert rounds == [[1, 2], [1, 2]]


def test_a_run_that_is_judged_here_goes_to_no_pool(kb: KnowledgeBase, started: Started, author: str) -> None:
    run = stopped_after(kb, author, 1)
    with pytest.raises(RunError, match="not by a pool"):
        kb.resume(run, pool="ray")


def test_all_batches_of_a_run_are_for_the_kind_that_timed_the_first_also_if_the_journal_has_no_time_yet(
    kb: KnowledgeBase, started: Started, author: str, rounds: list[list[int]]
) -> None:
    """The first batch timed one of its two kernels, and the journal has no verdict on it."""
    run = kb.runs.start(on(kb, author, pool="ray://head:10001", devices="0"))
    wrong, *right = (Candidate(language="triton", source=f"right = 1 // {text}\n") for text in ("wrong", "a", "b"))
    with judge_of(kb, run.plan, run) as judge:
        judge.expect(right[0])
        assert not judge.verify(wrong).passed
        judge.verify(right[1])

    first, second = (read_batch(run.folder / "batches" / str(number)) for number in (1, 2))
    assert {entry.timed_on for entry in first.entries.values()} == {""}
    assert rounds == [[1, 2], [1]]
    assert {entry.timed_on for entry in second.entries.values()} == {machine_kind()}


def test_a_damaged_verdict_is_made_again(
    kb: KnowledgeBase, started: Started, author: str, rounds: list[list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = killed(kb, author, monkeypatch)
    damaged = run.folder / "batches" / "1" / "verdicts" / "1"
    damaged.write_text("half")

    kb.resume(run)
    assert rounds[1] == [1, 2]
    assert run.ended


def test_an_answer_that_is_handed_in_is_judged_on_the_devices_of_the_plan(
    kb: KnowledgeBase, started: Started, author: str
) -> None:
    run = kb.runs.start(on(kb, author, authors=[], synthesizer="external", devices="1"))
    kb.submit(run, Candidate(language="triton", source="right = 1\n"))
    assert started == ["two"]

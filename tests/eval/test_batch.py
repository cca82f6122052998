"""A batch is judged once, on all devices, however often it is stopped; what is damaged or forged does not count."""

import errno
import fcntl
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from eval.batch import here
from eval.batch import judge as batch_judge
from eval.batch.judge import judge_batch
from eval.batch.pack import BATCH, MOST_BYTES, VERDICTS, Batch, read_batch, read_verdict, sealed, write_batch
from eval.machine import Gpu, present_gpus
from eval.pool import cards, judging
from eval.pool.turns import TURNS
from eval.worker.gpu_driver import SHARE
from kb.errors import BatchError
from kb.types.target import Isa
from tests.eval.batches import (
    GPUS,
    FakeJudge,
    batch_of,
    entry,
    judge_in_this_process,
    text_of,
    verdict_on,
    write_verdict,
)
from tests.eval.judging import FORKING, needs_linux
from tests.runs.fakes import TASK

pytestmark = needs_linux
OTHER = TASK.model_copy(update={"name": "other", "source": f"{TASK.source}# other\n"})
FAILING = TASK.model_copy(update={"name": "failing", "source": f"{TASK.source}# fails\n"})
DAMAGED = "is damaged, or not signed with the key of this batch"
A, B = Gpu("0", Isa("cuda", "90"), "NVIDIA H100, 700 W"), Gpu("1", Isa("cuda", "80"), "NVIDIA A100")
TWO = batch_of(entry("right"), entry("wrong"))


@pytest.fixture
def judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """What the fake judge of this machine, which has two H100, has opened and judged since it was last asked."""
    monkeypatch.setattr(here, "LocalJudge", FakeJudge)
    monkeypatch.setattr(FakeJudge, "log", tmp_path / "log", raising=False)
    monkeypatch.setattr(FakeJudge, "environments", [])
    monkeypatch.setattr(cards, "present_gpus", lambda: GPUS)

    def judged() -> list[str]:
        lines = (tmp_path / "log").read_text().splitlines() if (tmp_path / "log").exists() else []
        (tmp_path / "log").write_text("")
        return lines

    return judged


def packed(tmp_path: Path, batch: Batch) -> Path:
    write_batch(batch, tmp_path / "batch")
    return tmp_path / "batch"


def outcomes(folder: Path) -> list[str]:
    """Outcome of each candidate's verdict, or why there is none."""
    batch = read_batch(folder)
    found = [read_verdict(folder, batch, number) for number in batch.entries]
    return ["" if v is None else v.evidence.outcome if v.evidence else v.failure for v in found]


def test_each_candidate_is_judged_once_and_each_verdict_told(tmp_path: Path, judged: Callable[[], list[str]]) -> None:
    folder, told = packed(tmp_path, TWO), list[str]()

    assert judge_batch(folder, told.append) == 0
    assert judged() == ["cpu row-sum", "cpu right", "cpu wrong"]
    assert told == ["1 of 2: row-sum for cpu-x86: passed, 1.50x eager", "2 of 2: row-sum for cpu-x86: incorrect"]
    assert judge_batch(folder, told.append) == 0
    assert (judged(), len(told)) == ([], 2)
    assert outcomes(folder) == ["passed", "incorrect"]


def test_each_gpu_judges_a_task_of_its_own_and_the_cpu_comes_last(
    tmp_path: Path, judged: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeJudge, "pause_s", 0.05)
    tasks = (TASK, OTHER)
    on_gpu = [entry(f"{task.name} {n}", target="h100", task=task) for task in tasks for n in range(3)]
    folder = packed(tmp_path, batch_of(entry("on the CPU"), *on_gpu))

    assert judge_batch(folder, lambda line: None) == 0

    lines = judged()
    assert lines[-2:] == ["cpu row-sum", "cpu on the CPU"]
    assert {line.rpartition(" ")[0] for line in lines[:-2] if line[-1].isdigit()} == {"one row-sum", "two other"}
    own = [*(t.name for t in tasks), *(text_of(e.proposal.candidate) for e in on_gpu)]
    assert sorted(line.partition(" ")[2] for line in lines[:-2]) == sorted(own)


def test_two_gpus_share_the_candidates_of_one_task_and_the_cores(
    tmp_path: Path, judged: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeJudge, "pause_s", 0.3)
    folder = packed(tmp_path, batch_of(*(entry(f"k{n}", target="h100") for n in range(4))))

    assert judge_batch(folder, lambda line: None) == 0

    assert sorted(judged()) == ["one k0", "one k1", "one row-sum", "two k2", "two k3", "two row-sum"]
    cores = os.sched_getaffinity(0)
    assert FakeJudge.cores["one"] | FakeJudge.cores["two"] == cores
    assert not FakeJudge.cores["one"] & FakeJudge.cores["two"] or len(cores) == 1


@pytest.fixture
def with_many_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "usable_cores", lambda: [min(os.sched_getaffinity(0))] * 16)
    monkeypatch.setattr(cards, "present_gpus", lambda: {"one": GPUS["one"]})


def test_judges_of_several_tasks_share_a_gpu_and_its_memory_and_take_turns(
    tmp_path: Path, judged: Callable[[], list[str]], with_many_cores: None
) -> None:
    tasks = [TASK.model_copy(update={"source": f"{TASK.source}# {n}\n"}) for n in range(3)]
    folder = packed(tmp_path, batch_of(*(entry("right", target="h100", task=task) for task in tasks)))

    assert judge_batch(folder, lambda line: None) == 0

    assert sorted(judged()) == ["one right"] * 3 + ["one row-sum"] * 3
    assert {float(each[SHARE]) for each in FakeJudge.environments} == {1 / 3}
    assert {each[TURNS] for each in FakeJudge.environments} == {f"{folder}/cache/turns-one"}


def test_judges_of_the_cpu_never_share_it(
    tmp_path: Path, judged: Callable[[], list[str]], with_many_cores: None
) -> None:
    judge_batch(packed(tmp_path, batch_of(entry("a"), entry("b", task=OTHER))), lambda line: None)

    assert judged() == ["cpu row-sum", "cpu a", "cpu other", "cpu b"]


def test_candidates_of_one_task_share_its_baselines_instead(
    tmp_path: Path, judged: Callable[[], list[str]], with_many_cores: None
) -> None:
    folder = packed(tmp_path, batch_of(entry("right", target="h100"), entry("wrong", target="h100")))

    assert judge_batch(folder, lambda line: None) == 0

    assert judged() == ["one row-sum", "one right", "one wrong"]
    assert [SHARE in each for each in FakeJudge.environments] == [False]


@pytest.mark.parametrize(
    ("text", "outcome", "again"),
    [
        ("right", "passed", False),
        ("wrong", "incorrect", False),
        ("fast", "too_fast", False),
        ("crashed", "crashed", True),
        ("raised", "raised", True),
        ("busy", "passed", True),
        ("kills", "the judge died (exit status -9)", True),
    ],
)
def test_what_other_judges_of_the_gpu_may_have_caused_is_judged_again_by_one_alone(
    tmp_path: Path, judged: Callable[[], list[str]], with_many_cores: None, text: str, outcome: str, again: bool
) -> None:
    folder = packed(tmp_path, batch_of(entry(text, target="h100"), entry("right", target="h100", task=OTHER)))

    judge_batch(folder, lambda line: None)

    assert outcomes(folder) == [outcome, "passed"]
    assert judged().count(f"one {text}") == 1 + again + (text == "right")
    assert [SHARE in each for each in FakeJudge.environments] == [True, True] + [False] * again


def test_a_candidate_for_a_device_that_is_not_here_waits(tmp_path: Path, judged: Callable[[], list[str]]) -> None:
    folder, told = packed(tmp_path, batch_of(entry("elsewhere", target="mi300x"), entry("here"))), list[str]()

    assert judge_batch(folder, told.append) == 1
    assert outcomes(folder) == ["", "passed"]
    assert told[-1] == "1 of 2: row-sum for mi300x: no such device judges here"


def test_a_candidate_whose_judge_dies_costs_no_other_its_verdict_and_comes_last_at_the_next_start(
    tmp_path: Path, judged: Callable[[], list[str]]
) -> None:
    folder = packed(tmp_path, batch_of(entry("kills"), entry("right"), entry("wrong", task=OTHER)))

    assert judge_batch(folder, lambda line: None) == 1
    assert judged() == ["cpu row-sum", "cpu kills", "cpu row-sum", "cpu right", "cpu other", "cpu wrong"]
    assert outcomes(folder) == ["the judge died (exit status -9)", "passed", "incorrect"]

    (folder / VERDICTS / "3").unlink()
    assert judge_batch(folder, lambda line: None) == 1
    assert judged() == ["cpu other", "cpu wrong", "cpu row-sum", "cpu kills"]


def test_a_candidate_that_could_not_be_timed_is_timed_again_at_the_next_start(
    tmp_path: Path, judged: Callable[[], list[str]]
) -> None:
    folder, told = packed(tmp_path, batch_of(entry("busy"), entry("wrong"))), list[str]()

    assert judge_batch(folder, told.append) == 1
    assert told[0].endswith("passed; the machine was busy, so the next start times it again")
    judged()
    assert judge_batch(folder, told.append) == 1
    assert judged() == ["cpu row-sum", "cpu busy"]
    assert outcomes(folder) == ["passed", "incorrect"]


def test_a_task_whose_reference_fails_is_tried_once_for_all_its_candidates(
    tmp_path: Path, judged: Callable[[], list[str]]
) -> None:
    folder = packed(tmp_path, batch_of(entry("a", task=FAILING), entry("b", task=FAILING), entry("right")))

    assert judge_batch(folder, lambda line: None) == 2
    assert judged() == ["cpu failing", "cpu row-sum", "cpu right"]
    assert outcomes(folder) == ["the reference fails", "the reference fails", "passed"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda file: file.write_text(file.read_text()[:-200]),
        lambda file: file.write_text(""),
        lambda file: file.write_bytes(b"\xff\xfe"),
        lambda file: file.write_text(file.read_text().replace("1.5", "9.5")),
        lambda file: file.write_text("\u00e9" + file.read_text()),
        lambda file: (file.unlink(), os.mkfifo(file)),
        lambda file: (file.unlink(), file.symlink_to("/dev/zero")),
        lambda file: file.rename(file.with_name("moved")) and file.symlink_to("moved"),
        lambda file: os.truncate(file, MOST_BYTES + 1),
    ],
)
def test_a_damaged_verdict_does_not_count_and_its_candidate_is_judged_again(
    tmp_path: Path, judged: Callable[[], list[str]], damage: Callable[[Path], object]
) -> None:
    folder, told = packed(tmp_path, TWO), list[str]()
    judge_batch(folder, told.append)
    judged()

    damage(folder / VERDICTS / "1")
    with pytest.raises(BatchError, match=DAMAGED):
        read_verdict(folder, TWO, 1)

    assert judge_batch(folder, told.append) == 0
    assert judged() == ["cpu row-sum", "cpu right"]
    assert DAMAGED in told[2]
    assert not (folder / VERDICTS / "1").is_symlink()


def test_a_pipe_in_the_place_of_a_batch_is_no_batch(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / BATCH)

    with pytest.raises(BatchError, match="is not a batch"):
        read_batch(tmp_path)


@pytest.mark.parametrize(
    ("changes", "signed", "why"),
    [
        ({}, {"key": "another"}, DAMAGED),
        ({}, {"number": 2}, "is on another task, candidate or target"),
        ({"batch": "20261128-081500-ffffffff"}, {}, "is on another task, candidate or target"),
        ({"judge": "0" * 64}, {}, "is by another version of the judge"),
        ({"evidence": verdict_on(TWO, 2).evidence}, {}, "is on another task, candidate or target"),
    ],
)
def test_a_verdict_of_another_key_batch_judge_or_candidate_does_not_count(
    tmp_path: Path, changes: dict[str, object], signed: dict[str, object], why: str
) -> None:
    folder = packed(tmp_path, TWO)
    file = write_verdict(folder, TWO, verdict_on(TWO, 1).model_copy(update=changes), **signed)  # type: ignore[arg-type]

    with pytest.raises(BatchError, match=why):
        read_verdict(folder, TWO, int(file.name))


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda folder: (folder / BATCH).unlink(), "is not a batch"),
        (lambda folder: (folder / BATCH).write_text("{}"), "is not a batch"),
        (lambda f: (f / BATCH).write_text((f / BATCH).read_text().replace("right", "left")), "was changed since"),
        (
            lambda f: (f / BATCH).write_text(sealed(TWO.model_copy(update={"judge": "0" * 64}), TWO.key)),
            "is for another version of the judge, or its code was changed",
        ),
    ],
)
def test_a_batch_that_was_edited_or_needs_another_judge_is_refused(
    tmp_path: Path, judged: Callable[[], list[str]], damage: Callable[[Path], object], why: str
) -> None:
    folder = packed(tmp_path, TWO)
    damage(folder)

    with pytest.raises(BatchError, match=why):
        judge_batch(folder, lambda line: None)
    assert judged() == []


def test_a_batch_is_judged_by_one_process_at_a_time(tmp_path: Path, judged: Callable[[], list[str]]) -> None:
    folder = packed(tmp_path, TWO)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(BatchError, match="another process judges"):
            judge_batch(folder, lambda line: None)


def test_a_full_disk_stops_the_judge_and_what_it_wrote_stays(
    tmp_path: Path, judged: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, written = packed(tmp_path, TWO), []

    def write(path: Path, text: str) -> None:
        if len(written) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(path.write_text(text))

    with monkeypatch.context() as patched:
        patched.setattr(batch_judge, "write_whole", write)
        with pytest.raises(BatchError, match="cannot be written: No space left"):
            judge_batch(folder, lambda line: None)
    assert outcomes(folder)[0] == "passed"

    assert judge_batch(folder, lambda line: None) == 0
    assert outcomes(folder) == ["passed", "incorrect"]


def test_a_batch_never_replaces_a_folder_and_a_full_disk_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = packed(tmp_path, TWO)
    with pytest.raises(BatchError, match="cannot be written: Directory not empty"):
        write_batch(TWO, folder)

    def full(source: Path, target: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("eval.batch.pack.shutil.copyfile", full)
    with pytest.raises(BatchError, match="No space left"):
        write_batch(TWO, tmp_path / "second")
    assert [file.name for file in tmp_path.iterdir()] == ["batch"]


@pytest.mark.parametrize("kills", [3, pytest.param(15, marks=pytest.mark.slow)])
def test_a_judge_that_is_killed_at_any_moment_loses_no_verdict_and_gives_none_twice(tmp_path: Path, kills: int) -> None:
    entries = [entry(f"{target}-{n}", target=target) for target in ("h100", "cpu-x86") for n in range(6)]
    folder, log, chance = packed(tmp_path, batch_of(*entries)), tmp_path / "log", random.Random(kills)
    log.touch()
    known: dict[str, bytes] = {}
    for number in range(kills + 1):
        before = len(log.read_text())
        process = FORKING.Process(target=judge_in_this_process, args=(folder, log, 0.02))
        process.start()
        process.join(None if number == kills else 0.05 + chance.random() * 0.3)
        process.kill()
        process.join()

        again = {line.partition(" ")[2] for line in log.read_text()[before:].splitlines()}
        done = [n for n, outcome in enumerate(outcomes(folder), start=1) if outcome == "passed"]
        assert not {text_of(entries[int(n) - 1].proposal.candidate) for n in known} & again
        for name, content in known.items():
            assert (folder / VERDICTS / name).read_bytes() == content
        known = {str(n): (folder / VERDICTS / str(n)).read_bytes() for n in done}
    assert len(known) == len(entries)


@pytest.mark.parametrize(
    ("chosen", "found"),
    [
        (None, {"GPU-a": A, "GPU-b": B}),
        ("GPU-b", {"GPU-b": B}),
        ("1,0", {"GPU-b": B, "GPU-a": A}),
        ("MIG-c", {"MIG-c": A}),
        ("", {}),
    ],
)
def test_the_gpus_that_may_be_used_are_those_that_the_environment_chooses(
    chosen: str | None, found: dict[str, Gpu], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eval.machine.importlib.metadata.version", lambda package: "2.13.0")
    answers = {"nvidia-smi": ["0, GPU-a, 9.0, 700.00, NVIDIA H100", "1, GPU-b, 8.0, [N/A], NVIDIA A100", "no driver"]}
    monkeypatch.setattr("eval.machine.answer_of", lambda *command: answers.get(command[0], []))
    if chosen is None:
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    else:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", chosen)

    present_gpus.cache_clear()
    try:
        assert present_gpus() == found
        assert list(present_gpus()) == list(found)
    finally:
        present_gpus.cache_clear()

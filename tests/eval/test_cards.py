"""Which cards judge a batch: the chosen ones, one kind for a run, and none that fails its canary."""

import os
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast

import pytest

from eval.batch import here
from eval.batch.judge import judge_batch
from eval.batch.pack import Batch, read_verdict, write_batch
from eval.devices.cpu import Cpu
from eval.devices.device import Device
from eval.devices.gpu import Gpu as GpuDevice
from eval.judge import task_judge
from eval.machine import Gpu, machine_kind
from eval.pool import cards, judging
from eval.pool.cards import Card, Job, kinds_of
from kb.errors import BatchError
from tests.eval.batches import (
    FAST,
    GPUS,
    H100,
    MIXED,
    SLOW,
    FakeJudge,
    batch_of,
    entry,
    kernel,
    verdict_on,
    write_verdict,
)
from tests.eval.judging import needs_linux
from tests.runs.fakes import TASK

pytestmark = needs_linux
Judge = Callable[..., tuple[int, list[str]]]


@pytest.fixture
def judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Judge:
    """Judges on a machine with these GPUs; returns how many have no verdict, and the lines that are told."""
    monkeypatch.setattr(here, "LocalJudge", FakeJudge)
    monkeypatch.setattr(FakeJudge, "log", tmp_path / "log", raising=False)
    monkeypatch.setattr(FakeJudge, "pause_s", 0.05)

    def judge(folder: Path, gpus: Mapping[str, Gpu], devices: str = "") -> tuple[int, list[str]]:
        monkeypatch.setattr(cards, "present_gpus", lambda: gpus)
        told = list[str]()
        return judge_batch(folder, told.append, devices), told

    return judge


def packed(tmp_path: Path, batch: Batch) -> Path:
    write_batch(batch, tmp_path / "batch")
    return tmp_path / "batch"


def judged_by(tmp_path: Path) -> dict[str, set[str]]:
    """The devices that judged each candidate."""
    found: dict[str, set[str]] = {}
    for line in (tmp_path / "log").read_text().splitlines():
        device, what = line.split(" ", 1)
        found.setdefault(what, set()).add(device)
    return {what: devices for what, devices in found.items() if what != "row-sum"}


@pytest.mark.parametrize(
    ("devices", "there"),
    [
        ("1", {"two"}),
        ("two", {"two"}),
        ("cpu, 0", {"one"}),
        ("all", {"one", "two"}),
        ("", {"one", "two"}),
        ("cpu", set()),
    ],
)
def test_only_the_chosen_devices_judge(tmp_path: Path, judge: Judge, devices: str, there: set[str]) -> None:
    folder = packed(tmp_path, batch_of(*(entry(f"k{n}", target="h100") for n in range(4)), entry("k4")))
    on_cpu = devices in ("", "all") or "cpu" in devices

    left, told = judge(folder, GPUS, devices)

    assert left == 4 * (not there) + (not on_cpu)
    assert Counter("no such device" in line for line in told)[True] == left
    found = judged_by(tmp_path)
    assert set().union(*found.values()) == there | ({"cpu"} if on_cpu else set())


@pytest.mark.parametrize(
    ("gpus", "there"),
    [(GPUS, f"0 \\(one, {FAST}\\), 1 \\(two, {FAST}\\), cpu"), ({}, "cpu")],
)
def test_an_unknown_device_is_one_sentence_with_what_there_is(
    tmp_path: Path, judge: Judge, gpus: Mapping[str, Gpu], there: str
) -> None:
    folder = packed(tmp_path, batch_of(entry("right")))

    with pytest.raises(BatchError, match=f"no device '7' may judge here, only {there}$"):
        judge(folder, gpus, "cpu,7")


def test_one_kind_of_card_judges_all_candidates_of_a_run(tmp_path: Path, judge: Judge) -> None:
    sizes = {"a": 4, "b": 2, "c": 2}
    entries = [entry(f"{run}{n}", target="h100", run=run) for run, size in sizes.items() for n in range(size)]

    assert judge(packed(tmp_path, batch_of(*entries)), MIXED)[0] == 0

    found = judged_by(tmp_path)
    kinds = {run: {MIXED[card].kind for n in range(size) for card in found[f"{run}{n}"]} for run, size in sizes.items()}
    assert sorted(map(sorted, kinds.values())) == [[SLOW], [FAST], [FAST]]
    assert kinds["a"] == {FAST}


@pytest.mark.parametrize("gpus", [MIXED, {"three": MIXED["three"]}, GPUS], ids=["both", "the same", "another"])
def test_a_resumed_batch_keeps_the_kind_that_timed_its_first_candidates(
    tmp_path: Path, judge: Judge, gpus: Mapping[str, Gpu]
) -> None:
    batch = batch_of(*(entry(f"k{n}", target="h100") for n in range(4)))
    folder, first = packed(tmp_path, batch), verdict_on(batch, 1)
    assert first.evidence
    slow = first.evidence.model_copy(update={"environment": {"gpu": SLOW}})
    write_verdict(folder, batch, first.model_copy(update={"evidence": slow}))

    left, told = judge(folder, gpus)

    if gpus is GPUS:
        why = f"row-sum for h100: its run was timed on {SLOW}, and no such device judges here"
        assert (left, told) == (3, [f"{n} of 4: {why}" for n in (2, 3, 4)])
    else:
        assert left == 0
        assert judged_by(tmp_path) == {f"k{n}": {"three"} for n in (1, 2, 3)}


def test_all_cards_have_about_as_many_candidates() -> None:
    here = [Card(name, gpu.isa, gpu.kind) for name, gpu in MIXED.items()]
    runs = [(f"run{n}", "h100") for n in range(9)]
    jobs = [Job(n, kernel(), run, run, H100) for n, run in enumerate(runs * 2)]

    found = kinds_of(jobs, {}, here)

    assert {kind: len(own) for kind, own in found.items()} == {FAST: 12, SLOW: 6}
    assert all(own == sorted(own, key=lambda job: job.number) for own in found.values())


@pytest.mark.parametrize(("device", "kind"), [(GpuDevice, FAST), (Cpu, None)])
def test_evidence_names_the_kind_of_the_gpu_that_judged(
    device: type[Device], kind: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_judge, "present_gpus", lambda: MIXED)

    assert task_judge._environment(cast(Device, device)).get("gpu") == kind


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """After how many good canaries each device fails one."""
    return lambda **after: monkeypatch.setattr(FakeJudge, "broken", after)


def of_tasks(*sizes: int) -> Batch:
    """Candidates `N.M` of tasks N."""
    tasks = [TASK.model_copy(update={"source": f"{TASK.source}# {n}\n"}) for n in range(len(sizes))]
    return batch_of(
        *(entry(f"{n}.{m}", target="h100", task=tasks[n]) for n, size in enumerate(sizes) for m in range(size))
    )


def failures(folder: Path, batch: Batch) -> list[str]:
    """Why each candidate has no evidence; empty if it has some."""
    found = [read_verdict(folder, batch, number) for number in batch.entries]
    return [verdict.failure if verdict else "no verdict" for verdict in found]


OUT = "{} is taken out: the clock stands still"
ONE, THREE = f"one ({FAST})", f"three ({SLOW})"


def test_what_a_card_judged_since_its_last_good_canary_is_judged_again_by_another_of_its_kind(
    tmp_path: Path, judge: Judge, broken: Callable[..., None]
) -> None:
    batch = of_tasks(2, 2, 2, 2)
    folder = packed(tmp_path, batch)
    broken(one=1)

    left, told = judge(folder, MIXED)

    found = judged_by(tmp_path)
    twice = [what for what, devices in found.items() if devices == {"one", "two"}]
    assert (left, failures(folder, batch)) == (0, [""] * 8)
    assert all("three" not in devices for devices in found.values())
    assert len(twice) == 3, "two verdicts, and the candidate that was tried when the canary failed"
    withdrawn = [line for line in told if "no verdict" in line]
    assert [line.partition("no verdict: ")[2] for line in withdrawn] == [OUT.format(ONE)] * 2
    assert len(told) == 8 + 2 * len(withdrawn)


@pytest.mark.parametrize(("good", "stands"), [(0, 0), (1, 0), (2, 2), (3, 4)])
def test_without_another_card_of_its_kind_they_have_no_verdict_until_the_next_start(
    tmp_path: Path, judge: Judge, broken: Callable[..., None], good: int, stands: int
) -> None:
    batch = of_tasks(2, 2, 2, 2)
    folder = packed(tmp_path, batch)
    broken(three=good)

    left, told = judge(folder, {"three": MIXED["three"]})

    why = f"no {SLOW} is left: {OUT.format(THREE)}"
    assert (left, failures(folder, batch)) == (8 - stands, [""] * stands + [why] * (8 - stands))
    assert told[-1] == f"{stands + 2 * (good > 0) + 1} of 8: row-sum for h100: no verdict: {why}"

    broken()
    assert judge(folder, MIXED)[0] == 0
    assert failures(folder, batch) == [""] * 8


def test_all_judges_of_a_card_that_fails_a_canary_end(
    tmp_path: Path, judge: Judge, broken: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judging, "usable_cores", lambda: [min(os.sched_getaffinity(0))] * 32)
    batch = of_tasks(*[2] * 16)
    folder = packed(tmp_path, batch)
    broken(one=5)

    assert judge(folder, GPUS)[0] == 0
    assert failures(folder, batch) == [""] * 32
    last = {}
    for line in (tmp_path / "log").read_text().splitlines():
        last[line.partition(" ")[2]] = line.partition(" ")[0]
    assert list(last.values())[-2:] == ["two", "two"]


def test_a_candidate_beside_which_a_canary_failed_is_the_last_to_be_judged_again(tmp_path: Path, judge: Judge) -> None:
    batch = batch_of(*(entry(text, target="h100") for text in ("disturbs", "k1", "k2")))
    folder = packed(tmp_path, batch)

    assert judge(folder, GPUS)[0] == 0

    assert failures(folder, batch) == [""] * 3
    assert len(judged_by(tmp_path)["disturbs"]) == 2


def test_the_cpu_is_taken_out_too(tmp_path: Path, judge: Judge, broken: Callable[..., None]) -> None:
    batch = batch_of(entry("a"), entry("b"))
    folder = packed(tmp_path, batch)
    broken(cpu=0)

    left, told = judge(folder, {})

    assert (left, judged_by(tmp_path)) == (2, {"a": {"cpu"}})
    why = f"no verdict: no {machine_kind()} is left: {OUT.format('cpu')}"
    assert told == [f"{n} of 2: row-sum for cpu-x86: {why}" for n in (2, 1)]

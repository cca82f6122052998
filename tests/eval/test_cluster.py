"""A batch on a cluster whose machines are lost, come and fail: each is a worker in this process, with a fake judge."""

import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from zipfile import ZipFile

import pytest

from eval.batch import cluster, here, ray_cluster
from eval.batch import judge as batch_judge
from eval.batch.cluster import MOST_LOST, MOST_STARTS, Answer, Lost
from eval.batch.here import Waiting
from eval.batch.judge import judge_batch
from eval.batch.pack import VERDICTS, Batch, BatchVerdict, code_files, read_verdict, write_batch
from eval.batch.ray_cluster import Worker
from eval.machine import Gpu, machine_kind
from eval.pool import cards
from eval.pool.cards import Card, Run
from kb.errors import BatchError, MissingLibraryError
from kb.types.target import CPU
from tests.eval.batches import (
    FAST,
    H100,
    HERE,
    SLOW,
    FakeJudge,
    batch_of,
    entry,
    found_by,
    kernel,
    text_of,
    tuned,
    write_verdict,
)
from tests.eval.judging import needs_linux
from tests.runs.fakes import TASK

pytestmark = needs_linux


class Machines:
    """A cluster of workers in this process.

    Args:
        own: The cards of each machine.
        dies: After how many answers a machine is lost; it also is when it begins a candidate that `fells` machines.
        useless: Machines that cannot judge.
        silent: Machines that never answer.
        falls: How often the worker of each is lost before it begins.
        comes: Machines that are there only once others are lost.
    """

    def __init__(
        self,
        own: Mapping[str, list[Card]],
        dies: Mapping[str, int] | None = None,
        useless: Collection[str] = (),
        comes: Collection[str] = (),
        silent: Collection[str] = (),
        falls: Mapping[str, int] | None = None,
    ) -> None:
        self.cards, self.workers = own, {name: Worker("") for name in own}
        for name, worker in self.workers.items():
            worker._cards = own[name]
        self.left, self.useless, self.comes = dict(dies or {}), useless, comes
        self.silent, self.falls = silent, dict(falls or {})
        self.asked = list[tuple[str, Waiting, Mapping[Run, str]]]()
        self.parts = list[tuple[str, int]]()
        self.batch: Batch | None = None

    def machines(self) -> Collection[str]:
        is_lost = any(count <= 0 for count in self.left.values())
        return [name for name in self.workers if self.left.get(name, 1) > 0 and (is_lost or name not in self.comes)]

    def ask(self, machine: str, part: Waiting | None = None, known: Mapping[Run, str] | None = None) -> None:
        self.asked.append((machine, part or {}, known or {}))
        if part:
            self.parts.append((machine, len(part)))

    def answers(self) -> Sequence[tuple[str, Answer]]:
        if not self.asked:
            return []
        machine, part, known = self.asked.pop(0)
        if machine in self.silent:
            return []
        if machine in self.useless:
            return [(machine, Lost("it has no torch", again=False))]
        if self.falls.get(machine, 0) > 0:
            self.falls[machine] -= 1
            return [(machine, Lost("its worker was killed"))]
        self.left[machine] = self.left.get(machine, 1000) - 1
        answer = self.workers[machine].next(part, known) if self.left[machine] > 0 else Lost("power")
        if isinstance(answer, BatchVerdict) and answer.failure and self.batch:
            text = text_of(self.batch.entries[answer.number].proposal.candidate)
            self.left[machine] *= "fells" not in text
        return [(machine, answer)]

    def __enter__(self) -> "Machines":
        return self

    def __exit__(self, *_: object) -> None: ...


def gpu(name: str, kind: str = FAST) -> list[Card]:
    return [Card(name, H100, kind)]


def gpus(count: int) -> dict[str, list[Card]]:
    return {f"node{n}": gpu(f"card{n}") for n in range(count)}


Judged = Callable[[Machines], tuple[int, list[str]]]


@pytest.fixture
def judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Batch, Machines], tuple[int, list[str]]]:
    """Judges a batch on machines; returns how many have no verdict, and the lines that are told."""
    folder = tmp_path / "batch"
    monkeypatch.setattr(here, "LocalJudge", FakeJudge)
    monkeypatch.setattr(FakeJudge, "log", tmp_path / "log", raising=False)
    monkeypatch.setattr(cluster, "MACHINE_S", 0.5)
    monkeypatch.setattr(ray_cluster, "ROOT", folder)

    def judged(batch: Batch, machines: Machines) -> tuple[int, list[str]]:
        if not folder.exists():
            write_batch(batch, folder)
        machines.batch, told = batch, list[str]()
        known = {card.name: Gpu("0", H100, card.kind) for own in machines.cards.values() for card in own}
        monkeypatch.setattr(cards, "present_gpus", lambda: known)
        monkeypatch.setattr(batch_judge, "RayCluster", lambda *_: machines)
        return judge_batch(folder, told.append, pool="ray"), told

    return judged


def begun(tmp_path: Path) -> Counter[str]:
    """How often each candidate was judged."""
    lines = (tmp_path / "log").read_text().splitlines() if (tmp_path / "log").exists() else []
    return Counter(what for what in (line.split(" ", 1)[1] for line in lines) if what != TASK.name)


def failures(tmp_path: Path, batch: Batch) -> list[str | None]:
    found = [read_verdict(tmp_path / "batch", batch, number) for number in batch.entries]
    return [verdict.failure if verdict else None for verdict in found]


def batch_for_gpus(count: int, run: str = "run") -> Batch:
    return batch_of(*(entry(f"k{n}", target="h100", run=run) for n in range(count)))


def test_every_machine_judges_its_part_and_each_candidate_once(tmp_path: Path, judged: Callable) -> None:
    batch, machines = batch_for_gpus(40), Machines(gpus(4))

    assert judged(batch, machines)[0] == 0

    assert failures(tmp_path, batch) == [""] * 40
    assert set(begun(tmp_path).values()) == {1}
    assert {machine for machine, _ in machines.parts} == {*machines.workers}
    assert machines.parts[0][1] == 5, "half of its share, so that faster machines take more of the rest"


@pytest.mark.parametrize("after", [1, 2, 3, 4, 5, 9])
def test_a_lost_machine_loses_no_verdict_and_only_the_candidate_in_flight_is_judged_again(
    tmp_path: Path, judged: Callable, after: int
) -> None:
    batch, machines = batch_for_gpus(24), Machines(gpus(3), dies={"node0": after})

    left, told = judged(batch, machines)

    assert (left, failures(tmp_path, batch)) == (0, [""] * 24)
    assert told.count("machine node0 is lost (power): it had begun 0, and 0 more go to others") == (after == 1)
    assert Counter("is lost" in line for line in told)[True] == 1
    assert Counter("passed" in line for line in told)[True] == 24


@pytest.mark.parametrize("after", [3, 8, 20])
def test_a_lost_machine_loses_no_setting_and_another_tunes_on(tmp_path: Path, judged: Callable, after: int) -> None:
    batch = batch_of(*(tuned(f"k{n}", target="h100") for n in range(4)))

    assert judged(batch, Machines(gpus(2), dies={"node0": after}))[0] == 0

    found = [read_verdict(tmp_path / "batch", batch, number) for number in batch.entries]
    assert [(len(one.tried), len(one.tuned)) for one in found if one] == [(16, 2)] * 4
    steps = [line for line in (tmp_path / "log").read_text().splitlines() if line.startswith("card1 ") and "=" in line]
    assert len(steps) == 4 * (1 + 16 + 2) - (after - 3), "all but what the lost machine had told"


def test_a_machine_that_comes_later_judges_what_a_lost_one_has_not(tmp_path: Path, judged: Callable) -> None:
    batch, machines = batch_for_gpus(9), Machines(gpus(2), dies={"node0": 6}, comes=["node1"])

    assert judged(batch, machines)[0] == 0
    assert failures(tmp_path, batch) == [""] * 9


def test_a_candidate_that_fells_machines_has_no_verdict_and_is_not_refused(tmp_path: Path, judged: Callable) -> None:
    batch = batch_of(*(entry(text, target="h100") for text in ("k0", "fells", "k2", "k3")))

    left, told = judged(batch, Machines(gpus(5)))

    why = f"{MOST_LOST} machines were lost while they judged it"
    assert (left, failures(tmp_path, batch)) == (1, ["", why, "", ""])
    assert told.count(f"2 of 4: row-sum for h100: no verdict: {why}") == 1


def test_a_driver_that_starts_again_judges_only_what_has_no_verdict(tmp_path: Path, judged: Callable) -> None:
    batch = batch_for_gpus(12)
    assert judged(batch, Machines(gpus(1), dies={"node0": 12}))[0] == 7
    texts = {file: file.read_bytes() for file in (tmp_path / "batch" / VERDICTS).iterdir()}
    final = [file for file in texts if not failures(tmp_path, batch)[int(file.name) - 1]]

    left, told = judged(batch, Machines(gpus(2)))

    assert (left, len(told)) == (0, 7)
    assert failures(tmp_path, batch) == [""] * 12
    assert len(final) == 5
    assert all(file.read_bytes() == texts[file] for file in final)
    assert judged(batch, Machines({})) == (0, [])


def test_a_machine_that_judges_nothing_gets_nothing_and_says_why(tmp_path: Path, judged: Callable) -> None:
    batch, machines = batch_for_gpus(8), Machines(gpus(2), useless=["node0"])

    left, told = judged(batch, machines)

    assert (left, failures(tmp_path, batch)) == (0, [""] * 8)
    assert [line for line in told if "node0" in line] == [
        "machine node0 is lost (it has no torch): it had begun 0, and 0 more go to others"
    ]


@pytest.mark.parametrize(("falls", "left"), [(MOST_STARTS - 1, 0), (MOST_STARTS, 8)])
def test_a_machine_whose_worker_is_lost_before_it_begins_gets_another_try(
    tmp_path: Path, judged: Callable, falls: int, left: int
) -> None:
    found, told = judged(batch_for_gpus(8), Machines(gpus(1), falls={"node0": falls}))

    assert found == left
    assert Counter("its worker was killed" in line for line in told)[True] == falls


def test_machines_whose_cards_stay_unknown_are_named_and_waited_for_a_stated_time(
    judged: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "MACHINE_S", 0.1)
    monkeypatch.setattr(cluster, "CARDS_S", 0.3)
    monkeypatch.setattr(cluster, "MOST_NAMED", 1)

    left, told = judged(batch_for_gpus(1), Machines(gpus(2), silent=["node0", "node1"]))

    assert left == 1
    assert told == [
        "kb waits 0 minutes for node0 and others, whose cards other work may hold",
        "kb waits no longer for node0 and others",
        "1 of 1: row-sum for h100: no such device judges here",
    ]


def test_one_kind_of_card_judges_all_candidates_of_a_run(tmp_path: Path, judged: Callable) -> None:
    here = {"a": gpu("a"), "b": gpu("b"), "c": gpu("c", SLOW), "d": [Card(CPU, HERE, machine_kind())]}
    batch = batch_of(
        *(entry(f"{run}{n}", target="h100", run=run) for run in ("one", "two", "three") for n in range(9)),
        *(entry(f"cpu{n}", run="four") for n in range(3)),
    )

    assert judged(batch, Machines(here, dies={"a": 8}))[0] == 0

    kinds: dict[str, set[str]] = {}
    for line in (tmp_path / "log").read_text().splitlines():
        card, what = line.split(" ", 1)
        if what != TASK.name:
            kinds.setdefault(what.rstrip("0123456789"), set()).add(
                SLOW if card == "c" else CPU if card == CPU else FAST
            )
    assert all(len(each) == 1 for each in kinds.values())
    assert {*map(min, kinds.values())} == {FAST, SLOW, CPU}


def test_what_no_machine_may_judge_is_said(judged: Callable) -> None:
    batch = batch_of(entry("a", target="mi300x"), entry("b", target="h100"))

    assert judged(batch, Machines(gpus(1))) == (
        1,
        ["2 of 2: row-sum for h100: passed, 1.50x eager", "1 of 2: row-sum for mi300x: no such device judges here"],
    )


def test_what_a_failing_card_has_judged_since_its_last_good_canary_is_judged_by_another_machine(
    tmp_path: Path, judged: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeJudge, "broken", {"card0": 1})
    batch, machines = batch_for_gpus(16), Machines(gpus(2))

    left, told = judged(batch, machines)

    assert (left, failures(tmp_path, batch)) == (0, [""] * 16)
    assert machines.parts[0] == ("node0", 4)
    assert any("card0" in line and "is taken out" in line for line in told)
    last = {line.split(" ", 1)[1]: line.split(" ", 1)[0] for line in (tmp_path / "log").read_text().splitlines()}
    assert {last[f"k{n}"] for n in range(16)} == {"card1"}


def test_a_card_that_fails_in_a_later_part_costs_none_of_what_an_earlier_start_found(
    tmp_path: Path, judged: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = [TASK.model_copy(update={"source": f"{TASK.source}# {n}\n"}) for n in range(12)]
    entries = [tuned(f"k{n}", target="h100", run=f"{n}", task=task) for n, task in enumerate(tasks)]
    batch, folder = batch_of(*entries), tmp_path / "batch"
    write_batch(batch, folder)
    before = dict[int, BatchVerdict]()
    for number in batch.entries:
        found = found_by(batch, number, 5)
        assert found.evidence
        evidence = found.evidence.model_copy(update={"environment": {"gpu": FAST}})
        before[number] = found.model_copy(update={"evidence": evidence})
        write_verdict(folder, batch, before[number])
    monkeypatch.setattr(FakeJudge, "broken", {"card0": 6})
    machines = Machines(gpus(1))

    judged(batch, machines)

    after = {number: read_verdict(folder, batch, number) for number in batch.entries}
    withdrawn = [number for number, one in after.items() if one and "is taken out" in one.failure]
    assert min(withdrawn) <= machines.parts[0][1], "a verdict of an earlier part is withdrawn"
    assert all(one and one.tried[:4] == before[number].tried for number, one in after.items())
    assert all(one and one.evidence == before[number].evidence for number, one in after.items())


def test_without_ray_one_sentence_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_cluster, "is_installed", lambda name: False)
    write_batch(batch_of(entry(text_of(kernel("a")))), tmp_path / "batch")

    with pytest.raises(MissingLibraryError, match="the library 'ray' is not installed") as error:
        judge_batch(tmp_path / "batch", print, pool="ray")

    assert error.value.hint == "`pip install 'kb-hardware[ray]'` installs it"


class FakeRay(SimpleNamespace):
    """A cluster that fails in `what`, and keeps what it was to carry."""

    def __init__(self, what: str) -> None:
        self.what, self.carried = what, list[str]()

    def init(self, _: str, *, runtime_env: Mapping[str, str], **__: object) -> None:
        self.carried = ZipFile(runtime_env["working_dir"]).namelist()
        self.fail("init")

    def nodes(self) -> list[object]:
        self.fail("nodes")
        return []

    def shutdown(self) -> None: ...

    def fail(self, at: str) -> None:
        if self.what == at:
            raise ArithmeticError("Ray's own words")  # of no class that one might expect


FAILING = {"init": "no Ray cluster answers here", "nodes": "the Ray cluster has failed"}


@pytest.mark.parametrize(("what", "message"), FAILING.items(), ids=FAILING)
def test_an_error_of_ray_is_one_sentence_and_the_batch_travels_without_its_verdicts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, message: str
) -> None:
    ray = FakeRay(what)
    monkeypatch.setattr(ray_cluster, "is_installed", lambda name: True)
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    write_batch(batch_of(entry("a")), tmp_path / "batch")
    (tmp_path / "batch" / VERDICTS / "7").write_text("of an earlier start")

    with pytest.raises(BatchError) as error:
        judge_batch(tmp_path / "batch", print, pool="ray")

    assert error.value.message == f"{message}: Ray's own words"
    assert ray.carried == ["batch", *(str(file) for file in code_files())]


@pytest.mark.parametrize(("pool", "address"), [("ray", "127.0.0.1:1"), ("ray://127.0.0.1:1", ""), ("ray://[::1", "")])
def test_an_address_where_nothing_answers_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pool: str, address: str
) -> None:
    monkeypatch.setattr(ray_cluster, "is_installed", lambda name: True)
    monkeypatch.setitem(sys.modules, "ray", FakeRay("nothing"))
    monkeypatch.setenv("RAY_ADDRESS", address)
    write_batch(batch_of(entry("a")), tmp_path / "batch")

    with pytest.raises(BatchError, match=re.escape(f"no Ray cluster answers at {address or pool}: ")):
        judge_batch(tmp_path / "batch", print, pool=pool)

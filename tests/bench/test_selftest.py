"""The self-test of the judge: what counts as failed, how rates are stated, and which kernels are tried."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache

import pytest

from eval.selftest.known import Known, known
from kb.bench import selftest
from kb.bench.selftest import Rate, Same, SelfTest, Verdict, self_test
from kb.errors import JudgeError
from kb.types.evidence import Evidence, Grade, Outcome
from kb.types.kernels import Candidate, Task
from kb.types.timing import Session, Timing
from kb.usecases.knowledge_base import KnowledgeBase

SPEEDUPS = {"small-gemv": (0.9, 1.2), "matmul": (1.0, 1.0)}
"""Lower ends of the sessions of a reference against itself, by task."""


@cache
def entries() -> dict[tuple[Candidate, Task], Known]:
    """The known kernels of the CPU."""
    return {(e.candidate, e.subject): e for e in (*known().honest, *known().cheats) if e.device == "Cpu"}


class FakeJudge:
    """Gives each known kernel the verdict that it should get, except those named in `mistakes`."""

    mistakes: dict[str, Outcome | None] = {}  # noqa: RUF012 - set by tests
    others = 0.0

    def __init__(self, task: Task, *, target: str, **settings: object) -> None:
        self.task = task
        self.sessions = self._sessions()

    def __enter__(self) -> "FakeJudge":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def verify(self, candidate: Candidate) -> Evidence:
        found = entries().get((candidate, self.task))
        outcome = self.mistakes.get(found.file, found.outcomes[0]) if found else Outcome.PASSED
        if outcome is None:
            raise JudgeError("no verdict within 900 s", hint="")
        passed = outcome is Outcome.PASSED
        timing = Timing(baseline="eager", baselines_us={"eager": 1.0}, sessions=(next(self.sessions),))
        return Evidence(
            task=self.task.name, task_digest="", candidate_digest="", language=candidate.language, target="cpu-x86",
            outcome=outcome, grade=Grade.MEASURED if passed else None, timing=timing if passed else None,
            sandbox_level=2, environment={"machine": "made up"}, created="2026-11-22T00:00:00+00:00",
        )  # fmt: skip

    def _sessions(self) -> Iterator[Session]:
        while True:
            for low in SPEEDUPS.get(self.task.name, (1.0,)):
                yield Session(
                    baseline_us=(1.0,), candidate_us=(1.0,), inside_us=(1.0,), speedup=low, low=low, high=low,
                    others=self.others,
                )  # fmt: skip


@pytest.fixture(autouse=True)
def fake_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selftest, "LocalJudge", FakeJudge)
    monkeypatch.setattr(FakeJudge, "mistakes", {})
    monkeypatch.setattr(selftest, "_not_here", lambda entry, *, quick: "it takes time" if quick and entry.timed else "")


def result_of(kb: KnowledgeBase, *, quick: bool = False, rounds: int = 1) -> tuple[SelfTest, Sequence[Verdict | Same]]:
    told: list[Verdict | Same] = []
    return self_test(kb, "cpu-x86", quick=quick, tell=told.append, rounds=rounds), told


def test_every_known_kernel_of_the_device_is_tried(kb: KnowledgeBase) -> None:
    found, told = result_of(kb)

    mine = [e for e in (*known().cheats, *known().honest) if e.device == "Cpu"]
    assert sorted((v.file, v.task) for v in found.verdicts) == sorted((e.file, e.task) for e in mine)
    assert [*told] == [*found.verdicts, *found.same]
    assert (found.failed, found.left_out) == ((), ())


def test_honest_kernels_alone_are_judged_in_several_rounds(kb: KnowledgeBase) -> None:
    once, often = (Counter(v.kind for v in result_of(kb, rounds=rounds)[0].verdicts) for rounds in (1, 3))

    assert often == {"cheat": once["cheat"], "honest": 3 * once["honest"]}


@pytest.mark.parametrize(
    ("file", "outcome", "failed"),
    [
        ("segfault.cpp", Outcome.PASSED, True),
        ("segfault.cpp", Outcome.INCORRECT, False),
        ("segfault.cpp", None, False),
        ("total.cpp", Outcome.INCORRECT, True),
        ("total.cpp", None, True),
    ],
)
def test_only_a_cheat_that_passes_or_an_honest_kernel_that_does_not_fails(
    kb: KnowledgeBase, file: str, outcome: Outcome | None, failed: bool
) -> None:
    FakeJudge.mistakes = {file: outcome}

    found, _ = result_of(kb)

    assert [verdict.file for verdict in found.failed] == [file] * failed


def test_sessions_on_a_busy_machine_do_not_count(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    clean = {s.task: (s.sessions, s.won, s.busy) for s in result_of(kb)[0].same}
    monkeypatch.setattr(FakeJudge, "others", 0.5)
    busy = {s.task: (s.sessions, s.won, s.busy) for s in result_of(kb)[0].same}

    assert clean == {"small_gemv": (50, 25, 0), "matmul": (50, 0, 0)}
    assert busy == {"small_gemv": (50, 0, 50), "matmul": (50, 0, 50)}


def test_a_cheat_whose_times_were_not_compared_has_no_verdict(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeJudge, "others", 0.5)
    FakeJudge.mistakes = {"patches_timer.cpp": Outcome.PASSED}

    found, _ = result_of(kb)

    assert not found.failed
    assert [v.file for v in found.verdicts if v.outcome is None] == ["patches_timer.cpp"]


def test_a_quick_test_leaves_out_what_takes_time_and_says_so(kb: KnowledgeBase) -> None:
    found, _ = result_of(kb, quick=True)

    assert len(found.left_out) == sum(e.timed for e in (*known().cheats, *known().honest) if e.device == "Cpu")
    assert {s.sessions for s in found.same} == {5}


@pytest.mark.parametrize(
    ("count", "of", "interval"),
    [(0, 42, (0.0, 0.0838)), (42, 42, (0.9162, 1.0)), (5, 50, (0.0435, 0.2136)), (0, 0, (0.0, 1.0))],
)
def test_a_rate_has_wilsons_interval(count: int, of: int, interval: tuple[float, float]) -> None:
    assert Rate(what="", count=count, of=of).interval == pytest.approx(interval, abs=1e-4)

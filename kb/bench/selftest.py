"""Test the judge on this machine: every known cheat, every honest kernel, and references against themselves."""

import math
import platform
import shutil
import time
from collections.abc import Callable
from itertools import groupby
from typing import Literal

from eval.devices.registry import device_for
from eval.judge.driver import CALL_S, LocalJudge
from eval.languages.registry import CPP
from eval.machine import sandbox_level
from eval.selftest.known import Known, known, known_task
from eval.supervisor.settings import Guard
from kb.errors import JudgeError
from kb.settings import cache_dir
from kb.types.base import Frozen
from kb.types.evidence import Evidence, Outcome
from kb.types.kernels import Candidate, Task
from kb.types.target import CPU, Isa
from kb.types.timing import MOST_OTHERS, WIN_MARGIN, Session
from kb.usecases.knowledge_base import KnowledgeBase

Z = 1.96
"""Standard normal quantile of a 95 % interval."""
SESSIONS, QUICK_SESSIONS = 50, 5
COMPILERS = ("c++", "clang++")

Kind = Literal["cheat", "honest"]


class Verdict(Frozen):
    """The verdict on one known kernel."""

    kind: Kind
    file: str
    task: str
    wanted: tuple[Outcome, ...]
    outcome: Outcome | None
    """None if there is no verdict, as `detail` says."""
    detail: str
    seconds: float

    @property
    def failed(self) -> bool:
        """Whether a cheat passed, or an honest kernel did not."""
        return (self.outcome is Outcome.PASSED) == (self.kind == "cheat")


class Same(Frozen):
    """Timing sessions of a reference against itself."""

    task: str
    sessions: int
    won: int
    """Sessions whose interval lies above a win's margin."""
    busy: int
    """Sessions that do not count, because other work disturbed them."""
    speedups: tuple[float, ...]
    """Those of the sessions that count."""


class Rate(Frozen):
    """A share with its 95 % interval."""

    what: str
    count: int
    of: int

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's score interval (Wilson 1927), which is right also for shares of 0 and 1."""
        if not self.of:
            return 0.0, 1.0
        share, weight = self.count / self.of, Z * Z / self.of
        middle, half = share + weight / 2, Z * math.sqrt(share * (1 - share) / self.of + weight / (4 * self.of))
        return max(0.0, (middle - half) / (1 + weight)), min(1.0, (middle + half) / (1 + weight))


class SelfTest(Frozen):
    """The result of a self-test."""

    target: str
    verdicts: tuple[Verdict, ...]
    same: tuple[Same, ...]
    left_out: tuple[str, ...]
    """Kernels that were not tried, with the reason."""
    environment: dict[str, str]
    seconds: float

    @property
    def failed(self) -> tuple[Verdict, ...]:
        return tuple(verdict for verdict in self.verdicts if verdict.failed)

    @property
    def rates(self) -> tuple[Rate, ...]:
        def rate(what: str, kind: Kind) -> Rate:
            of_kind = [v for v in self.verdicts if v.kind == kind]
            return Rate(what=what, count=sum(v.failed for v in of_kind), of=len(of_kind))

        clean = sum(s.sessions - s.busy for s in self.same)
        won = Rate(what="references faster than themselves", count=sum(s.won for s in self.same), of=clean)
        return rate("cheats accepted", "cheat"), rate("honest kernels refused", "honest"), won


Tell = Callable[[Verdict | Same], None]


def self_test(kb: KnowledgeBase, target: str | None, *, quick: bool, tell: Tell, rounds: int = 1) -> SelfTest:
    """Judge all known kernels of the target's device on this machine.

    Args:
        target: None for this machine's CPU.
        quick: Leave out cheats that are only caught when they are timed, and time few sessions.
        rounds: How often each honest kernel is judged, each time on other values.

    Raises:
        TargetError: the target is unknown.
        JudgeError: this machine cannot judge for the target, or the judge's canaries are misjudged.
    """
    start = time.monotonic()
    name = kb.targets.get(target).name if target else _this_cpu(kb)
    device = device_for(kb.targets.isa(name), name)
    table, left_out = known(), list[str]()
    chosen: list[Known] = []
    for entry in (*table.cheats, *table.honest):
        if entry.device != device.__name__:
            continue
        reason = _not_here(entry, quick=quick)
        left_out += [f"{entry.file}: {reason}"] * bool(reason)
        chosen += [] if reason else [entry] * (rounds if entry.honest else 1)
    verdicts: list[Verdict] = []
    environment: dict[str, str] = {}

    def key(entry: Known) -> tuple[str, str, float]:
        return entry.task, str(entry.sizes), entry.call_s or CALL_S

    for (*_, call_s), alike in groupby(sorted(chosen, key=key), key):
        entries = list(alike)
        with _judge(kb, entries[0].subject, name, call_s) as judge:
            for entry in entries:
                verdict, evidence = _verdict(judge, entry)
                environment |= evidence.environment if evidence else {}
                verdicts.append(verdict)
                tell(verdict)
    count = QUICK_SESSIONS if quick else SESSIONS
    same = [_same(kb, task, name, count, tell) for task in table.same] if "torch" in device.languages else []
    return SelfTest(
        target=name, verdicts=tuple(verdicts), same=tuple(same), left_out=tuple(left_out), environment=environment,
        seconds=round(time.monotonic() - start, 1),
    )  # fmt: skip


def _this_cpu(kb: KnowledgeBase) -> str:
    """The target of this machine's CPU. Raises JudgeError if there is none."""
    here = Isa(CPU, platform.machine())
    found = next((target.name for target in kb.targets if target.isa == here), None)
    if found is None:
        raise JudgeError(f"no target is known for a {here.architecture} CPU", hint="name a target with --target")
    return found


def _not_here(entry: Known, *, quick: bool) -> str:
    """Why a kernel cannot be tried here, or is not tried now; empty if it is."""
    if entry.path.suffix in CPP.suffixes and not any(map(shutil.which, COMPILERS)):
        return "there is no C++ compiler"
    if entry.guard is Guard.SANDBOX and sandbox_level() < 2:
        return "this kernel lacks Landlock or seccomp"
    return "it takes time" if quick and entry.timed and not entry.honest else ""


def _judge(kb: KnowledgeBase, task: Task, target: str, call_s: float) -> LocalJudge:
    facts = kb.known_facts(target)
    return LocalJudge(task, target=target, isa=kb.targets.isa(target), facts=facts, cache=cache_dir(), call_s=call_s)


def _verdict(judge: LocalJudge, entry: Known) -> tuple[Verdict, Evidence | None]:
    start = time.monotonic()
    evidence: Evidence | None = None
    detail = ""
    try:
        evidence = judge.verify(entry.candidate)
    except JudgeError as error:
        detail = error.message
    if evidence and evidence.timing and evidence.timing.busy and entry.timed and not entry.honest:
        evidence, detail = None, "the machine was busy, so times were not compared"
    verdict = Verdict(
        kind="honest" if entry.honest else "cheat",
        file=entry.file,
        task=entry.task,
        wanted=entry.outcomes,
        outcome=evidence and evidence.outcome,
        detail=evidence.detail if evidence else detail,
        seconds=round(time.monotonic() - start, 2),
    )
    return verdict, evidence


def reference_as_candidate(task: Task) -> Candidate:
    return Candidate(language="torch", source=f"{task.source}\n\nModelNew = Model\n")


def _same(kb: KnowledgeBase, task: str, target: str, count: int, tell: Tell) -> Same:
    """Judge a reference as a candidate until there are so many sessions."""
    reference = known_task(task)
    sessions: list[Session] = []
    with _judge(kb, reference, target, CALL_S) as judge:
        while len(sessions) < count:
            evidence = judge.verify(reference_as_candidate(reference))
            if evidence.timing is None:
                raise JudgeError(
                    f"the reference of {task} is refused as a candidate: {evidence.outcome}: {evidence.detail}",
                    hint="please report it with the output of `kb doctor`",
                )
            sessions += evidence.timing.sessions
    clean = [session for session in sessions if session.others <= MOST_OTHERS]
    found = Same(
        task=task,
        sessions=len(sessions),
        won=sum(session.low > WIN_MARGIN for session in clean),
        busy=len(sessions) - len(clean),
        speedups=tuple(round(session.speedup, 3) for session in clean),
    )
    tell(found)
    return found

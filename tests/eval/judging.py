"""Judge the candidates in kernels/ on the tasks in tasks/ in this process; the judge's process is tested elsewhere."""

import multiprocessing
import shutil
import sys
import time
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import pytest

from eval.clock.baseline_sources import EAGER, SOURCES, worker_settings
from eval.clock.baselines import Baselines
from eval.clock.sessions import time_candidate
from eval.languages.registry import TORCH, language_named
from eval.machine import sandbox_level
from eval.oracle.cases import Case, draw_cases, make_case
from eval.oracle.reference import Reference
from eval.oracle.values import learn_structures
from eval.selftest.known import known_task as task
from eval.selftest.known import read_candidate as candidate
from eval.supervisor.settings import ALL_GUARDS, Guard
from eval.supervisor.trial import Trial
from eval.worker.fault import Fault
from kb.types.evidence import CaseResult, Outcome
from kb.types.timing import Timing

HERE = Path(__file__).parent
COMPILER = shutil.which("c++") or shutil.which("clang++")
PATIENCE_S = 60.0
"""Time limit for candidates that are not meant to be slow, on a machine that may be slow."""

FORKING = multiprocessing.get_context("forkserver")
FORKING.set_forkserver_preload(["tests.eval.batches", __name__])
"""Starts processes as forks of one, which has imported once what they need."""

needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="candidates are judged on Linux only")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler")
needs_sandbox = pytest.mark.skipif(sandbox_level() < 2, reason="this kernel lacks Landlock or seccomp")


@dataclass(frozen=True)
class Verdict:
    outcome: Outcome
    detail: str = ""
    log: str = ""
    timing: Timing | None = None


@cache
def reference(name: str) -> Reference:
    return Reference(task(name), seed=1)


@cache
def baselines(name: str) -> Baselines:
    """Only the eager baseline, which starts quickly."""
    trial_of = partial(Trial, language=TORCH, level=sandbox_level(), call_s=PATIENCE_S, **worker_settings())
    return Baselines(task(name), reference(name), {EAGER: SOURCES[EAGER]}, trial_of)


def trial_of(path: Path, guards: frozenset[Guard] = ALL_GUARDS, *, call_s: float = PATIENCE_S) -> Trial:
    read = candidate(path)
    return Trial(read, language=language_named(read.language), level=sandbox_level(), call_s=call_s, guards=guards)


def given_case(name: str) -> Case:
    """The case with the sizes and values of the task's file."""
    return make_case("sizes as given", reference(name), reference(name).inputs(2))


def held_out_cases(name: str, **sizes: int) -> list[Case]:
    held_out = Reference(task(name), seed=3, sizes=sizes) if sizes else reference(name)
    other = Reference(task(name), seed=3, sizes=sizes, factor=0.5)
    return [case for each in (held_out, other) for case in draw_cases(each, learn_structures(each))]


def judge(
    path: Path,
    on: str,
    guards: frozenset[Guard] = ALL_GUARDS,
    *,
    call_s: float = PATIENCE_S,
    timed: bool = False,
    held_out: dict[str, int] | None = None,
) -> Verdict:
    """Judge a candidate on a task.

    Args:
        timed: Also time it, if it is correct.
        held_out: Also try it at these sizes (empty: those given) and with other values than given.
    """
    tried = trial_of(path, guards, call_s=call_s)
    results: list[CaseResult] = []
    try:
        tries = [given_case(on), *([] if held_out is None else held_out_cases(on, **held_out))]
        log = tried.check(tries, results)
        timing = time_candidate(tried, baselines(on), tries)[0] if timed else None
    except Fault as fault:
        return Verdict(Outcome(fault.outcome), fault.detail)
    return Verdict(Outcome.PASSED, log=log, timing=timing)


def is_alive(pid: int) -> bool:
    """Whether the process is alive; it gets a few seconds to end."""
    stat = Path(f"/proc/{pid}/stat")
    for _ in range(100):
        try:
            if stat.read_text(encoding="utf-8").rpartition(")")[2].split()[0] in "ZX":
                return False
        except (FileNotFoundError, ProcessLookupError):
            return False
        time.sleep(0.05)
    return True

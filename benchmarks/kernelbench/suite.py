"""Audit the problems of KernelBench as tasks, and judge candidates on those that are usable.

Each result is one line of an append-only file, so that a run continues where it stopped, and the files of several runs
can be joined by writing one after the other. Problems are scored by fast_p, with intervals.
"""

import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from statistics import fmean
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from benchmarks.kernelbench.audit import Audit, Usability, audit
from eval.languages.registry import LANGUAGES, load_candidate
from eval.oracle.task import load_task
from kb.bench.scores import bootstrap
from kb.bench.selftest import reference_as_candidate
from kb.errors import CandidateError, KbError, SourceError
from kb.types.base import Frozen, Recorded
from kb.types.evidence import Evidence, Outcome
from kb.types.kernels import Candidate, Precision, Task
from kb.usecases.knowledge_base import KnowledgeBase

REFERENCE = "the reference itself"
"""File of a candidate that is the task's own reference, by which baselines are timed."""
SPEEDUPS = (1.0, 1.2, 1.5, 2.0)
_NUMBER = re.compile(r"(\d+)(?=[_.]|$)")


class Problem(Frozen):
    """One file of KernelBench."""

    level: int
    number: int
    path: Path

    @property
    def name(self) -> str:
        return f"level{self.level}/{self.path.stem}"


class Audited(Frozen):
    """A line of the file of results: the audit of a problem."""

    kind: Literal["audited"] = "audited"
    problem: str
    audit: Audit


class Judged(Recorded):
    """A line of the file of results: the verdict on one candidate."""

    kind: Literal["judged"] = "judged"
    problem: str
    task_digest: str
    target: str
    file: str
    candidate_digest: str
    precision: Precision = Precision.DEFAULT
    outcome: Outcome | None
    """None if there is no verdict, as `detail` says."""
    detail: str
    speedup: float | None = None
    low: float | None = None
    high: float | None = None
    """Ends of the 95 % interval of the speed-up."""
    won: bool = False
    candidate_us: float | None = None
    baseline_us: float | None = None
    baselines_us: dict[str, float] = Field(default_factory=dict)
    seconds: float


Line = Annotated[Audited | Judged, Field(discriminator="kind")]
_LINE: TypeAdapter[Audited | Judged] = TypeAdapter(Line)

Tell = Callable[[Audited | Judged], None]


def find_problems(path: Path, levels: Sequence[int], numbers: frozenset[int] | None) -> list[Problem]:
    """The problems of some levels, in order.

    Args:
        path: A folder with the folders `level1`, `level2` and so on, or one that contains it as `KernelBench`.
        numbers: Numbers of the wanted problems; None for all.

    Raises:
        SourceError: there is no such level, or no such problem.
    """
    found: list[Problem] = []
    for level in levels:
        folder = next((f for f in (path / f"level{level}", path / "KernelBench" / f"level{level}") if f.is_dir()), None)
        if folder is None:
            raise SourceError(
                f"{path} has no folder level{level}", hint="give the folder of KernelBench that contains level1"
            )
        files = [(int(m[1]), f) for f in folder.glob("*.py") if (m := _NUMBER.match(f.name))]
        chosen = [(n, f) for n, f in files if numbers is None or n in numbers]
        found += [Problem(level=level, number=n, path=f) for n, f in sorted(chosen)]
    if not found:
        raise SourceError(f"{path} has no such problem", hint="the files of problems are named 1_NAME.py")
    return found


def find_candidates(problem: Problem, folder: Path) -> list[Path]:
    """The candidates for a problem: files named by its number, or the files of a folder named by it.

    They lie in `folder`, or in its folder `level1` if it has one, `level2` and so on.
    """
    level = folder / f"level{problem.level}"
    suffixes = {suffix for language in LANGUAGES for suffix in language.suffixes}
    named = [
        entry
        for entry in sorted((level if level.is_dir() else folder).iterdir())
        if (m := _NUMBER.match(entry.name)) and int(m[1]) == problem.number
    ]
    files = [file for entry in named for file in (sorted(entry.iterdir()) if entry.is_dir() else [entry])]
    return [file for file in files if file.suffix in suffixes]


class Results:
    """The lines of a file of results; without a file they are kept in memory."""

    def __init__(self, file: Path | None) -> None:
        """Read the lines. A line that was not written whole is dropped.

        Raises:
            SourceError: the file cannot be read or written, or a line is not a result.
        """
        self._file = file
        self.lines: list[Audited | Judged] = []
        if file is None:
            return
        try:
            file.touch()
            whole = file.read_bytes()
            whole = whole[: whole.rfind(b"\n") + 1]
            self.lines = [_LINE.validate_json(line) for line in whole.splitlines()]
            os.truncate(file, len(whole))
        except (OSError, ValidationError) as error:
            raise SourceError(
                f"{file} is not a file of results: {str(error)[:200]}", hint="give a new file, or one that it wrote"
            ) from error

    def add(self, line: Audited | Judged) -> None:
        self.lines.append(line)
        if self._file is not None:
            with self._file.open("a", encoding="utf-8") as file:
                file.write(line.model_dump_json() + "\n")

    def audit_of(self, task: Task) -> Audit | None:
        found = (a.audit for a in reversed(self.lines) if isinstance(a, Audited))
        return next((a for a in found if a.task_digest == task.digest), None)

    def has(self, task: Task, candidate: Candidate, target: str) -> bool:
        """Whether there is a verdict on the candidate."""
        wanted = (task.digest, candidate.digest, target)
        return any(
            (line.task_digest, line.candidate_digest, line.target) == wanted
            for line in self.lines
            if isinstance(line, Judged) and line.outcome
        )


def run_audits(problems: Sequence[Problem], results: Results, tell: Tell) -> None:
    """Audit the problems that `results` lacks, as many at a time as this machine has cores."""

    def audited(problem: Problem) -> Audited:
        return Audited(problem=problem.name, audit=audit(load_task(problem.path)))

    missing = [p for p in problems if results.audit_of(load_task(p.path)) is None]
    pool = ThreadPoolExecutor(os.cpu_count())
    try:
        for done in as_completed([pool.submit(audited, problem) for problem in missing]):
            results.add(done.result())
            tell(done.result())
    finally:
        pool.shutdown(cancel_futures=True)  # after an interrupt only the audits that run are waited for


def run_judge(
    kb: KnowledgeBase,
    problems: Sequence[Problem],
    results: Results,
    *,
    target: str,
    candidates: Path | None,
    precision: str = Precision.DEFAULT,
    tell: Tell,
) -> None:
    """Judge candidates on the usable problems, one after the other, except those that `results` already has.

    Args:
        candidates: Folder of candidates; None for the references themselves, which times the baselines.
        precision: Class of all tasks; an audit, which runs on the CPU, holds for all classes.
    """
    for problem in problems:
        found, task = results.audit_of(load_task(problem.path)), load_task(problem.path, precision)
        if found is None or found.verdict is not Usability.USABLE:
            continue
        for file, candidate in _candidates(problem, task, candidates):
            if isinstance(candidate, Candidate) and results.has(task, candidate, target):
                continue
            line = _judged(kb, problem.name, task, target, file, candidate)
            results.add(line)
            tell(line)


def _candidates(problem: Problem, task: Task, folder: Path | None) -> Iterator[tuple[str, Candidate | CandidateError]]:
    if folder is None:
        yield REFERENCE, reference_as_candidate(task)
        return
    for file in find_candidates(problem, folder):
        try:
            yield str(file.relative_to(folder)), load_candidate(file)
        except CandidateError as error:
            yield str(file.relative_to(folder)), error


def _judged(
    kb: KnowledgeBase,
    problem: str,
    task: Task,
    target: str,
    file: str,
    candidate: Candidate | CandidateError,
) -> Judged:
    start = time.monotonic()
    evidence: Evidence | None = None
    try:
        if isinstance(candidate, CandidateError):
            raise candidate
        evidence = kb.verify(task, candidate, target)
        detail = evidence.detail
    except KbError as error:
        detail = error.message
    timing = evidence and evidence.timing
    return Judged(
        problem=problem,
        task_digest=task.digest,
        target=target,
        file=file,
        candidate_digest=candidate.digest if isinstance(candidate, Candidate) else "",
        precision=task.precision,
        outcome=evidence and evidence.outcome,
        detail=detail,
        speedup=timing and timing.speedup,
        low=timing and timing.low,
        high=timing and timing.high,
        won=evidence is not None and evidence.won,
        candidate_us=timing and timing.candidate_us,
        baseline_us=timing and timing.baseline_us,
        baselines_us=timing.baselines_us if timing else {},
        seconds=round(time.monotonic() - start, 2),
    )


class Share(Frozen):
    """A share of problems, with its 95 % bootstrap interval over problems."""

    speedup: float
    share: float
    low: float
    high: float


class Report(Frozen):
    """The scores of one run."""

    precision: Precision
    """Class in which the candidates were judged."""
    audits: dict[str, int]
    """Number of problems by the verdict of the audit."""
    problems: int
    """Usable problems; a problem without a correct candidate counts as not fast."""
    without_candidate: int
    correct: int
    """Problems with a candidate that passed."""
    outcomes: dict[str, int]
    """Number of candidates by outcome."""
    fast: tuple[Share, ...]
    """For each of SPEEDUPS, the share of problems with a candidate that won and whose whole interval lies above it."""


def report(lines: Sequence[Audited | Judged], problems: Sequence[str], precision: str = Precision.DEFAULT) -> Report:
    """The scores of some problems in one precision, by the last line of each problem and candidate."""
    audits: dict[str, Audit] = {line.problem: line.audit for line in lines if isinstance(line, Audited)}
    audits = {name: audits[name] for name in problems if name in audits}
    usable = [name for name, audit in audits.items() if audit.verdict is Usability.USABLE]
    own = (line for line in lines if isinstance(line, Judged) and line.precision == precision)
    judged = {(line.problem, line.file): line for line in own if line.problem in usable}
    by_problem = {name: [line for line in judged.values() if line.problem == name] for name in usable}
    best = {name: max(passed, key=_rank) for name in usable if (passed := [j for j in by_problem[name] if _passed(j)])}
    return Report(
        precision=Precision(precision),
        audits=Counter(audit.verdict.value for audit in audits.values()),
        problems=len(usable),
        without_candidate=sum(not lines for lines in by_problem.values()),
        correct=len(best),
        outcomes=Counter(j.outcome.value if j.outcome else "no verdict" for j in judged.values()),
        fast=tuple(_share(p, usable, best) for p in SPEEDUPS) if judged else (),
    )


def _passed(judged: Judged) -> bool:
    return judged.outcome is Outcome.PASSED


def _rank(judged: Judged) -> float:
    return judged.low or 0.0


def _share(speedup: float, problems: Sequence[str], best: Mapping[str, Judged]) -> Share:
    fast = [float(name in best and best[name].won and _rank(best[name]) > speedup) for name in problems]
    low, high = bootstrap(fast)
    return Share(speedup=speedup, share=fmean(fast), low=low, high=high)

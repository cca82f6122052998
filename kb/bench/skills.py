"""Measure what skills are worth to `tune`: runs with and without evidence, on tasks that are in no evidence.

Every run has the same templates, budget and seed; only the wins in its library differ, see `Arm`. A candidate is judged
once for each task, and all runs share the verdict, so that arms differ in what they try and not in the noise of times.
"""

import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from eval.judge.driver import LocalJudge
from eval.oracle.reference import integer_constants, resized
from eval.oracle.task import load_task
from kb.bench.kernelbench import reference_as_candidate
from kb.bench.skill_scores import Step, Trial, report
from kb.errors import SourceError
from kb.runs.journal import Plan, Run, Runs, SynthesizerKind
from kb.runs.loop import Loop, say_nothing
from kb.settings import cache_dir
from kb.skillbook.library import Skillbook
from kb.skillbook.win import named
from kb.types.base import Frozen
from kb.types.evidence import Evidence
from kb.types.kernels import Candidate, Interface, Task
from kb.types.skill import Skill
from kb.types.skills_report import Arm, SkillsReport
from kb.usecases.knowledge_base import KnowledgeBase
from kb.usecases.running import written_in
from synth.search.tune import TuneSynthesizer


class SizedTask(Frozen):
    """A task at the sizes that its label names."""

    label: str
    task: Task


class Described(Frozen):
    """A line of the file of verdicts: the tensors of a task."""

    kind: Literal["task"] = "task"
    task_digest: str
    interface: Interface


class Judged(Frozen):
    """A line of the file of verdicts: one candidate."""

    kind: Literal["verdict"] = "verdict"
    target: str
    seconds: float
    evidence: Evidence


_LINE: TypeAdapter[Described | Judged] = TypeAdapter(Annotated[Described | Judged, Field(discriminator="kind")])

Tell = Callable[[Trial], None]


class _OutOfTimeError(Exception):
    """The time of the benchmark is up."""


def sized_task(text: str) -> SizedTask:
    """The task of `FILE` or `FILE@NAME=SIZE,...`, which changes sizes in the file.

    Raises:
        TaskError: the file is not a task.
        SourceError: it has no such size.
    """
    file, _, changes = text.partition("@")
    task = load_task(Path(file))
    known = integer_constants(task)
    sizes: dict[str, int] = {}
    for change in filter(None, changes.split(",")):
        name, _, size = change.partition("=")
        if name not in known or not size.isdigit():
            hint = f"its sizes are {', '.join(known) or 'none'}; write {file}@NAME=SIZE"
            raise SourceError(f"{text} changes {change!r}, which is not a size of {file}", hint=hint)
        sizes[name] = int(size)
    return SizedTask(label=f"{task.name} {changes}".strip(), task=resized(task, sizes) if sizes else task)


class Verdicts:
    """The verdicts so far. With a file they outlive the process, and a repeated benchmark goes on where it stopped."""

    def __init__(self, file: Path | None) -> None:
        """Read the file. A line that was not written whole is dropped, and so is a verdict that other work disturbed.

        Raises:
            SourceError: it cannot be read, or a line is not a verdict.
        """
        self._file = file
        self.interfaces: dict[str, Interface] = {}
        self._judged: dict[tuple[str, str, str], Judged] = {}
        try:
            whole = file.read_bytes() if file and file.exists() else b""
            whole = whole[: whole.rfind(b"\n") + 1]
            for line in map(_LINE.validate_json, whole.splitlines()):
                if isinstance(line, Described) or not (line.evidence.timing and line.evidence.timing.busy):
                    self._keep(line)
            if file and whole:
                os.truncate(file, len(whole))
        except (OSError, ValidationError) as error:
            raise SourceError(
                f"{file} is not a file of verdicts: {str(error)[:200]}", hint="give a new file, or one that it wrote"
            ) from error

    def add(self, line: Described | Judged) -> None:
        self._keep(line)
        if self._file:
            with self._file.open("a", encoding="utf-8") as file:
                file.write(line.model_dump_json() + "\n")

    def get(self, task: Task, target: str, candidate: Candidate) -> Judged | None:
        return self._judged.get((task.digest, target, candidate.digest))

    def baseline_us(self, task: Task, target: str) -> float:
        """The fastest baseline's time in the task's first verdict that other work did not disturb; 0 without one."""
        timings = (
            judged.evidence.timing for (of, on, _), judged in self._judged.items() if (of, on) == (task.digest, target)
        )
        return next((timing.baseline_us for timing in timings if timing and not timing.busy), 0.0)

    def has_win(self, task: Task, target: str) -> bool:
        """Whether a candidate won on the task."""
        return any(
            judged.evidence.won for (of, on, _), judged in self._judged.items() if (of, on) == (task.digest, target)
        )

    def _keep(self, line: Described | Judged) -> None:
        if isinstance(line, Described):
            self.interfaces[line.task_digest] = line.interface
        else:
            found = line.evidence
            self._judged[found.task_digest, line.target, found.candidate_digest] = line


class SharedJudge:
    """Judges each candidate for a task once. The real judge starts when it is first needed, which no run pays for."""

    def __init__(
        self, task: Task, target: str, verdicts: Verdicts, start: Callable[[], LocalJudge], deadline: float | None
    ) -> None:
        self.task, self._target, self._verdicts, self._start, self._deadline = task, target, verdicts, start, deadline
        self._judge: LocalJudge | None = None

    @property
    def interface(self) -> Interface:
        if self.task.digest not in self._verdicts.interfaces:
            self._verdicts.add(Described(task_digest=self.task.digest, interface=self._started().interface))
        return self._verdicts.interfaces[self.task.digest]

    def verify(self, candidate: Candidate) -> Evidence:
        known = self._verdicts.get(self.task, self._target, candidate)
        if known is None:
            judge, start = self._started(), time.monotonic()
            evidence = judge.verify(candidate)
            known = Judged(target=self._target, seconds=round(time.monotonic() - start, 3), evidence=evidence)
            self._verdicts.add(known)
        return known.evidence

    def steps(self, run: Run) -> tuple[Step, ...]:
        """The judged candidates of a run. All speed-ups are over the same time of the baseline."""
        found = (self._verdicts.get(self.task, self._target, attempt.candidate) for attempt in run.attempts)
        baseline_us = self._verdicts.baseline_us(self.task, self._target)
        return tuple(Step(speedup=baseline_us / j.evidence.time_us or None, seconds=j.seconds) for j in found if j)

    def close(self) -> None:
        if self._judge:
            self._judge.close()

    def _started(self) -> LocalJudge:
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise _OutOfTimeError
        if self._judge is None:
            self._judge = self._start()
            self._judge.verify(reference_as_candidate(self.task))  # the first verdict also times the baselines
        return self._judge


class SkillsBench:
    """The benchmark for one target.

    Args:
        tasks: Each learns from the others, so that several should be of one operation.
        evaluations: Evaluations of each run.
        deadline: Time of the monotonic clock after which nothing new is judged; None for no limit.
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        tasks: Sequence[SizedTask],
        verdicts: Verdicts,
        *,
        target: str,
        evaluations: int,
        deadline: float | None = None,
    ) -> None:
        self.kb, self.target, self.evaluations = kb, kb.targets.get(target).name, evaluations
        self.tasks = list({task.task.digest: task for task in tasks}.values())
        self._verdicts, self._deadline = verdicts, deadline
        self._language = written_in(kb, self.target, None)
        self._wins: dict[tuple[str, int], tuple[Skill, ...]] = {}
        """Skills that the cold runs published, by the label of the task and the seed."""
        self.trials: list[Trial] = []

    def measure(self, seeds: int, tell: Tell) -> SkillsReport:
        """Run all arms on all tasks, first the cold runs, until all are done or the time is up."""
        wanted = len(self.tasks) * seeds * len(Arm)
        try:
            for arms in ((Arm.COLD,), tuple(arm for arm in Arm if arm is not Arm.COLD)):
                for task in self.tasks:
                    with self._judging(task.task) as judge:
                        for seed, arm in ((seed, arm) for seed in range(seeds) for arm in arms):
                            self.trials.append(self._trial(task, seed, arm, judge))
                            tell(self.trials[-1])
        except _OutOfTimeError:
            pass
        return report(
            self.trials,
            target=self.target,
            evaluations=self.evaluations,
            won={task.label: self._verdicts.has_win(task.task, self.target) for task in self.tasks},
            unfinished=wanted - len(self.trials),
        )

    def _trial(self, task: SizedTask, seed: int, arm: Arm, judge: SharedJudge) -> Trial:
        """One run in a home of its own."""
        skills = self._skills(task, seed, arm)
        with tempfile.TemporaryDirectory(prefix="kb-skills-") as folder:
            home = Path(folder)
            book = Skillbook(home, name_of=self.kb.targets.name_of)
            for skill in skills:
                book.attest(*skill.evidence)
                book.publish(skill)
            run = Runs(home).start(
                Plan(
                    task=task.task,
                    target=self.target,
                    language=self._language.name,
                    synthesizer=SynthesizerKind.TUNE,
                    evaluations=self.evaluations,
                    seed=seed,
                )
            )
            loop = Loop(
                run=run,
                language=self._language,
                skillbook=book,
                scope=self.kb.targets.scope(self.target),
                siblings=frozenset({self._stranger}),
                brief=lambda interface, diagnosis: ([], []),
                tell=say_nothing,
                prompt_tokens=self.kb.settings.prompt_tokens,
            )
            loop.optimize(TuneSynthesizer(), judge)
            if arm is Arm.COLD:
                self._wins[task.label, seed] = tuple(book.get(name) for name in run.published)
        return Trial(task=task.label, seed=seed, arm=arm, skills=len(skills), steps=judge.steps(run))

    def _skills(self, task: SizedTask, seed: int, arm: Arm) -> tuple[Skill, ...]:
        """The skills with evidence in the library of a run."""
        wins = [(label, skill) for (label, s), skills in self._wins.items() if s == seed for skill in skills]
        own = tuple(skill for label, skill in wins if label == task.label)
        others = tuple(skill for label, skill in wins if label != task.label)
        match arm:
            case Arm.COLD:
                return ()
            case Arm.RANDOM:
                chance = random.Random(f"{seed} {task.label}")  # noqa: S311 - the same skills every time
                return tuple(with_random_values(skill, chance) for skill in others)
            case Arm.WRONG_TARGET:
                return tuple(on_target(skill, self._stranger) for skill in others)
        return own if arm is Arm.REPLAY else others

    @property
    def _stranger(self) -> str:
        """A target whose skills do not apply, if possible of the same family."""
        targets, scope = self.kb.targets, self.kb.targets.scope(self.target)
        family = [name for name in sorted(targets.family(self.target)) if name not in scope]
        return next(iter(family), None) or next(target.name for target in targets if target.name not in scope)

    @contextmanager
    def _judging(self, task: Task) -> Iterator[SharedJudge]:
        judge = SharedJudge(task, self.target, self._verdicts, lambda: self._start(task), self._deadline)
        try:
            yield judge
        finally:
            judge.close()

    def _start(self, task: Task) -> LocalJudge:
        facts, isa = self.kb.known_facts(self.target), self.kb.targets.isa(self.target)
        return LocalJudge(task, target=self.target, isa=isa, facts=facts, cache=cache_dir())


def with_random_values(skill: Skill, chance: random.Random) -> Skill:
    """The skill as if its kernel had won with other values of its parameters."""
    if skill.candidate is None:
        return skill
    values = {parameter.name: chance.choice(parameter.choices) for parameter in skill.candidate.parameters}
    candidate = skill.candidate.with_parameters(values)
    return _as_if(skill, {"candidate": candidate}, {"candidate_digest": candidate.digest})


def on_target(skill: Skill, target: str) -> Skill:
    """The skill as if it had won on another target."""
    return _as_if(skill, {"target": target}, {"target": target})


def _as_if(skill: Skill, changes: dict[str, object], evidence_changes: dict[str, str]) -> Skill:
    """A skill of another name with changed fields and evidence, without signatures and records."""
    evidence = tuple(e.model_copy(update=evidence_changes) for e in skill.evidence)
    return named(
        skill.model_copy(update=changes | {"evidence": evidence, "signatures": {}, "records": (), "folder": None})
    )

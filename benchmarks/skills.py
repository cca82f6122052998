"""Measure what skills are worth to `tune`: runs with and without the wins on other tasks in their library.

    python -m benchmarks.skills TASK... --target cpu-x86 --verdicts FOLDER --out skills-cpu.json

A TASK is FILE or FILE@NAME=SIZE,... of examples/; each learns from the others, so give several sizes of few operations.
All runs on a task have the same templates, budget and seed; their libraries differ: nothing else (cold), the wins of
the cold runs on the other tasks (warm), these with random values of their parameters (random), or the win on the task
itself (replay), which tests the cache. Runs share the verdict on a candidate, so that arms differ in what they try and
not in the noise of times. A command that was stopped goes on with the verdicts in FOLDER.
"""

import argparse
import random
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

import kb as knowledge
from benchmarks.measured_grid import MeasuredGrid
from benchmarks.near_best import Trial, compared
from benchmarks.origin import write_result
from benchmarks.sized_task import sized_task
from eval.judge.driver import LocalJudge
from kb.runs.journal import Plan, Runs, SynthesizerKind
from kb.runs.loop import Loop, ignore
from kb.settings import cache_dir
from kb.skillbook.library import Skillbook
from kb.skillbook.win import named
from kb.types.briefing import Briefing
from kb.types.kernels import Task
from kb.types.skill import Skill
from kb.types.terms import Terms
from kb.usecases.judging import interface_of, written_in
from kb.usecases.knowledge_base import KnowledgeBase

COLD, WARM, RANDOM, REPLAY = "cold", "warm", "random", "replay"
LIBRARIES = ("kb-hardware", "torch", "triton")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tasks", nargs="+")
    parser.add_argument("--target", required=True)
    parser.add_argument("--verdicts", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--evaluations", type=int, default=12, help="of each run")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    tasks = {text: sized_task(text) for text in options.tasks}
    with knowledge.open() as kb:
        arms = Arms(kb, kb.targets.get(options.target).name, options.verdicts, options.evaluations)
        found = arms.measured(tasks, options.seeds)
    write_result(options.out, {"target": options.target, "evaluations": options.evaluations} | found, LIBRARIES)


class Arms:
    """The runs of all arms for one target, with so many evaluations each; `verdicts` is the folder of their grids."""

    def __init__(self, kb: KnowledgeBase, target: str, verdicts: Path, evaluations: int) -> None:
        self._kb, self._target, self._verdicts, self._evaluations = kb, target, verdicts, evaluations
        self._wins: dict[tuple[str, int], list[Skill]] = {}
        """Skills that the cold runs published, by task and seed."""

    def measured(self, tasks: Mapping[str, Task], seeds: int) -> dict[str, object]:
        """Run all arms on all tasks, first the cold runs, and compare them by the tasks on which a kernel won."""
        trials, won = list[Trial](), set[str]()
        for arms in ((COLD,), (WARM, RANDOM, REPLAY)):
            for name, task in tasks.items():
                with closing(self._grid(task)) as grid:
                    for seed, arm in ((seed, arm) for seed in range(seeds) for arm in arms):
                        published, speedups = self._run(task, seed, self._skills(name, seed, arm), grid)
                        if arm == COLD:
                            self._wins[name, seed] = published
                        trials.append(Trial(name, seed, arm, speedups))
                        print(*trials[-1], flush=True)
                    won |= {name for evidence in grid.verdicts.values() if evidence.won}
        return {
            "nothing to win": sorted(tasks.keys() - won),
            "arms": compared([t for t in trials if t.task in won], base=COLD, evaluations=self._evaluations),
            "trials": [trial._asdict() for trial in trials],
        }

    def _skills(self, task: str, seed: int, arm: str) -> list[Skill]:
        """The skills with evidence in the library of a run."""
        if arm in (COLD, REPLAY):
            return self._wins[task, seed] if arm == REPLAY else []
        wins = [skill for (other, s), own in self._wins.items() if s == seed and other != task for skill in own]
        chance = random.Random(f"{seed} {task}")
        return [with_random_values(skill, chance) for skill in wins] if arm == RANDOM else wins

    def _run(
        self, task: Task, seed: int, skills: Sequence[Skill], grid: MeasuredGrid
    ) -> tuple[list[Skill], tuple[float | None, ...]]:
        """The skills that one run published, in a home of its own, and the speed-ups of its candidates."""
        language, targets = written_in(self._kb, self._target, None), self._kb.targets
        with tempfile.TemporaryDirectory(prefix="kb-skills-") as folder:
            book = Skillbook(Path(folder), name_of=targets.name_of)
            for skill in skills:
                book.attest(*skill.evidence)
                book.publish(skill)
            plan = Plan(
                task=task, target=self._target, language=language.name, synthesizer=SynthesizerKind.TUNE,
                evaluations=self._evaluations, seed=seed,
            )  # fmt: skip
            run = Runs(Path(folder)).start(plan)
            Loop(
                run=run, language=language, skillbook=book, scope=targets.scope(self._target), siblings=frozenset(),
                brief=lambda interface, attempts, stage, skills: (Briefing(), Terms()), on_attempt=ignore,
                prompt_tokens=self._kb.settings.prompt_tokens,
            ).optimize(None, grid)  # fmt: skip
            speedups = tuple(grid.speedup(attempt.candidate) for attempt in run.attempts)
            return [book.find(name) for name in run.published], speedups

    def _grid(self, task: Task) -> MeasuredGrid:
        def start() -> LocalJudge:
            isa, facts = self._kb.targets.isa(self._target), self._kb.known_facts(self._target)
            return LocalJudge(task, target=self._target, isa=isa, facts=facts, cache=cache_dir())

        self._verdicts.mkdir(parents=True, exist_ok=True)
        file = self._verdicts / f"{self._target}-{task.digest[:16]}.jsonl"
        return MeasuredGrid(task, interface_of(task), file, start)


def with_random_values(skill: Skill, chance: random.Random) -> Skill:
    """The skill as if its kernel had won with other values of its parameters."""
    values = {parameter.name: chance.choice(parameter.choices) for parameter in skill.candidate.parameters}
    candidate = skill.candidate.with_parameters(values)
    evidence = tuple(e.model_copy(update={"candidate_digest": candidate.digest}) for e in skill.evidence)
    changes = {"candidate": candidate, "evidence": evidence, "signatures": {}, "records": (), "folder": None}
    return named(skill.model_copy(update=changes))


if __name__ == "__main__":
    main()

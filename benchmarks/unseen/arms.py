"""Lets an author write kernels for a chip that nobody has seen, with the documents or without, and judges them.

Each trial is a folder: `prompt-1.md`, the author's `answer-1.md`, `verdict-1.json`, the next prompt, and so on. What an
author was shown beside the prompts, such as the output of searches, is in `read-1.txt`, if it was recorded. An author
who remembers may be shown only what is new in a prompt, which is then in `shown-1.md`. All arms are runs of kb in homes
of their own, so they differ only in what the home holds, and in one sentence of the prompt.
"""

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from itertools import product
from pathlib import Path
from typing import NamedTuple

from benchmarks.unseen import kernels
from benchmarks.unseen.bound import least_cycles
from benchmarks.unseen.chip import chip
from benchmarks.unseen.host import simulate
from benchmarks.unseen.make import DOCUMENTS, TOOLCHAIN, make
from benchmarks.unseen.toolchain import rules, task_file
from eval.oracle.reference import Reference
from eval.oracle.task import load_task
from kb.errors import RunError, SynthesisError
from kb.runs.journal import Run
from kb.settings import Settings
from kb.skillbook.win import named
from kb.types.base import tokens_of
from kb.types.kernels import Candidate, Task
from kb.types.skill import Skill, SkillKind
from kb.usecases.curating import decide
from kb.usecases.knowledge_base import KnowledgeBase

ATTEMPTS = 5
MADE, HOMES = "made", "homes"
"""Folders beside those of the trials."""
LEARNT = ("scaled-add", "row-sum")
"""The earlier tasks, whose expert kernels are skills in the arm kb+skills. They are no trials of any arm."""
NEXT_SEED = 1
"""Added to a seed, it gives that of the wrong chip."""


class Arm(StrEnum):
    NOTHING = "nothing"
    """How a file is handed in, and what the judge says."""
    RAW = "raw"
    """The documents as files."""
    KB = "kb"
    """The documents in kb."""
    KB_SKILLS = "kb+skills"
    """The same, and two kernels for other tasks as skills."""
    WRONG_CHIP = "wrong-chip"
    """Another seed's documents in kb, as if they were this chip's."""


EXTRA = {
    Arm.NOTHING: "There are no documents.",
    Arm.RAW: "The chip's documents are the files in `documents`: read and search them as you like. "
    "What they say holds.",
}
KB_EXTRA = (
    "The chip's documents are in kb: `kb search QUESTION --target {target}` and `kb --help`. What they say holds."
)


class Trial(NamedTuple):
    folder: Path
    home: Path
    """Outside of the folder, because it holds the simulator, too."""
    seed: int
    arm: Arm
    task: str

    def file(self, kind: str, attempt: int, suffix: str = ".md") -> Path:
        return self.folder / f"{kind}-{attempt}{suffix}"

    def verdicts(self) -> list[dict]:
        files = (self.file("verdict", attempt, ".json") for attempt in range(1, ATTEMPTS + 1))
        return [json.loads(file.read_text(encoding="utf-8")) for file in files if file.is_file()]


def trials(
    out: Path, seeds: Sequence[int], arms: Sequence[Arm], tasks: Sequence[str], repetitions: int
) -> Iterator[Trial]:
    for seed, task, arm, repetition in product(seeds, tasks, arms, range(1, repetitions + 1)):
        place = Path(f"seed-{seed}", task, arm, str(repetition))
        yield Trial(out / place, out / HOMES / "trials" / place, seed, arm, task)


def advance(trial: Trial, out: Path, author: str = "") -> bool:
    """Go on with a trial as far as there are answers. Returns whether it is over.

    Args:
        out: Folder of all trials, which keeps the homes that are copied.
        author: A command that reads {prompt} and writes {answer}; empty: somebody else writes the answers.
    """
    if not trial.home.is_dir():
        shutil.copytree(_prepared(trial.seed, trial.arm, out), trial.home)
        trial.folder.mkdir(parents=True)
        if trial.arm is Arm.RAW:
            (trial.folder / DOCUMENTS).symlink_to((_made(trial.seed, out) / DOCUMENTS).resolve())
    task = load_task(task_file(trial.task))
    with KnowledgeBase(Settings.load(trial.home)) as kb:
        for attempt in range(1, ATTEMPTS + 1):
            if not trial.file("prompt", attempt).is_file():
                _begin(kb, trial, task)
            if not trial.file("verdict", attempt, ".json").is_file():
                answer = trial.file("answer", attempt)
                if author and not answer.is_file():
                    _ask(author, trial, attempt)
                if not answer.is_file():
                    return False
                _judge(kb, trial, attempt)
            if trial.verdicts()[-1]["outcome"] == "passed":
                break
    return True


def _begin(kb: KnowledgeBase, trial: Trial, task: Task) -> None:
    plan = kb.plan(task, _target(trial.seed), synthesizer="external", evaluations=ATTEMPTS)
    _, prompt = kb.prompt(plan)
    trial.file("prompt", 1).write_text(_prompt_text(trial, prompt.text), encoding="utf-8")


def _prompt_text(trial: Trial, text: str) -> str:
    extra = EXTRA.get(trial.arm, KB_EXTRA).format(target=_target(trial.seed))
    return f"{text}\n\n{extra}\n"


def _ask(author: str, trial: Trial, attempt: int) -> None:
    """Have a command write the answer. Raises CalledProcessError if it fails."""
    names = {"prompt": trial.file("prompt", attempt).resolve(), "answer": trial.file("answer", attempt).resolve()}
    command = [word.format(**names) for word in shlex.split(author)]
    with_kb = trial.arm not in EXTRA
    environment = os.environ | ({"KB_HOME": str(trial.home.resolve())} if with_kb else {})
    subprocess.run(command, cwd=trial.folder, env=environment, check=True)


def _judge(kb: KnowledgeBase, trial: Trial, attempt: int) -> None:
    """Judge an answer; write the verdict, and the next prompt if it was refused."""
    answer = trial.file("answer", attempt).read_text(encoding="utf-8")
    read, shown = trial.file("read", attempt, ".txt"), trial.file("shown", attempt)
    prompt = trial.file("prompt", attempt).read_text(encoding="utf-8")
    verdict: dict = {
        "attempt": attempt,
        "prompt_characters": len(prompt),
        "prompt_tokens": tokens_of(prompt),
        "shown_characters": len(shown.read_text(encoding="utf-8") if shown.is_file() else prompt),
        "read_characters": len(read.read_text(encoding="utf-8")) if read.is_file() else 0,
        "answer_characters": len(answer),
        "answer_tokens": tokens_of(answer),
    }
    run: Run = next(iter(kb.runs))
    try:
        submission = kb.submit(run, answer)
    except (SynthesisError, RunError) as error:  # it holds no program, or one that was refused before
        verdict |= {"outcome": "no_candidate", "detail": str(error)}
        following = f"{prompt}\nThe last answer was refused: {error}\n"
    else:
        evidence = submission.evidence
        verdict |= {"outcome": evidence.outcome, "detail": evidence.detail}
        if evidence.passed:
            source = run.attempts[-1].candidate.source
            verdict |= {"cycles": cycles_of(trial.seed, trial.task, source), **anchors(trial.seed, trial.task)}
        following = _prompt_text(trial, submission.prompt.text) if submission.prompt else ""
    trial.file("verdict", attempt, ".json").write_text(json.dumps(verdict, indent=1) + "\n", encoding="utf-8")
    if verdict["outcome"] != "passed" and attempt < ATTEMPTS:
        trial.file("prompt", attempt + 1).write_text(following, encoding="utf-8")


# Cycles


def cycles_of(seed: int, task: str, source: str) -> int:
    """Simulated cycles of a program at the sizes of the task's file. Raises Fault."""
    reference = Reference(load_task(task_file(task)), seed=0)
    interface = reference.interface()
    tensors = [tensor.numpy() for tensor in (*reference.inputs(0), *reference.state.values())]
    outputs = [(spec.shape, spec.dtype) for spec in interface.outputs]
    return simulate(chip(seed), source, tensors, interface.init, outputs).cycles


def anchors(seed: int, task: str) -> dict[str, int]:
    """The cycles of the expert's and of the naive program, and those that no program can go below."""
    found, reference = chip(seed), Reference(load_task(task_file(task)), seed=0)
    given = [tuple(tensor.shape) for tensor in (*reference.inputs(0), *reference.state.values())]
    return {
        "expert_cycles": cycles_of(seed, task, kernels.expert(found, task)),
        "naive_cycles": cycles_of(seed, task, kernels.naive(found, task)),
        "least_cycles": least_cycles(found, task, given, reference.interface().outputs[0].shape),
    }


# Homes


def _target(seed: int) -> str:
    return chip(seed).names.chip.lower()


def _made(seed: int, out: Path) -> Path:
    """The folder of a seed."""
    with _once(out / MADE / f"seed-{seed}") as folder:
        if folder:
            make(seed, folder)
    return out / MADE / f"seed-{seed}"


def _prepared(seed: int, arm: Arm, out: Path) -> Path:
    """The home of an arm, as it is before a trial."""
    finished = out / HOMES / f"seed-{seed}-{arm}"
    with _once(finished) as home:
        if home:
            _fill(home, seed, arm, out)
    return finished


@contextmanager
def _once(folder: Path) -> Iterator[Path | None]:
    """A folder to be filled that then becomes the one that is named; None if that is there."""
    if folder.is_dir():
        yield None
        return
    begun = folder.with_name(f"{folder.name}.begun")
    shutil.rmtree(begun, ignore_errors=True)
    begun.mkdir(parents=True)
    yield begun
    begun.rename(folder)


def _fill(home: Path, seed: int, arm: Arm, out: Path) -> None:
    shutil.copytree(_made(seed, out) / TOOLCHAIN, home / "toolchains")
    with KnowledgeBase(Settings.load(home)) as kb:
        match arm:
            case Arm.NOTHING | Arm.RAW:
                page = home / "page" / "handing-in.md"  # kb writes no prompt for a chip without any document
                page.parent.mkdir()
                page.write_text(f"# {chip(seed).names.chip}\n\n{rules(chip(seed))}", encoding="utf-8")
                kb.ingest([page], target=_target(seed))
            case Arm.WRONG_CHIP:
                wrong = chip(seed + NEXT_SEED).names
                documents = _made(seed + NEXT_SEED, out) / DOCUMENTS / wrong.family.lower() / wrong.chip.lower()
                kb.ingest([documents], target=_target(seed))
            case _:
                kb.ingest([_made(seed, out) / DOCUMENTS])
        if arm is Arm.KB_SKILLS:
            for task in LEARNT:
                _teach(kb, seed, task)


def _teach(kb: KnowledgeBase, seed: int, name: str) -> None:
    """Add the expert's kernel for a task as a skill, with the judge's evidence."""
    task, target = load_task(task_file(name)), _target(seed)
    language = chip(seed).names.language
    candidate = Candidate(language=language, source=kernels.expert(chip(seed), name))
    skill = Skill(
        name=f"{name}-{target}",
        kind=SkillKind.TECHNIQUE,
        description=f"A fast {language} kernel for {name} on {target}. Use it as a start for kernels of other tasks.",
        body=f"# {name} on {target}\n\nA kernel that gets and puts blocks of rows while others are computed.",
        target=target,
        language=language,
        candidate=candidate,
        suffix=".s",
        evidence=(kb.verify(task, candidate, target),),
    )
    decide(kb, "accept", kb.skills.propose(named(skill), by="a benchmark").name)

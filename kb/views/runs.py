"""Runs, their candidates, and what became of an answer."""

from typing import TYPE_CHECKING

from kb.runs.journal import Rules, Run, SynthesizerKind
from kb.types.base import Frozen
from kb.types.protocols import Attempt, Stage
from kb.views.prompts import PromptView, prompt_view
from kb.views.response import view_of
from kb.views.verdicts import Verdict, verdict
from synth.authors.asking import Spent
from synth.authors.spending import Budget

if TYPE_CHECKING:
    from kb.usecases.running import Submission


class AttemptView(Frozen):
    number: int
    note: str
    recalled: str
    """The skill whose kernel it is, unchanged; empty if it is none."""
    skills_used: tuple[str, ...]
    author: str
    """Who wrote it; empty if nobody was asked."""
    stage: Stage | None
    """What its author was asked for; None if the tuner found its values, or nobody was asked."""
    parent: int
    """Number of the attempt that it changes; 0 if there is none."""
    verdict: Verdict


class RunView(Frozen):
    """A run without the sources, which its folder holds."""

    id: str
    task: str
    target: str
    language: str
    synthesizer: SynthesizerKind
    authors: tuple[str, ...]
    """Who is asked; empty for runs of the tuner and by hand."""
    budget: Budget
    held_back: int
    """Number of private documents that no author gets."""
    control: bool
    rules: Rules
    folder: str
    ended: str
    """Why it ended; empty if it has not."""
    published: tuple[str, ...]
    """The skills that it wrote."""
    spent: Spent
    evaluations_left: int
    best: int | None
    """Number of the fastest candidate that won, otherwise of the fastest that passed."""
    attempts: tuple[AttemptView, ...]

    @property
    def best_verdict(self) -> Verdict | None:
        return self.attempts[self.best - 1].verdict if self.best else None


class SubmissionView(Frozen):
    verdict: Verdict
    published: tuple[str, ...]
    """The skills that the answer became."""
    prompt: PromptView | None
    """The next prompt; None if the run is over."""
    ended: str
    notes: tuple[str, ...]
    """What was asked for and not done, and why."""


def attempt_view(number: int, attempt: Attempt) -> AttemptView:
    return view_of(AttemptView, attempt, number=number, verdict=verdict(attempt.evidence))


def run_view(run: Run) -> RunView:
    return view_of(
        RunView,
        run,
        task=run.plan.task.name,
        folder=str(run.folder),
        best=run.attempts.index(run.best) + 1 if run.best else None,
        attempts=tuple(attempt_view(number, attempt) for number, attempt in enumerate(run.attempts, start=1)),
    )


def submission_view(run: Run, done: "Submission", *, brief: bool = False) -> SubmissionView:
    prompt = done.prompt and prompt_view(done.prompt, run=run.id, brief=brief)
    return view_of(SubmissionView, done, verdict=verdict(done.evidence), prompt=prompt)

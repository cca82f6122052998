"""A run as one report: what its page, its Markdown and `--json` show. It can be made of a run that goes on, or that was
killed."""

from collections.abc import Sequence

from kb import __version__
from kb.runs.journal import Run
from kb.types.base import Frozen
from kb.types.evidence import Outcome
from kb.types.protocols import Attempt
from kb.types.skill import Skill
from kb.usecases.knowledge_base import KnowledgeBase
from kb.views.answers import AnswerView, AuthorCost, answers_of, costs_of
from kb.views.candidates import CandidateReport, candidates_of, diff, prompts_of
from kb.views.cited import LEFT_OUT, Cited, Sources
from kb.views.progress import Progress, progress
from kb.views.response import view_of
from kb.views.runs import run_view
from synth.authors.asking import Spent


class Refusal(Frozen):
    outcome: str
    meaning: str
    candidates: tuple[int, ...]


class SkillUse(Frozen):
    name: str
    description: str
    """Empty if the library does not hold it any more."""
    standing: str
    """At present."""
    shown_to: tuple[int, ...]
    """The candidates whose prompt showed it, or that are tunings of its kernel."""
    best: str
    """The verdict of the best of them that passed; empty if none did."""


class Machine(Frozen):
    """What judged."""

    environment: dict[str, str]
    sandbox_level: int
    candidates: tuple[int, ...]


class Report(Frozen):
    """All times are of one call, in microseconds."""

    kb: str
    """The version of kb that wrote this report."""
    id: str
    task: str
    task_source: str
    precision: str
    target: str
    language: str
    synthesizer: str
    control: bool
    seed: int
    evaluations: int
    created: str
    ended: str
    """Why it ended; empty if it has not: it goes on, or was killed."""
    waits_for: str
    """What an open run was doing last; empty if it has ended."""
    held_back: int
    """Number of private documents that no author got."""
    best: int
    """Number of the best candidate, see `Run.rank`; 0 if none passed."""
    file: str
    """That of the best one, within the home; empty if there is none."""
    published: tuple[str, ...]
    """The skills that it wrote."""
    rules: str
    """What every prompt says: rules, then target, task and contract; empty if no prompt is kept."""
    progress: Progress
    candidates: tuple[CandidateReport, ...]
    refusals: tuple[Refusal, ...]
    cited: tuple[Cited, ...]
    skills: tuple[SkillUse, ...]
    answers: tuple[AnswerView, ...]
    costs: tuple[AuthorCost, ...]
    spent: Spent
    budget: str
    machines: tuple[Machine, ...]

    @property
    def best_candidate(self) -> CandidateReport | None:
        return self.candidates[self.best - 1] if self.best else None

    @property
    def timed(self) -> list[CandidateReport]:
        """The candidates with a time that counts."""
        return [one for one in self.candidates if one.time_us]

    @property
    def written(self) -> list[CandidateReport]:
        """The candidates, the last first, of which the best one is made: itself and all that it goes back to, without
        those that the tuner found. The last in this list began the structure."""
        found, number = list[CandidateReport](), self.best
        while number:
            one = self.candidates[number - 1]
            found += [one] if one.stage != "tuned" else []
            number = one.parent
        return found

    @property
    def written_by(self) -> str:
        """Who wrote the best candidate: an author, a skill whose kernel the run took, or a hand."""
        one = self.written[0]
        return one.author or (f"the skill {one.recalled}" if one.recalled and not one.stage else "hand")

    @property
    def changes_skill(self) -> str:
        """The skill whose kernel the best candidate changes; empty if it is a new kernel, or that of a skill."""
        return self.written[-1].recalled if self.best and self.written[-1].number != self.best else ""

    @property
    def winning_diff(self) -> str:
        """What a repository gets by the best candidate: the change of a skill's kernel, or else a new file."""
        if self.best_candidate is None:
            return ""
        before, old = (self.written[-1].source, self.changes_skill) if self.changes_skill else ("", "/dev/null")
        return diff(before, self.best_candidate.source, old, f"{self.task}.{self.language}")

    def changed(self, one: CandidateReport) -> dict[str, int]:
        """Its settings that differ from those of the candidate that it changes; all if there is none."""
        before = self.candidates[one.parent - 1].settings if one.parent else {}
        return {name: value for name, value in one.settings.items() if before.get(name) != value}

    def of_parent(self, one: CandidateReport) -> float | None:
        """Its time over that of the candidate that it changes; None if either has none."""
        parent = self.candidates[one.parent - 1] if one.parent else None
        return one.time_us.value / parent.time_us.value if one.time_us and parent and parent.time_us else None


def report(kb: KnowledgeBase, run: Run) -> Report:
    """The report of a run as its journal is now."""
    plan, view, prompts = run.plan, run_view(run), prompts_of(run)
    sources = Sources(kb, (id_ for prompt in prompts.values() for id_ in prompt.cited))
    candidates = candidates_of(run, prompts, sources)
    cited = dict.fromkeys(id_ for one in candidates for id_ in (*(one.prompt.cited if one.prompt else ()), *one.cited))
    first = next(iter(prompts.values()), None)
    kernels = sorted(run.folder.glob(f"candidates/{view.best:03d}.*")) if view.best else []
    return view_of(
        Report,
        run,
        kb=__version__,
        task=plan.task.name,
        task_source=plan.task.source,
        precision=plan.task.precision,
        budget=str(plan.budget),
        waits_for="" if run.ended else _waits_for(run),
        best=view.best or 0,
        file=f"runs/{run.id}/candidates/{kernels[0].name}" if kernels else "",
        rules=sources.open_text(f"{first.rules}\n\n{first.stable}") if first else "",
        progress=progress(view),
        candidates=candidates,
        refusals=_refusals(candidates),
        cited=tuple(map(sources.get, cited)),
        skills=_skills(kb, run, candidates, sources),
        answers=answers_of(run, sources),
        costs=costs_of(run),
        machines=_machines(run.attempts),
    )


def _waits_for(run: Run) -> str:
    if run.pending:
        return f"the verdict on candidate {run.step}"
    if run.exchanges and not run.exchanges[-1].answered:
        return f"an answer of {run.exchanges[-1].author}"
    return f"candidate {run.step}"


def _refusals(candidates: Sequence[CandidateReport]) -> tuple[Refusal, ...]:
    """The reasons, the most frequent first."""
    from synth.prompts.diagnosis import MEANING

    by_reason: dict[Outcome, list[int]] = {}
    for one in candidates:
        if one.outcome not in (None, Outcome.PASSED):
            by_reason.setdefault(one.outcome, []).append(one.number)
    return tuple(
        Refusal(outcome=reason.replace("_", " "), meaning=MEANING[reason], candidates=tuple(numbers))
        for reason, numbers in sorted(by_reason.items(), key=lambda item: -len(item[1]))
    )


def _skills(kb: KnowledgeBase, run: Run, every: Sequence[CandidateReport], sources: Sources) -> tuple[SkillUse, ...]:
    used: dict[str, list[CandidateReport]] = {}
    for one in every:
        for name in dict.fromkeys((*one.skills_used, *filter(None, (one.recalled,)))):
            used.setdefault(name, []).append(one)
    known = {skill.name: skill for skill in kb.skills.known()} if used else {}
    standings = kb.skills.standings(known[name] for name in used if name in known)
    return tuple(
        SkillUse(
            name=name,
            description=_description(known.get(name), sources),
            standing=standings.get(name, "gone"),
            shown_to=tuple(one.number for one in by),
            best=_best_of(run, by),
        )
        for name, by in used.items()
    )


def _description(skill: Skill | None, sources: Sources) -> str:
    return "" if skill is None else LEFT_OUT if sources.private(skill.citations) else skill.description


def _best_of(run: Run, candidates: Sequence[CandidateReport]) -> str:
    attempts, passed = run.attempts, [one for one in candidates if one.passed]
    best = min(passed, key=lambda one: run.rank(attempts[one.number - 1]), default=None)
    return f"{best.number}: {best.summary}" if best else ""


def _machines(attempts: Sequence[Attempt]) -> tuple[Machine, ...]:
    same: dict[tuple[tuple[tuple[str, str], ...], int], list[int]] = {}
    for number, one in enumerate(attempts, start=1):
        key = (tuple(one.evidence.environment.items()), one.evidence.sandbox_level)
        same.setdefault(key, []).append(number)
    return tuple(
        Machine(environment=dict(environment), sandbox_level=level, candidates=tuple(numbers))
        for (environment, level), numbers in same.items()
    )

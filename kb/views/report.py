"""A run as one report: what its page, its Markdown and `--json` show. It can be made of a run that goes on, or that was
killed."""

from collections.abc import Iterable, Sequence
from difflib import unified_diff
from typing import TYPE_CHECKING

from kb import __version__
from kb.errors import SkillError
from kb.runs.journal import Run
from kb.types.base import Frozen
from kb.types.evidence import Evidence, Outcome
from kb.types.protocols import Attempt, Proposal, Tried
from kb.views.answers import AnswerView, AuthorCost, answers_of, costs_of
from kb.views.cited import LEFT_OUT, Cited, Sources
from kb.views.progress import Progress, progress, roof_us
from kb.views.runs import run_view
from kb.views.verdicts import Estimate, Verdict, verdict
from synth.authors.asking import Spent

if TYPE_CHECKING:
    from kb.usecases.knowledge_base import KnowledgeBase
    from synth.prompts.prompt import Prompt


class PromptShown(Frozen):
    """What an author was told for one candidate, beside rules, task and contract."""

    text: str
    """Empty if it quotes a private document."""
    tokens: int
    """Of the whole prompt."""
    cited: tuple[str, ...]
    """Ids of what it cites."""
    skills: tuple[str, ...]
    left_out: tuple[str, ...]
    """What did not fit into it."""


class Quick(Frozen):
    """The settings of a kernel that were timed quickly. It is no evidence."""

    count: int
    refused: int
    fastest_us: float | None
    fastest: dict[str, int]


class CandidateReport(Frozen):
    number: int
    structure: int
    """Number of the candidate that began its structure."""
    parent: int
    """Number of the candidate that it changes; 0 if there is none."""
    stage: str
    """What its author was asked for; `tuned` if the tuner found its values; empty for kernels of skills or by hand."""
    note: str
    author: str
    recalled: str
    """The skill whose kernel it is, unchanged."""
    skills_used: tuple[str, ...]
    outcome: Outcome | None
    """None while it waits for its verdict."""
    won: bool
    busy: bool
    """Whether it passed and has no time that counts."""
    summary: str
    time_us: Estimate | None
    speedup: Estimate | None
    baseline: str
    roof_share: float | None
    """The time at the chip's cited rates, divided by its own; None if it is not known."""
    diagnosis: tuple[str, ...]
    """What happened and by how much, and what to do."""
    cases: tuple[str, ...]
    """Those that failed."""
    cited: tuple[str, ...]
    """Ids of the facts on which its verdict rests."""
    log: str
    """The end of its output, if it was refused."""
    judged: str
    """When, in UTC, ISO 8601."""
    settings: dict[str, int]
    quick: Quick | None
    source: str
    diff: str
    """Against its parent."""
    prompt: PromptShown | None


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
    """The verdict of the fastest of them that passed; empty if none did."""


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
    authors: tuple[str, ...]
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
    """Number of the fastest candidate that won, or else that passed; 0 if none did."""
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
    def origin(self) -> CandidateReport | None:
        """The candidate with which the best one's structure began."""
        return self.candidates[self.best_candidate.structure - 1] if self.best_candidate else None

    @property
    def winning_diff(self) -> str:
        """What a repository gets by the best candidate: the change of a skill's kernel, or else a new file."""
        best, origin = self.best_candidate, self.origin
        if best is None or origin is None:
            return ""
        before = origin.source if origin.recalled else ""
        return _diff(before, best.source, origin.recalled or "/dev/null", f"{self.task}.{self.language}")

    def below(self, number: int) -> list[CandidateReport]:
        """The candidates that change this one; with 0, those that begin a structure."""
        return [one for one in self.candidates if one.parent == number]


def report(kb: "KnowledgeBase", run: Run) -> Report:
    """The report of a run as its journal is now."""
    plan, view, sources = run.plan, run_view(run), Sources(kb)
    prompts = _prompts(run)
    attempts: list[Attempt | Proposal] = [*run.attempts, *([run.pending] if run.pending else [])]
    candidates = tuple(
        _candidate(number, one, attempts, run.tried, prompts.get(number), sources)
        for number, one in enumerate(attempts, start=1)
    )
    cited = dict.fromkeys(id_ for one in candidates for id_ in (*(one.prompt.cited if one.prompt else ()), *one.cited))
    first = next(iter(prompts.values()), None)
    return Report(
        kb=__version__,
        id=run.id,
        task=plan.task.name,
        task_source=plan.task.source,
        precision=plan.task.precision,
        target=plan.target,
        language=plan.language,
        synthesizer=plan.synthesizer,
        authors=plan.authors,
        control=plan.control,
        seed=plan.seed,
        evaluations=plan.evaluations,
        created=plan.created,
        ended=run.ended,
        waits_for="" if run.ended else _waits_for(run),
        held_back=plan.held_back,
        best=view.best or 0,
        published=run.published,
        rules=sources.open_text(f"{first.rules}\n\n{first.stable}") if first else "",
        progress=progress(view),
        candidates=candidates,
        refusals=_refusals(candidates),
        cited=tuple(map(sources.get, cited)),
        skills=_skills(kb, candidates, sources),
        answers=answers_of(run),
        costs=costs_of(run),
        spent=run.spent,
        budget=str(plan.budget),
        machines=_machines(run.attempts),
    )


def _prompts(run: Run) -> dict[int, "Prompt"]:
    """The prompts by the numbers of the candidates that answered them."""
    proposed = [*run.attempts, *([run.pending] if run.pending else [])]
    written = [number for number, one in enumerate(proposed, start=1) if not one.is_tuned]
    kept = ((number, run.prompt(question)) for question, number in enumerate(written, start=1))
    return {number: prompt for number, prompt in kept if prompt}


def _waits_for(run: Run) -> str:
    if run.pending:
        return f"the verdict on candidate {run.step}"
    if run.spent.unanswered or run.asked:
        return f"an answer to the question for candidate {run.step} or a later one"
    return f"candidate {run.step}"


def _candidate(
    number: int,
    one: Attempt | Proposal,
    all_: Sequence[Proposal],
    tried: Sequence[Tried],
    prompt: "Prompt | None",
    sources: Sources,
) -> CandidateReport:
    kernel = one.candidate
    judged = verdict(one.evidence) if isinstance(one, Attempt) else None
    return CandidateReport(
        number=number,
        structure=_structure(number, all_),
        parent=one.parent,
        stage="tuned" if one.is_tuned else one.stage or "",
        note=one.note,
        author=one.author,
        recalled=one.recalled,
        skills_used=one.skills_used,
        **_judged(judged, sources),
        settings={parameter.name: parameter.value for parameter in kernel.parameters},
        quick=None if one.is_tuned else _quick([t for t in tried if t.template == kernel.template_digest]),
        source=kernel.source,
        diff=_diff(
            all_[one.parent - 1].candidate.source, kernel.source, f"candidate {one.parent}", f"candidate {number}"
        )
        if one.parent
        else "",
        prompt=prompt and _prompt(prompt, sources),
    )


def _structure(number: int, all_: Sequence[Proposal]) -> int:
    while parent := all_[number - 1].parent:
        number = parent
    return number


def _judged(judged: Verdict | None, sources: Sources) -> dict[str, object]:
    """The fields of a candidate that come from its verdict."""
    from synth.prompts.diagnosis import diagnose

    if judged is None:
        return {
            "outcome": None, "won": False, "busy": False, "summary": "", "time_us": None, "speedup": None,
            "baseline": "", "roof_share": None, "diagnosis": (), "cases": (), "cited": (), "log": "", "judged": "",
        }  # fmt: skip
    evidence, roof = judged.evidence, roof_us(judged)
    told = dict.fromkeys(map(sources.open_text, diagnose(evidence)))
    failed = [case for case in evidence.cases if case.outcome is not Outcome.PASSED]
    return {
        "outcome": evidence.outcome,
        "won": judged.won,
        "busy": evidence.untimed,
        "summary": sources.open_text(judged.summary),
        "time_us": judged.time_us,
        "speedup": judged.speedup,
        "baseline": judged.baseline,
        "roof_share": roof / judged.time_us.value if roof and judged.time_us else None,
        "diagnosis": tuple(told),
        "cases": tuple(f"{case.name}: {case.outcome.replace('_', ' ')}. {case.detail}".strip() for case in failed),
        "cited": tuple(_cited_by(evidence)),
        "log": "" if evidence.passed else evidence.log,
        "judged": evidence.created,
    }


def _cited_by(evidence: Evidence) -> Iterable[str]:
    limit = evidence.bottleneck
    findings = (finding.citation for screen in evidence.screen for finding in screen.findings if finding.citation)
    return dict.fromkeys((*(limit.citations if limit else ()), *findings))


def _quick(tried: Sequence[Tried]) -> Quick | None:
    if not tried:
        return None
    timed = [one for one in tried if one.time_us is not None]
    fastest = min(timed, key=lambda one: one.time_us or 0.0, default=None)
    return Quick(
        count=len(tried),
        refused=len(tried) - len(timed),
        fastest_us=fastest.time_us if fastest else None,
        fastest=fastest.values if fastest else {},
    )


def _diff(before: str, after: str, old: str, new: str) -> str:
    return "\n".join(unified_diff(before.splitlines(), after.splitlines(), old, new, lineterm=""))


def _prompt(prompt: "Prompt", sources: Sources) -> PromptShown:
    quotes_private = sources.private(prompt.cited)
    return PromptShown(
        text="" if quotes_private else sources.open_text(prompt.rest),
        tokens=prompt.tokens,
        cited=prompt.cited,
        skills=prompt.skills,
        left_out=prompt.left_out,
    )


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


def _skills(kb: "KnowledgeBase", candidates: Sequence[CandidateReport], sources: Sources) -> tuple[SkillUse, ...]:
    used: dict[str, list[CandidateReport]] = {}
    for one in candidates:
        for name in dict.fromkeys((*one.skills_used, *filter(None, (one.recalled,)))):
            used.setdefault(name, []).append(one)
    return tuple(_skill_use(kb, name, by, sources) for name, by in used.items())


def _skill_use(kb: "KnowledgeBase", name: str, by: Sequence[CandidateReport], sources: Sources) -> SkillUse:
    passed = [one for one in by if one.outcome is Outcome.PASSED]
    best = min(passed, key=lambda one: one.time_us.value if one.time_us else float("inf"), default=None)
    try:
        skill = kb.skills.find(name)
        standing = str(kb.skills.standing(skill))
        description = LEFT_OUT if sources.private(skill.citations) else skill.description
    except SkillError:
        standing, description = "gone", ""
    return SkillUse(
        name=name,
        description=description,
        standing=standing,
        shown_to=tuple(one.number for one in by),
        best=f"{best.number}: {best.summary}" if best else "",
    )


def _machines(attempts: Sequence[Attempt]) -> tuple[Machine, ...]:
    same: dict[tuple[tuple[tuple[str, str], ...], int], list[int]] = {}
    for number, one in enumerate(attempts, start=1):
        key = (tuple(one.evidence.environment.items()), one.evidence.sandbox_level)
        same.setdefault(key, []).append(number)
    return tuple(
        Machine(environment=dict(environment), sandbox_level=level, candidates=tuple(numbers))
        for (environment, level), numbers in same.items()
    )

"""The candidates of a run as its report shows them, without what is private."""

from collections import defaultdict
from collections.abc import Sequence
from difflib import unified_diff
from math import inf

from pydantic import Field

from kb.runs.journal import Run
from kb.runs.question import written
from kb.types.base import Frozen
from kb.types.evidence import Evidence, KernelScreen, Outcome
from kb.types.protocols import Attempt, Proposal
from kb.usecases.knowledge_base import KnowledgeBase
from kb.views.cited import Sources, ids_in
from kb.views.progress import roof_us
from kb.views.response import V, view_of
from kb.views.verdicts import Estimate, verdict
from synth.prompts.prompt import Prompt


class PromptShown(Frozen):
    """What an author was told for one candidate, beside rules, task and contract."""

    text: str
    """Empty if it quotes a private document."""
    tokens: int
    """Of the whole prompt."""
    cited: tuple[str, ...]
    """Ids of what it cites."""
    left_out: tuple[str, ...]
    """What did not fit into it."""


class Quick(Frozen):
    """Settings of a kernel that were timed quickly. It is no evidence."""

    settings: dict[str, int]
    time_us: float | None
    """Of the fastest of a few calls; None if it was refused."""


class CandidateReport(Frozen):
    """Fields with a default come from the verdict."""

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
    settings: dict[str, int]
    quick: tuple[Quick, ...]
    """What the tuner tried of a kernel that was written, the fastest first."""
    source: str
    diff: str
    """Against its parent."""
    prompt: PromptShown | None
    outcome: Outcome | None = None
    """None while it waits for its verdict."""
    won: bool = False
    summary: str = ""
    time_us: Estimate | None = None
    """None if no time counts."""
    speedup: Estimate | None = None
    baseline: str = ""
    """What the speed-up is over."""
    baselines_us: dict[str, float] = Field(default_factory=dict)
    """The times of all baselines, by which one was chosen; empty without a time, or with several workloads."""
    baseline_us: float | None = None
    """The time of the chosen one beside it."""
    sessions: int = 0
    """In which it was timed, at each workload."""
    right: int = 0
    """Number of cases with right outputs."""
    error_ratio: float | None = None
    """The largest error over all cases, as a share of what is allowed there; None if nothing was compared."""
    roof_us: float | None = None
    """The shortest time that the chip's cited rates allow; None if it is not known."""
    diagnosis: tuple[str, ...] = ()
    """What happened and by how much, and what to do."""
    advice: tuple[str, ...] = ()
    """The part of it that says what limits one that passed, and what to do."""
    cases: tuple[str, ...] = ()
    """Those that failed."""
    kernels: tuple[str, ...] = ()
    """Those that a screen compiled, each followed by its findings."""
    cited: tuple[str, ...] = ()
    """Ids of the facts on which the verdict rests."""
    log: str = ""
    """The end of its output, if it was refused."""
    judged: str = ""
    """When, in UTC, ISO 8601."""

    @property
    def passed(self) -> bool:
        return self.outcome is Outcome.PASSED

    @property
    def roof_share(self) -> float | None:
        """The share of the speed at the roof that it reaches."""
        return self.roof_us / self.time_us.value if self.roof_us and self.time_us else None


def prompts_of(run: Run) -> dict[int, Prompt]:
    """The prompts by the numbers of the candidates that answer them."""
    kept = ((number, run.prompt(question)) for question, number in written(run).items())
    return {number: prompt for number, prompt in kept if prompt}


def opened(kb: KnowledgeBase, run: Run, view: V) -> V:
    """A view of a run without the lines that repeat a private document, if `kb` is opened without these."""
    if kb.whole is kb:
        return view
    sources = Sources(kb, (id_ for prompt in prompts_of(run).values() for id_ in prompt.cited))

    def cleared(value: object) -> object:
        match value:
            case str():
                return sources.open_text(value)
            case dict():
                return {key: cleared(one) for key, one in value.items()}
            case list() | tuple():
                return [*map(cleared, value)]
        return value

    return type(view).model_validate(cleared(view.model_dump()))


def candidates_of(run: Run, prompts: dict[int, Prompt], sources: Sources) -> tuple[CandidateReport, ...]:
    """All candidates of a run, in order: those that are judged, and the one that waits for its verdict, if one does."""
    proposed: list[Proposal] = [*run.attempts, *([run.pending] if run.pending else [])]
    quick = defaultdict[str, list[Quick]](list)
    for one in run.tried:
        quick[one.template].append(Quick(settings=one.values, time_us=one.time_us))
    texts = [sources.open_text(one.candidate.source) for one in proposed]
    return tuple(
        view_of(
            CandidateReport,
            one,
            number=number,
            structure=_structure(number, proposed),
            stage="tuned" if one.is_tuned else one.stage or "",
            note=sources.open_text(one.note),
            settings=one.candidate.values,
            quick=() if one.is_tuned else sorted(quick[one.candidate.template_digest], key=lambda t: t.time_us or inf),
            source=text,
            diff=diff(texts[one.parent - 1], text, f"candidate {one.parent}", f"candidate {number}")
            if one.parent
            else "",
            prompt=_prompt(prompts[number], sources) if number in prompts else None,
            **(_judged(one.evidence, sources) if isinstance(one, Attempt) else {}),
        )
        for number, (one, text) in enumerate(zip(proposed, texts, strict=True), start=1)
    )


def diff(before: str, after: str, old: str, new: str) -> str:
    """A unified diff of two texts with these names."""
    return "\n".join(unified_diff(before.splitlines(), after.splitlines(), old, new, lineterm=""))


def _structure(number: int, proposed: Sequence[Proposal]) -> int:
    while parent := proposed[number - 1].parent:
        number = parent
    return number


def _prompt(prompt: Prompt, sources: Sources) -> PromptShown:
    text = "" if sources.private(prompt.cited) else sources.open_text(prompt.rest)
    return view_of(PromptShown, prompt, text=text)


def _judged(evidence: Evidence, sources: Sources) -> dict[str, object]:
    """The fields of a candidate that come from its verdict."""
    from synth.prompts.diagnosis import diagnose, quoted

    judged, limit = verdict(evidence), evidence.bottleneck
    timing = evidence.timing if judged.time_us else None
    findings = [finding.citation for screen in evidence.screen for finding in screen.findings if finding.citation]
    said = quoted(evidence.model_copy(update={"log": ""})) if evidence.passed else ()  # else the summary says it
    sentences = diagnose(evidence)[evidence.passed :]  # the first of one that passed says only that
    failed = [case for case in evidence.cases if case.outcome is not Outcome.PASSED]
    return {
        "outcome": evidence.outcome,
        "won": judged.won,
        "summary": sources.open_text(judged.summary),
        "time_us": judged.time_us,
        "speedup": judged.speedup,
        "baseline": timing.rivals if timing else "",
        "baselines_us": timing.baselines_us if timing and not timing.other_workloads else {},
        "baseline_us": timing.baseline_us if timing else None,
        "sessions": min(len(each.sessions) for each in timing.workloads) if timing else 0,
        "right": len(evidence.cases) - len(failed),
        "error_ratio": max((case.error_ratio for case in evidence.cases if case.error_ratio is not None), default=None),
        "roof_us": roof_us(judged),
        "diagnosis": tuple(map(sources.open_text, (*sentences, *said))),
        "advice": judged.advice,
        "cases": tuple(f"{case.name}: {case.outcome.replace('_', ' ')}. {case.detail}".strip() for case in failed),
        "kernels": tuple(sources.open_text(line) for screen in evidence.screen for line in _lines(screen)),
        "cited": tuple(dict.fromkeys((*(limit.citations if limit else ()), *findings, *ids_in(evidence.detail)))),
        "log": "" if evidence.passed else sources.open_text(evidence.log),
        "judged": evidence.created,
    }


def _lines(screen: KernelScreen) -> list[str]:
    return [
        str(screen),
        *(f"{one.state}: {one.message}{f' [{one.citation}]' if one.citation else ''}" for one in screen.findings),
    ]

"""The tools that judge kernels and drive runs. A task's file is trusted code, so it must lie in a folder that the user
named."""

from typing import TYPE_CHECKING, Annotated, Self

from pydantic import Field

from kb.mcp.tool import MAX_TOKENS, WRITES, TargetName, tool
from kb.types.base import Frozen
from kb.types.kernels import LanguageName
from kb.views import prompts, tasks, verdicts
from kb.views.response import Response, view_of

if TYPE_CHECKING:
    from kb.types.evidence import Evidence
    from kb.usecases.knowledge_base import KnowledgeBase

TaskFile = Annotated[
    str, Field(max_length=1000, description="A file with Model and get_inputs, by its path or that in a task folder.")
]
RunId = Annotated[str, Field(max_length=200, coerce_numbers_to_str=True, description="Id of a run, or the end of it.")]
Answer = Annotated[
    str, Field(max_length=400_000, description="The whole file in one fenced block, and a line with `note:`.")
]
LOG_CHARACTERS = 4000


class JudgedKernel(Frozen):
    """A verdict, without what only people and reports need."""

    summary: str
    """The outcome and its reason."""
    passed: bool
    won: bool
    """Whether it was shown to be faster than the best baseline."""
    advice: tuple[str, ...]
    """What limits one that passed, with the numbers that show it, and what to do."""
    log: str
    """The end of what it printed: data, not to be trusted."""


class KernelVerdict(Response):
    verdict: JudgedKernel


class Submitted(Response):
    verdict: JudgedKernel
    published: tuple[str, ...]
    """The skills that the answer became."""
    evaluations_left: int
    ended: str
    """Why the run is over; empty if it is not."""
    prompt: prompts.PromptView | None
    """The next prompt; None if the run is over."""


class RooflineAnswer(Response):
    time_us: float
    """The shortest time that the task can take, in microseconds."""
    bounds: tuple[verdicts.Bound, ...]
    """The longest first; each names the fact that states its rate."""


class RunAnswer(Response):
    run: str
    target: str
    language: str
    attempts: tuple[str, ...]
    """A line for each, in order."""
    best: int | None
    """Number of the fastest that won, otherwise of the fastest that passed."""
    evaluations_left: int
    spent: str
    """On its verdicts, and on authors if it has any."""
    ended: str
    """Why it is over; empty if it is not."""
    published: tuple[str, ...]
    prompt: prompts.PromptView | None
    """The prompt that it waits to have answered, if it was asked for."""
    report: str
    """In Markdown, with the best kernel, if it was asked for."""

    @property
    def parts(self) -> int:
        return len(self.report)

    def first(self, n: int) -> Self:
        return self.with_(report=self.report[:n], truncated=True)


@tool("List tasks")
def kb_tasks(kb: "KnowledgeBase") -> tasks.TaskFiles:
    """List the tasks in the folders that the user named: files for kb_start_run, kb_verify and kb_roofline."""
    return tasks.tasks_for_agents(kb)


@tool("Start a run", WRITES, tokens=MAX_TOKENS)
def kb_start_run(
    kb: "KnowledgeBase",
    task_file: TaskFile,
    target: TargetName,
    language: Annotated[
        str | None, Field(max_length=40, description="Such as triton or cpp (default: the usual one of the chip).")
    ] = None,
    evaluations: Annotated[int, Field(ge=1, le=100, description="Most kernels to judge.")] = 8,
) -> prompts.PromptView:
    """Start a run for a task and get its first prompt. Answer it with kb_submit, until the run is over."""
    task = tasks.task_for_agents(kb, task_file)
    plan = kb.plan(task, target, synthesizer="external", language=language, evaluations=evaluations)
    return prompts.started(kb, plan)


@tool("Submit a kernel to a run", WRITES, tokens=MAX_TOKENS)
def kb_submit(
    kb: "KnowledgeBase",
    run: RunId,
    answer: Answer,
    *,
    tune: Annotated[bool, Field(description="Tune its constants, too: minutes.")] = False,
    brief: Annotated[bool, Field(description="Next prompt without task, contract and the kernel sent.")] = False,
) -> Submitted:
    """Judge the answer to a run's last prompt, and get the verdict and the next prompt.

    It takes from seconds to minutes. A kernel that wins becomes a skill.
    """
    from kb.views.candidates import opened

    found = kb.runs.get(run)
    done = kb.submit(found, answer, tune=tune)
    sent = [own for one in found.attempts if brief and (own := one.candidate.source.strip()) in answer]
    prompt = done.prompt and prompts.prompt_view(done.prompt, run=found.id, brief=brief, without=sent)
    verdict, left = _judged(done.evidence), found.evaluations_left
    answered = view_of(Submitted, done, verdict=verdict, prompt=prompt or None, evaluations_left=left)
    return opened(kb, found, answered)


@tool("Judge a kernel", tokens=MAX_TOKENS)
def kb_verify(
    kb: "KnowledgeBase",
    task_file: TaskFile,
    source: Annotated[str, Field(max_length=400_000, description="The whole source of the kernel.")],
    language: Annotated[LanguageName, Field(max_length=40, description="Such as triton, cuda, cpp or torch.")],
    target: TargetName,
) -> KernelVerdict:
    """Judge one kernel without a run: nothing is kept. To search, use kb_start_run and kb_submit."""
    from kb.types.kernels import Candidate

    candidate = Candidate(language=language, source=source)
    return KernelVerdict(verdict=_judged(kb.verify(tasks.task_for_agents(kb, task_file), candidate, target)))


@tool("Bound the time of a task")
def kb_roofline(kb: "KnowledgeBase", task_file: TaskFile, target: TargetName) -> RooflineAnswer:
    """The shortest time that a task can take on a chip, by its bytes and operations and the chip's cited rates."""
    found = verdicts.roofline(kb, tasks.task_for_agents(kb, task_file), target)
    return RooflineAnswer(time_us=found.time_us, bounds=found.bounds, notes=found.unknown)


@tool("Show a run", tokens=MAX_TOKENS)
def kb_run(
    kb: "KnowledgeBase",
    run: RunId,
    *,
    prompt: Annotated[bool, Field(description="Also the whole prompt to answer; costs no evaluation.")] = False,
    report: Annotated[bool, Field(description="Also a report with the best kernel, for the user.")] = False,
) -> RunAnswer:
    """The attempts of a run with their outcomes, its best one and its skills, and what is spent."""
    from kb.views.candidates import opened
    from kb.views.report import report as report_of
    from kb.views.runs import run_view
    from kb.web.report import markdown

    found = kb.runs.get(run)
    seen = run_view(found)
    paid = f", ${seen.spent.dollars:.2f}, {seen.spent.usage.total:,} tokens" if seen.spent.usage.total else ""
    shown = view_of(
        RunAnswer,
        seen,
        run=seen.id,
        attempts=tuple(f"{one.number}: {one.verdict.summary} ({one.note})" for one in seen.attempts),
        spent=f"{len(seen.attempts)} of {found.plan.evaluations} evaluations, {found.judged_s:.0f} s of judging{paid}",
        prompt=prompts.prompt_view(kb.next_prompt(found), run=seen.id) if prompt else None,
        report=markdown(report_of(kb, found)) if report else "",
    )
    return opened(kb, found, shown)


def _judged(evidence: "Evidence") -> JudgedKernel:
    seen = verdicts.verdict(evidence)
    return JudgedKernel(
        summary=seen.summary if evidence.detail in seen.summary else f"{seen.summary}\n{evidence.detail}",
        passed=seen.passed, won=seen.won, advice=seen.advice, log=evidence.log[-LOG_CHARACTERS:],
    )  # fmt: skip

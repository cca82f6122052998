"""A prompt for a kernel."""

from collections.abc import Sequence
from contextlib import suppress
from math import prod
from typing import TYPE_CHECKING

from kb.errors import RunError, TaskError
from kb.types.briefing import PromptItem
from kb.types.kernels import Interface
from kb.types.protocols import Stage
from kb.types.timing import MOST_OTHERS
from kb.views.response import NAMES_SHOWN, Response, json_tokens, view_of

if TYPE_CHECKING:  # the caller has it open; loading it here would delay the start of the MCP server
    from kb.runs.journal import Plan
    from kb.usecases.knowledge_base import KnowledgeBase
    from synth.prompts.prompt import Prompt

MOST_ELEMENTS = 1 << 48
"""Of a tensor that an agent states."""


class PromptView(Response):
    run: str
    stage: str
    """`draft`, `fix`, `improve` or `rethink`."""
    text: str
    tokens: int
    left_out: tuple[str, ...]
    """What did not fit into it."""


class ExplainedPrompt(PromptView):
    """A prompt with what it says, for a person: an agent would pay for each token."""

    items: tuple[PromptItem, ...]
    """What it says beside task and contract."""


def first_prompt(kb: "KnowledgeBase", plan: "Plan", device: str | None) -> ExplainedPrompt:
    """Start a run by hand and give its first prompt. Errors as in `KnowledgeBase.prompt`."""
    run, prompt = kb.prompt(plan, device=device)
    return _explained(kb, plan, prompt, run=run.id)


def stage_prompt(kb: "KnowledgeBase", plan: "Plan", stage: str, device: str | None) -> ExplainedPrompt:
    """The prompt of a stage, without a run. Errors as in `KnowledgeBase.stage_prompt`, and:

    Raises:
        RunError: there is no such stage.
    """
    if stage not in list(Stage):
        raise RunError(f"there is no stage {stage!r}", hint=f"stages: {', '.join(Stage)}")
    return _explained(kb, plan, kb.stage_prompt(plan, Stage(stage), device=device))


def draft_prompt(
    kb: "KnowledgeBase", source: str, name: str, interface: Interface, target: str, language: str | None,
    *, max_tokens: int,
) -> PromptView:  # fmt: skip
    """The first prompt for a task, of which no code runs, in an answer of at most `max_tokens`.

    Errors as in `KnowledgeBase.draft_prompt`, and:

    Raises:
        TaskError: `source` is not a task, or there can be no such tensor.
    """
    from eval.oracle.task import task_of
    from eval.worker.dtypes import ITEM_BYTES

    for one in (*interface.inputs, *interface.state, *interface.outputs):
        if one.dtype not in ITEM_BYTES or not 0 <= prod(one.shape) <= MOST_ELEMENTS:
            hint = f"give its whole shape, and one of the types {', '.join(ITEM_BYTES)}"
            raise TaskError(f"there is no tensor with the shape and the dtype of {one.name!r}", hint=hint)
    task = task_of(source, name=name, place="the argument `task`")
    plan = kb.plan(task, target, language=language, synthesizer="external")
    budget = min(kb.settings.prompt_tokens, max_tokens)
    while True:
        prompt = kb.draft_prompt(plan, interface, budget_tokens=budget)
        view = prompt_view(prompt)
        if (excess := json_tokens(view) - max_tokens) <= 0:
            return view
        budget = max(1, budget - excess)


def started(kb: "KnowledgeBase", plan: "Plan") -> PromptView:
    """Start a run for an agent; a note says if this machine is too busy for times. Errors as in `kb.prompt`."""
    from eval.machine import CpuUse

    use = None
    with suppress(OSError):  # only Linux says so; elsewhere the judge says what it needs
        use = CpuUse()
    run, prompt = kb.prompt(plan)
    others, most = use.by_others() if use else (0.0, ())
    busy = f"other work takes {others:.0%} of this machine's CPU time ({', '.join(most)}); above {MOST_OTHERS:.0%} no "
    busy += "time counts, so a kernel can be judged right, but not fast"
    return prompt_view(prompt, run=run.id).noted(*[busy] * (others > MOST_OTHERS))


def prompt_view(prompt: "Prompt", *, run: str = "", brief: bool = False, without: Sequence[str] = ()) -> PromptView:
    """What an author gets; if `brief`, without what the run's prompts share, and `without` these kernels."""
    for source in filter(None, without):
        prompt = prompt.model_copy(update={"rest": prompt.rest.replace(source, "(the kernel that you sent)")})
    left_out = prompt.left_out[:NAMES_SHOWN]
    return view_of(PromptView, prompt.brief if brief else prompt, run=run, left_out=left_out, truncated=bool(left_out))


def _explained(kb: "KnowledgeBase", plan: "Plan", prompt: "Prompt", *, run: str = "") -> ExplainedPrompt:
    from kb.usecases.judging import unjudged

    notes = filter(None, [unjudged(kb, plan.target, plan.language)])
    return ExplainedPrompt(**dict(prompt_view(prompt, run=run)), items=prompt.items).noted(*notes)

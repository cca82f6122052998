"""The first prompt for a kernel as plain data that fits into a number of tokens."""

from typing import TYPE_CHECKING

from kb.types.kernels import Interface
from kb.views.answers import NAMES_SHOWN, Answer

if TYPE_CHECKING:  # the caller has it open; loading it here would delay the start of the MCP server
    from kb.usecases.knowledge_base import KnowledgeBase

JUDGE = "no run was started: `kb prompt FILE --target TARGET` starts one, and `kb submit RUN FILE` judges a kernel"


class FirstPrompt(Answer):
    text: str
    prompt_tokens: int
    left_out: tuple[str, ...]
    """What did not fit into the prompt."""


def first_prompt(
    kb: "KnowledgeBase", source: str, name: str, interface: Interface, target: str, language: str | None,
    *, max_tokens: int,
) -> FirstPrompt:  # fmt: skip
    """The prompt for a task, of which no code runs. Errors as in `KnowledgeBase.draft_prompt`.

    Raises:
        TaskError: `source` is not a task.
    """
    from eval.oracle.task import task_of

    task = task_of(source, name=name, place="the argument `task`")
    plan = kb.plan(task, target, language=language, synthesizer="external")
    budget = min(kb.settings.prompt_tokens, max_tokens)
    while True:
        prompt = kb.draft_prompt(plan, interface, budget_tokens=budget)
        cut = bool(prompt.left_out)
        more = ("kb_search and kb_facts find what is left out",) if cut else ()
        answer = FirstPrompt(
            text=prompt.text, prompt_tokens=prompt.tokens, left_out=prompt.left_out[:NAMES_SHOWN], truncated=cut,
            notes=(JUDGE, *more),
        )  # fmt: skip
        if answer.tokens <= max_tokens:
            return answer
        budget = prompt.tokens * max_tokens // answer.tokens

"""Build the prompt for a request. A pure function: the same request gives the same bytes in any process."""

from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple

from kb.errors import SynthesisError
from kb.types.base import TOKEN_CHARACTERS, Frozen, tokens_of
from kb.types.briefing import PromptItem
from kb.types.protocols import Request, Stage
from synth.prompts.answer import answer_format
from synth.prompts.attempts import account, stage_of, table, told
from synth.prompts.contract import contract
from synth.prompts.hardware import Documents, answer_text, citations
from synth.prompts.render import one_line, render_parts
from synth.prompts.skills import has_kernel, rule_text, skill_text

SKILLS = 2
"""Most skills in a prompt."""
KERNELS = 2
"""Most kernels that a prompt shows: those of attempts first, then those of skills."""
ASKED = {
    Stage.DRAFT: "",
    Stage.FIX: "Correct {attempt}. Change only what the judge's findings name.",
    Stage.IMPROVE: "Make {attempt} faster: change what limits it most, and keep what works.",
    Stage.RETHINK: "Write a kernel of another structure than those tried.",
}
"""What each stage asks for."""
USUAL = {Stage.FIX: "the last attempt", Stage.IMPROVE: "the best attempt"}


class Prompt(Frozen):
    """A prompt for a model or a person."""

    rules: str
    """The same for every request."""
    stable: str
    """Target, task and contract: the same for all requests of a run."""
    rest: str
    stage: Stage
    skills: tuple[str, ...]
    """Names of the skills and rules in the prompt."""
    cited: tuple[str, ...]
    """Ids, for `kb cite`, of what it says of the hardware, in order."""
    items: tuple[PromptItem, ...]
    """What it says, in order."""
    left_out: tuple[str, ...]
    """The items of the request that are not in the prompt, each with the reason."""

    @property
    def text(self) -> str:
        return "\n\n".join(part for part in (self.rules, self.stable, self.rest) if part)

    @property
    def tokens(self) -> int:
        return tokens_of(self.text)

    @property
    def brief(self) -> "Prompt":
        """The prompt without what all prompts of its run say, for an author who remembers them."""
        return self.model_copy(update={"rules": "", "stable": ""})


Kind = Literal["attempt", "technique", "answer", "skill", "rule"]


class _Item(NamedTuple):
    """A part of the prompt that is shown whole or not at all."""

    kind: Kind
    number: int
    """Its place among the items of its kind in the request."""
    name: str
    why: str
    text: str
    kernel: str = ""
    """The kernel in it, which the budget does not count."""


def build_prompt(request: Request) -> Prompt:
    """The prompt for a request, with at most `budget_tokens` beside the task's source and the kernels that it shows.

    Task, contract and answer format are always included. Whole items fill the rest in this order: the last and the best
    attempt, rules, techniques, the nearest skill, the answers in the order of their questions, and the next skill.

    Raises:
        SynthesisError: the parts that are always included exceed the budget.
    """
    stage = request.stage or stage_of(request.attempts)
    attempts, answers = _attempts(request, stage), _answers(request)
    skills = _skills(request, KERNELS - len(attempts)) if stage is not Stage.FIX else []
    prompt = _composed(request, stage, ())
    if (needed := _counted(prompt, request, ())) > request.budget_tokens:
        raise SynthesisError(
            f"task, contract and answer format need {needed} tokens; the budget is {request.budget_tokens}",
            hint=f"allow at least {needed} tokens: a larger max_tokens, or prompt_tokens in kb.toml",
        )
    rules = [
        _Item("rule", n, one.skill.name, "what mended others", rule_text(one)) for n, one in enumerate(request.rules)
    ]
    techniques = [
        _Item("technique", n, str(n + 1), "what makes such kernels fast", f"{n + 1}. {text}")
        for n, text in enumerate(request.briefing.techniques)
    ]
    shown: list[_Item] = []
    left_out: list[str] = []
    for item in (*attempts, *rules, *techniques, *skills[:1], *answers, *skills[1:]):
        larger = _composed(request, stage, [*shown, item])
        if _counted(larger, request, [*shown, item]) <= request.budget_tokens:
            prompt, shown = larger, [*shown, item]
        else:
            room = request.budget_tokens - _counted(prompt, request, shown)
            left_out.append(f"{item.kind} {item.name}: {tokens_of(item.text)} tokens, {room} left")
    return prompt.model_copy(update={"left_out": tuple(left_out)})


def _counted(prompt: Prompt, request: Request, shown: Collection[_Item]) -> int:
    """Tokens of a prompt beside the task's source and the kernels that it shows."""
    sources = (request.task.source, *(item.kernel for item in shown))
    return -(-(len(prompt.text) - sum(len(source.rstrip()) for source in sources)) // TOKEN_CHARACTERS)


def _composed(request: Request, stage: Stage, shown: Collection[_Item]) -> Prompt:
    """The prompt with the shown items, in their order."""
    by_kind: dict[Kind, list[_Item]] = {"technique": [], "attempt": [], "answer": [], "skill": [], "rule": []}
    for item in sorted(shown, key=lambda item: item.number):
        by_kind[item.kind].append(item)
    answers = request.briefing.answers
    cited = [answers[item.number] for item in by_kind["answer"]]
    parts = render_parts(
        "kernel",
        target=request.target,
        language=request.language,
        task=request.task,
        contract=contract(request.task, request.interface, request.language, request.terms),
        techniques=[item.text for item in by_kind["technique"]],
        answers=[item.text for item in by_kind["answer"]],
        documents=Documents(answers).listed(cited),
        open=request.briefing.open,
        unconfirmed=request.briefing.unconfirmed,
        skills=[item.text for item in by_kind["skill"]],
        rules=[item.text for item in by_kind["rule"]],
        table=table(request.attempts, request.tried),
        attempts=[item.text for item in by_kind["attempt"]],
        asked=_asked(request, stage),
        structures=_structures(request) if stage is Stage.RETHINK else (),
        is_planned=bool(request.structure),
        answer_form=answer_format(
            request.language,
            settings=request.is_searched and request.terms.is_timed,
            plans=request.is_searched and stage is Stage.DRAFT,
        ),
    )
    items = [PromptItem(what=i.name, why=i.why, tokens=tokens_of(i.text)) for own in by_kind.values() for i in own]
    return Prompt(
        **parts,
        stage=stage,
        skills=tuple(item.name for item in (*by_kind["skill"], *by_kind["rule"])),
        cited=tuple(dict.fromkeys(citation.id for answer in cited for citation in citations(answer))),
        items=tuple(items),
        left_out=(),
    )


def _asked(request: Request, stage: Stage) -> str:
    """What to do now. The attempt that is to be changed has a number if it is not the obvious one."""
    return ASKED[stage].format(attempt=f"attempt {request.base}" if request.base else USUAL.get(stage, ""))


def _structures(request: Request) -> list[str]:
    """The given structure; or those to choose from: planned and not begun, then those known for the operations."""
    if request.structure:
        return [f"- {one_line(request.structure)}"]
    planned = [plan for attempt in request.attempts for plan in attempt.plans if plan not in request.begun]
    return [f"- {one_line(form)}" for form in dict.fromkeys((*planned, *request.briefing.structures))]


def _answers(request: Request) -> list[_Item]:
    documents, items = Documents(request.briefing.answers), []
    for number, answer in enumerate(request.briefing.answers):
        text = answer_text(answer, documents, request.target)
        items.append(_Item("answer", number, _named(answer.facts, answer.said), answer.asks, text))
    return items


def _named(facts: Sequence[object], said: Sequence[object]) -> str:
    return " and ".join(f"{len(own)} {name}" for own, name in ((facts, "facts"), (said, "statements")) if own)


def _skills(request: Request, kernels: int) -> list[_Item]:
    """The nearest skills, of which the first `kernels` that fit the task's operation show theirs."""
    items = []
    for number, recalled in enumerate(request.skills[:SKILLS]):
        shows = has_kernel(recalled) and kernels > 0
        kernels -= shows
        text = skill_text(recalled, request.language.fences[0], with_kernel=shows)
        kernel = recalled.skill.candidate.source if shows and recalled.skill.candidate else ""
        items.append(_Item("skill", number, recalled.skill.name, "a kernel or a text for the operation", text, kernel))
    return items


def _attempts(request: Request, stage: Stage) -> list[_Item]:
    items = []
    for place in told(request.attempts, request.tried, stage, request.base):
        attempt, number = request.attempts[place], str(place + 1)
        text = account(attempt, place + 1, request.language.fences[0], is_diagnosed=request.is_diagnosed)
        items.append(_Item("attempt", place, number, "the last or the best attempt", text, attempt.candidate.source))
    return items

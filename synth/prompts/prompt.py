"""Build the prompt for a request. A pure function: the same request gives the same bytes in any process."""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from kb.errors import SynthesisError
from kb.facts.quantities import NAME, SHAPE
from kb.types.base import Frozen, tokens_of
from kb.types.fact import Fact
from kb.types.kernels import Language
from kb.types.protocols import Attempt, RecalledSkill, Request
from kb.types.skill import SkillKind
from synth.prompts.answer import answer_format
from synth.prompts.contract import contract
from synth.prompts.diagnosis import diagnose
from synth.prompts.render import fenced, render, render_parts


class Prompt(Frozen):
    """A prompt for a model or a person."""

    rules: str
    """The same for every request."""
    stable: str
    """Target, task, contract and facts: the same for all requests of a run, if the facts fit."""
    rest: str
    skills: tuple[str, ...]
    """Names of the skills in the prompt."""
    left_out: tuple[str, ...]
    """The items of the request that are not in the prompt, each with the reason."""

    @property
    def text(self) -> str:
        return _joined(self.rules, self.stable, self.rest)

    @property
    def tokens(self) -> int:
        return tokens_of(self.text)


Kind = Literal["fact", "passage", "skill", "attempt"]


class _Item(NamedTuple):
    """A part of the prompt that is shown whole or not at all."""

    kind: Kind
    name: str
    text: str
    order: tuple[int, int]
    """Items with a smaller order are fitted in first."""
    shorter: str = ""
    """Shown instead if the text does not fit."""


def build_prompt(request: Request) -> Prompt:
    """The prompt for a request, with at most `budget_tokens`.

    Task, contract and answer format are always included. Whole items fill the rest in this order: the last and the best
    attempt, the best skill, facts, passages, other skills, older attempts. An attempt may be shown without its code.

    Raises:
        SynthesisError: the parts that are always included exceed the budget.
    """
    items = (*_facts(request), *_passages(request), *_skills(request), *_attempts(request))
    budget = request.budget_tokens
    shown: dict[_Item, str] = {}
    left_out: list[str] = []
    prompt = _composed(request, items, shown)
    if prompt.tokens > budget:
        raise SynthesisError(
            f"task, contract and answer format need {prompt.tokens} tokens; the budget is {budget}",
            hint=f"raise the prompt's budget to at least {prompt.tokens} tokens",
        )
    for item in sorted(items, key=lambda item: item.order):
        room = budget - prompt.tokens
        for text in filter(None, (item.text, item.shorter)):
            larger = _composed(request, items, {**shown, item: text})
            if larger.tokens <= budget:
                prompt, shown[item] = larger, text
                break
        if shown.get(item) != item.text:
            what = f"code of {item.kind}" if item in shown else item.kind
            left_out.append(f"{what} {item.name}: {tokens_of(item.text)} tokens, {room} left")
    return prompt.model_copy(update={"left_out": tuple(left_out)})


def _composed(request: Request, items: Sequence[_Item], shown: Mapping[_Item, str]) -> Prompt:
    """The prompt with the shown items, in their order."""

    def texts(kind: Kind) -> list[str]:
        return [shown[item] for item in items if item in shown and item.kind == kind]

    parts = render_parts(
        "kernel",
        target=request.target,
        language=request.language,
        task=request.task,
        contract=contract(request.task, request.interface, request.language),
        facts=texts("fact"),
        passages=texts("passage"),
        skills=texts("skill"),
        attempts=texts("attempt"),
        answer_form=answer_format(request.language),
    )
    skills = tuple(item.name for item in items if item in shown and item.kind == "skill")
    return Prompt(rules=parts["rules"], stable=parts["stable"], rest=parts["rest"], skills=skills, left_out=())


def _joined(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _facts(request: Request) -> list[_Item]:
    return [
        _Item("fact", f"{fact.quantity} {fact.citation}", _fact(fact, request.target), (2, i))
        for i, fact in enumerate(request.facts)
    ]


def _fact(fact: Fact, target: str) -> str:
    of = "" if fact.target == target else f" (of {fact.target})"
    condition = f", {fact.condition}" if fact.condition else ""
    unit = "" if fact.unit in ("1", SHAPE, NAME) else f" {fact.unit}"
    quantity = fact.quantity.replace("_", " ")
    return _one_line(f"{quantity}{of} = {fact.value}{unit}{condition} [{fact.citation.id}]")


def _passages(request: Request) -> list[_Item]:
    return [
        _Item("passage", str(passage.citation), fenced(passage.cited, "text"), (3, i))
        for i, passage in enumerate(request.passages)
    ]


def _skills(request: Request) -> list[_Item]:
    return [
        _Item("skill", recalled.skill.name, _skill(recalled, request.language), (4, i) if i else (1, 0))
        for i, recalled in enumerate(request.skills)
    ]


def _skill(recalled: RecalledSkill, language: Language) -> str:
    skill = recalled.skill
    own = [e for e in skill.own_evidence if e.passed]
    evidence = skill.best or (own[-1] if own else None)
    code = None if skill.kind is SkillKind.PITFALL else skill.candidate  # its text has the change that matters
    return render(
        "skill",
        skill=skill,
        standing=recalled.standing,
        evidence=evidence,
        machine=evidence.environment.get("machine", "machine not recorded") if evidence else "",
        diagnosis=diagnose(evidence) if evidence else (),
        text=_joined(skill.description.strip(), skill.body.strip()),
        code=code.source if code else None,
        tag=language.fences[0],
    )


def _attempts(request: Request) -> list[_Item]:
    last = len(request.attempts) - 1
    passed = [i for i, attempt in enumerate(request.attempts) if attempt.evidence.passed]
    best = min(passed, key=lambda i: (request.attempts[i].evidence.time_us, -i), default=last)
    order = {best: (0, 1)} | {last: (0, 0)}
    tag = request.language.fences[0]
    items = []
    for i, attempt in enumerate(request.attempts):
        whole, shorter = (_attempt(attempt, i + 1, code, tag) for code in (attempt.candidate.source, None))
        items.append(_Item("attempt", str(i + 1), whole, order.get(i, (5, -i)), shorter))
    return items


def _attempt(attempt: Attempt, number: int, code: str | None, tag: str) -> str:
    """The account of an attempt; None for `code` leaves it out."""
    evidence = attempt.evidence
    refused = "" if evidence.passed else evidence.detail  # of one that passed, `diagnose` tells it
    said = dict.fromkeys((refused, *(case.detail for case in evidence.cases if case.error_ratio is None)))
    return render(
        "attempt",
        number=number,
        outcome=evidence.outcome.replace("_", " "),
        note=_one_line(attempt.note),
        diagnosis=diagnose(evidence),
        quote=_joined(*(text.strip() for text in (*said, evidence.log))),
        code=code,
        tag=tag,
    )

"""Kernels are judged, and runs started and driven. What cannot work is refused before a judge starts."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from eval.devices.registry import device_for
from eval.judge.driver import LocalJudge
from eval.languages.registry import language_named
from eval.roofline import Roofline, task_roofline
from kb.errors import CandidateError, FactError, RunError, SettingsError
from kb.home.searching import ranked
from kb.model.base import Frozen
from kb.model.evidence import Evidence
from kb.model.fact import Fact
from kb.model.kernels import Candidate, Task
from kb.model.passages import Passage
from kb.model.protocols import Synthesizer
from kb.model.records import Trust
from kb.runs.journal import Plan, Run, SynthesizerKind
from kb.runs.loop import Loop, Tell, Teller, say_nothing
from kb.settings import cache_dir
from kb.targets import ROOT
from retrieval.packing import pack
from synth.anthropic import AnthropicModel
from synth.chat import ChatModel
from synth.model_synthesizer import ModelSynthesizer
from synth.prompts.answer import parse_answer
from synth.prompts.prompt import Prompt
from synth.tune import TuneSynthesizer

if TYPE_CHECKING:
    from kb.home.knowledge_base import KnowledgeBase

BRIEF_CANDIDATES = 50


class Submission(Frozen):
    """What came of an answer."""

    evidence: Evidence
    published: tuple[str, ...]
    """Names of the skills that it gave."""
    prompt: Prompt | None
    """The next one; None when the run is over."""
    ended: str
    """Why the run is over; empty while it is not."""


def verify(kb: "KnowledgeBase", task: Task, candidate: Candidate, target: str) -> Evidence:
    with _judge(kb, task, target) as judge:
        return judge.verify(candidate)


def roofline(kb: "KnowledgeBase", task: Task, target: str) -> Roofline:
    facts = kb.facts(target)
    with _judge(kb, task, target) as judge:
        return task_roofline(judge.interface, facts)


def prompt(kb: "KnowledgeBase", plan: Plan) -> tuple[Run, Prompt]:
    _must_be_by_hand(plan)
    plan = _checked(kb, plan)
    with _judge(kb, plan.task, plan.target) as judge:
        run = kb.runs.start(plan)
        return run, _loop(kb, run).prompt(judge.interface)


def submit(kb: "KnowledgeBase", run: Run, answer: Candidate | str, *, note: str, tell: Tell | None) -> Submission:
    run.must_be_by_hand()
    language = language_named(run.plan.language)
    candidate, said = parse_answer(answer, language) if isinstance(answer, str) else (answer, "")
    run.must_take(candidate)
    loop, earlier = _loop(kb, run, tell), len(run.published)
    with _judge(kb, run.plan.task, run.plan.target) as judge:
        evidence = loop.submit(candidate, judge, note=note or said)
        following = None if run.ended else loop.prompt(judge.interface)
    return Submission(evidence=evidence, published=run.published[earlier:], prompt=following, ended=run.ended)


def optimize(kb: "KnowledgeBase", plan: Plan, *, minutes: float | None, tell: Teller | None) -> Run:
    synthesizer = _synthesizer(plan)
    plan = _checked(kb, plan)
    with _judge(kb, plan.task, plan.target) as judge:
        run = kb.runs.start(plan)
        _loop(kb, run, tell and tell(run)).optimize(synthesizer, judge, minutes=minutes)
    return run


def resume(kb: "KnowledgeBase", run: Run, *, minutes: float | None, tell: Teller | None) -> None:
    synthesizer = _synthesizer(run.plan)
    run.must_be_open()
    with _judge(kb, run.plan.task, run.plan.target) as judge:
        _loop(kb, run, tell and tell(run)).optimize(synthesizer, judge, minutes=minutes)


def _judge(kb: "KnowledgeBase", task: Task, target: str) -> LocalJudge:
    """A judge for one task and target on this machine; its limits are the target's facts."""
    name = kb.targets.get(target).name
    return LocalJudge(task, target=name, isa=kb.targets.isa(name), facts=kb.known_facts(name), cache=cache_dir())


def _loop(kb: "KnowledgeBase", run: Run, tell: Tell | None = None) -> Loop:
    target = run.plan.target
    return Loop(
        run=run,
        language=language_named(run.plan.language),
        skillbook=kb.skills,
        scope=kb.targets.scope(target),
        brief=lambda phrases: _brief(kb, phrases, target),
        tell=tell or say_nothing,
    )


def _brief(kb: "KnowledgeBase", phrases: Sequence[str], target: str) -> tuple[list[Fact], list[Passage]]:
    """All facts of a target, and what its documents say besides in answer to `phrases`."""
    facts = kb.known_facts(target)
    places = {fact.citation.place for fact in facts}
    found = ranked(kb, phrases, target=target, scope=kb.targets.scope(target), limit=BRIEF_CANDIDATES)
    besides = tuple(
        hit
        for hit in found.hits
        if hit.passage.citation.place not in places and hit.passage.trust is not Trust.UNTRUSTED
    )
    packed = pack(found.model_copy(update={"hits": besides}), budget_tokens=kb.settings.budget_tokens)
    return facts, list(packed.passages)


def _checked(kb: "KnowledgeBase", plan: Plan) -> Plan:
    """The plan, its target by name. A language model or a person is asked only about what documents speak of.

    Raises:
        TargetError: the target is unknown.
        CandidateError: kernels for it are not written in that language.
        FactError: no document speaks of it, and the synthesizer would have to guess.
        SettingsError: a model is to be asked and none is named.
    """
    plan = plan.model_copy(update={"target": kb.targets.get(plan.target).name})
    if plan.language not in (fitting := languages(kb, plan.target)):
        raise CandidateError(
            f"kernels for {plan.target} are not written in {plan.language}", hint=f"write {' or '.join(fitting)}"
        )
    if plan.synthesizer is SynthesizerKind.ANTHROPIC:
        chat_model(plan.model)
    if plan.synthesizer is not SynthesizerKind.TUNE:
        kb.ensure_sheets(plan.target)
        if not kb.catalog.count_by_target().keys() & (kb.targets.scope(plan.target) - {ROOT}):
            raise FactError(
                f"no document speaks of {plan.target}, so nobody could know how to write a kernel for it",
                hint=f"`kb ingest` its manuals, with --target {plan.target} where no folder is named so",
            )
    return plan


def languages(kb: "KnowledgeBase", target: str) -> tuple[str, ...]:
    """The languages in which kernels for a target may be written, by name, the usual one first.

    Raises:
        JudgeError: nothing can be judged for the target.
    """
    return device_for(kb.targets.isa(target), target).languages


def _synthesizer(plan: Plan) -> Synthesizer:
    """Raises RunError when the candidates come from a person or an agent, through `KnowledgeBase.submit`."""
    if plan.synthesizer is SynthesizerKind.TUNE:
        return TuneSynthesizer()
    if plan.synthesizer is SynthesizerKind.ANTHROPIC:
        return ModelSynthesizer(chat_model(plan.model))
    raise RunError("this run is answered by hand", hint="`kb submit RUN FILE` judges an answer")


def _must_be_by_hand(plan: Plan) -> None:
    """Raises RunError when candidates do not come from a person or an agent."""
    if plan.synthesizer is not SynthesizerKind.EXTERNAL:
        raise RunError(
            f"a run that is driven by {plan.synthesizer} has no prompts to answer",
            hint="`kb optimize` starts it, or plan one with the synthesizer `external`",
        )


def chat_model(name: str) -> ChatModel:
    """The language model of that name.

    Raises:
        SettingsError: no name is given.
    """
    if not name:
        raise SettingsError(
            "no model is named", hint="set KB_ANTHROPIC_MODEL, or anthropic_model in kb.toml of the home"
        )
    return AnthropicModel(name)

"""Judges kernels, and starts and continues runs. Refuses bad plans before a judge starts."""

from collections.abc import Sequence

from eval.devices.registry import device_for
from eval.judge.driver import LocalJudge
from eval.languages.registry import language_named
from eval.roofline import Roofline, task_roofline
from kb.errors import CandidateError, FactError, RunError, SettingsError
from kb.home.knowledge_base import KnowledgeBase
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

BRIEF_CANDIDATES = 50


class Submission(Frozen):
    """The outcome of an answer."""

    evidence: Evidence
    published: tuple[str, ...]
    """Names of the skills that the answer became."""
    prompt: Prompt | None
    """The next prompt; None if the run is over."""
    ended: str
    """Why the run is over; empty if it is not."""


def verify(kb: "KnowledgeBase", task: Task, candidate: Candidate, target: str) -> Evidence:
    with _judge(kb, task, target) as judge:
        return judge.verify(candidate)


def roofline(kb: "KnowledgeBase", task: Task, target: str) -> Roofline:
    facts = kb.facts(target)
    with _judge(kb, task, target) as judge:
        return task_roofline(judge.interface, facts)


def prompt(kb: "KnowledgeBase", plan: Plan) -> tuple[Run, Prompt]:
    if plan.synthesizer is not SynthesizerKind.EXTERNAL:
        raise RunError(
            f"a run that is driven by {plan.synthesizer} has no prompts to answer",
            hint="`kb optimize` starts it, or plan a run with the synthesizer `external`",
        )
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
    """A judge for one task and target on this machine, with the target's facts as limits."""
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
    """All facts of a target, and the other passages of its documents that answer `phrases`."""
    facts = kb.known_facts(target)
    places = {fact.citation.place for fact in facts}
    found = ranked(kb, phrases, target=target, scope=kb.targets.scope(target), limit=BRIEF_CANDIDATES)
    trusted = (hit for hit in found.hits if hit.passage.trust is not Trust.UNTRUSTED)
    others = tuple(hit for hit in trusted if hit.passage.citation.place not in places)
    packed = pack(found.model_copy(update={"hits": others}), budget_tokens=kb.settings.budget_tokens)
    return facts, list(packed.passages)


def _checked(kb: "KnowledgeBase", plan: Plan) -> Plan:
    """The plan with the target's own name. Prompts are refused for targets without documents.

    Raises:
        TargetError: the target is unknown.
        CandidateError: kernels for it are not written in the plan's language.
        FactError: it has no documents, so a model or a person would have to guess.
        SettingsError: the plan needs a model and names none.
    """
    plan = plan.model_copy(update={"target": kb.targets.get(plan.target).name})
    if plan.language not in (fitting := languages(kb, plan.target)):
        raise CandidateError(
            f"kernels for {plan.target} are not written in {plan.language}", hint=f"write {' or '.join(fitting)}"
        )
    if plan.synthesizer is SynthesizerKind.ANTHROPIC:
        chat_model(plan.model)
    if plan.synthesizer is not SynthesizerKind.TUNE:
        with kb.with_sheets(plan.target):
            if not kb.catalog.count_by_target().keys() & (kb.targets.scope(plan.target) - {ROOT}):
                raise FactError(
                    f"there are no documents about {plan.target}, so a kernel for it would be a guess",
                    hint=f"`kb ingest` its manuals, with --target {plan.target} if no folder has that name",
                )
    return plan


def languages(kb: "KnowledgeBase", target: str) -> tuple[str, ...]:
    """Names of the languages for kernels of a target, the usual one first. Raises JudgeError if it has no judge."""
    return device_for(kb.targets.isa(target), target).languages


def _synthesizer(plan: Plan) -> Synthesizer:
    """The synthesizer of a plan. Raises RunError if candidates come by hand, through `KnowledgeBase.submit`."""
    if plan.synthesizer is SynthesizerKind.TUNE:
        return TuneSynthesizer()
    if plan.synthesizer is SynthesizerKind.ANTHROPIC:
        return ModelSynthesizer(chat_model(plan.model))
    raise RunError("this run is driven by hand", hint="`kb submit RUN FILE` judges an answer")


def chat_model(name: str) -> ChatModel:
    """The language model with this name. Raises SettingsError for an empty name."""
    if not name:
        hint = "set KB_ANTHROPIC_MODEL, or anthropic_model in kb.toml of the home"
        raise SettingsError("the settings name no model", hint=hint)
    return AnthropicModel(name)

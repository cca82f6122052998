"""Judges kernels, and starts and continues runs. Refuses bad plans before a judge starts."""

import platform

from eval.judge.driver import LocalJudge
from eval.languages.registry import described_language
from eval.languages.toolchain import ToolchainLanguage
from eval.roofline import Roofline, task_roofline
from kb.errors import CandidateError, FactError, JudgeError, RunError, SettingsError
from kb.runs.journal import Plan, Run, SynthesizerKind
from kb.runs.loop import Loop, Tell, Teller, fitting_skills, need_of, say_nothing
from kb.settings import cache_dir
from kb.targets import ROOT
from kb.types.base import Frozen
from kb.types.evidence import Evidence
from kb.types.kernels import Candidate, Interface, Language, Task
from kb.types.protocols import Request, Synthesizer
from kb.types.target import CPU, Isa
from kb.usecases.briefing import brief
from kb.usecases.knowledge_base import KnowledgeBase
from synth.authors.anthropic import AnthropicModel
from synth.authors.chat import ChatModel
from synth.authors.model import ModelSynthesizer
from synth.prompts.answer import parse_answer
from synth.prompts.prompt import Prompt, build_prompt
from synth.search.tune import TuneSynthesizer


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
    with _judge(kb, task, target, candidate.language) as judge:
        return judge.verify(candidate)


def roofline(kb: "KnowledgeBase", task: Task, target: str) -> Roofline:
    return task_roofline(interface_of(kb, task, target), kb.facts(target))


def interface_of(kb: "KnowledgeBase", task: Task, target: str) -> Interface:
    """The tensors of a task. Its reference runs on this machine's CPU: they are the same on every device."""
    name, here = kb.targets.get(target).name, Isa(CPU, platform.machine())
    with LocalJudge(task, target=name, isa=here, facts=(), cache=cache_dir()) as judge:
        return judge.interface


def prompt(kb: "KnowledgeBase", plan: Plan) -> tuple[Run, Prompt]:
    if plan.synthesizer is not SynthesizerKind.EXTERNAL:
        raise RunError(
            f"a run that is driven by {plan.synthesizer} has no prompts to answer",
            hint="`kb optimize` starts it, or plan a run with the synthesizer `external`",
        )
    plan = _checked(kb, plan)
    interface = interface_of(kb, plan.task, plan.target)
    run = kb.runs.start(plan)
    return run, _loop(kb, run).prompt(interface)


def draft_prompt(kb: "KnowledgeBase", plan: Plan, interface: Interface, *, budget_tokens: int) -> Prompt:
    plan = _checked(kb, plan)
    language = written_in(kb, plan.target, plan.language)
    facts, passages = brief(kb, plan.task, interface, language, plan.target, ())
    return build_prompt(
        Request(
            task=plan.task,
            interface=interface,
            target=plan.target,
            language=language,
            facts=tuple(facts),
            passages=tuple(passages),
            skills=fitting_skills(kb.skills, plan, need_of(plan, interface, *_reach(kb, plan.target))),
            budget_tokens=budget_tokens,
        )
    )


def submit(kb: "KnowledgeBase", run: Run, answer: Candidate | str, *, note: str, tell: Tell | None) -> Submission:
    run.must_be_by_hand()
    language = written_in(kb, run.plan.target, run.plan.language)
    candidate, said = parse_answer(answer, language) if isinstance(answer, str) else (answer, "")
    run.must_take(candidate)
    loop, earlier = _loop(kb, run, tell), len(run.published)
    with _judge(kb, run.plan.task, run.plan.target, run.plan.language) as judge:
        evidence = loop.submit(candidate, judge, note=note or said)
        following = None if run.ended else loop.prompt(judge.interface)
    return Submission(evidence=evidence, published=run.published[earlier:], prompt=following, ended=run.ended)


def optimize(kb: "KnowledgeBase", plan: Plan, *, minutes: float | None, tell: Teller | None) -> Run:
    synthesizer = _synthesizer(plan)
    plan = _checked(kb, plan)
    with _judge(kb, plan.task, plan.target, plan.language) as judge:
        run = kb.runs.start(plan)
        _loop(kb, run, tell and tell(run)).optimize(synthesizer, judge, minutes=minutes)
    return run


def resume(kb: "KnowledgeBase", run: Run, *, minutes: float | None, tell: Teller | None) -> None:
    synthesizer = _synthesizer(run.plan)
    run.must_be_open()
    with _judge(kb, run.plan.task, run.plan.target, run.plan.language) as judge:
        _loop(kb, run, tell and tell(run)).optimize(synthesizer, judge, minutes=minutes)


def _judge(kb: "KnowledgeBase", task: Task, target: str, language: str) -> LocalJudge:
    """A judge for one task, target and language on this machine, with the target's facts as limits."""
    name = kb.targets.get(target).name
    judged = kb.toolchains.judges(name).get(language)
    return LocalJudge(
        task,
        target=name,
        isa=kb.targets.isa(name),
        facts=kb.known_facts(name),
        cache=cache_dir(),
        toolchain=judged if isinstance(judged, ToolchainLanguage) else None,
        profile=kb.settings.profile,
    )


def _loop(kb: "KnowledgeBase", run: Run, tell: Tell | None = None) -> Loop:
    target, language = run.plan.target, written_in(kb, run.plan.target, run.plan.language)
    scope, siblings = _reach(kb, target)
    return Loop(
        run=run,
        language=language,
        skillbook=kb.skills,
        scope=scope,
        siblings=siblings,
        brief=lambda interface, diagnosis: brief(kb, run.plan.task, interface, language, target, diagnosis),
        tell=tell or say_nothing,
        prompt_tokens=kb.settings.prompt_tokens,
    )


def _reach(kb: "KnowledgeBase", target: str) -> tuple[frozenset[str], frozenset[str]]:
    """The targets whose skills apply to `target`, and its siblings."""
    scope = kb.targets.scope(target)
    return scope, kb.targets.family(target) - scope


def _checked(kb: "KnowledgeBase", plan: Plan) -> Plan:
    """The plan with the target's own name. Prompts are refused for targets without documents.

    Raises:
        TargetError: the target is unknown.
        CandidateError: kernels for it are not written in the plan's language.
        FactError: it has no documents, so a model or a person would have to guess.
        SettingsError: the plan needs a model and names none.
    """
    plan = plan.model_copy(update={"target": kb.targets.get(plan.target).name})
    written_in(kb, plan.target, plan.language)
    if plan.synthesizer is not SynthesizerKind.EXTERNAL:
        languages(kb, plan.target)
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
    return tuple(kb.toolchains.judges(target))


def written_in(kb: "KnowledgeBase", target: str, name: str | None) -> Language:
    """The language `name` for kernels of a target (None: the usual one); any language if the target has no judge.

    Raises:
        CandidateError: the target's kernels are judged, and not written in this language; or it has no judge, and no
            language is named.
    """
    try:
        fitting = kb.toolchains.judges(target)
    except JudgeError as error:
        if name is None:
            hint = "name the language that its documents describe: --language c"
            raise CandidateError(f"kb knows no compiler for {target}", hint=hint) from error
        return described_language(name)
    if name is None:
        return next(iter(fitting.values()))
    if name not in fitting:
        raise CandidateError(f"kernels for {target} are not written in {name}", hint=f"write {' or '.join(fitting)}")
    return fitting[name]


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

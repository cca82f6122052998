"""Plans, starts and continues runs. Refuses bad plans before a judge starts."""

from concurrent.futures import ThreadPoolExecutor

from kb.errors import FactError, RunError
from kb.runs.journal import Plan, Run, SynthesizerKind
from kb.runs.loop import Brief, Loop, OnAttempt, OnStart, fitting_skills, ignore, need_of
from kb.targets import ROOT
from kb.types.base import Frozen
from kb.types.briefing import Briefing
from kb.types.evidence import Evidence
from kb.types.kernels import Candidate, Interface, Language, Task
from kb.types.protocols import Attempt, RecalledSkill, Request, Stage, Synthesizer
from kb.types.terms import Terms
from kb.usecases.briefing import brief
from kb.usecases.fact_lookup import known_facts
from kb.usecases.home import Home
from kb.usecases.judging import interface_of, judge_for, written_in
from kb.usecases.language_model import chat_model
from kb.usecases.sheets import with_sheets
from kb.usecases.terms import terms_of
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


def plan_of(
    home: Home,
    task: Task,
    target: str,
    *,
    synthesizer: str,
    language: str | None,
    evaluations: int,
    seed: int,
    control: bool,
) -> Plan:
    """A plan of a run. Arguments and errors as in `KnowledgeBase.plan`."""
    kind = SynthesizerKind.named(synthesizer)
    if language or kind is SynthesizerKind.EXTERNAL:
        language = written_in(home, target, language).name
    else:
        language = next(iter(home.toolchains.judges(target)))
    return Plan(
        task=task,
        target=target,
        language=language,
        synthesizer=kind,
        model=home.settings.anthropic_model if kind is SynthesizerKind.ANTHROPIC else "",
        evaluations=evaluations,
        seed=seed,
        control=control,
    )


def prompt(home: Home, plan: Plan, *, device: str | None) -> tuple[Run, Prompt]:
    """Start a run that `submit` drives, and return its first prompt. Arguments as in `KnowledgeBase.prompt`."""
    if plan.synthesizer is not SynthesizerKind.EXTERNAL:
        raise RunError(
            f"a run that is driven by {plan.synthesizer} has no prompts to answer",
            hint="`kb optimize` starts it, or plan a run with the synthesizer `external`",
        )
    plan = _checked(home, plan)
    interface = _interface(home, plan)
    run = home.runs.start(plan)
    return run, _loop(home, run, device=device).prompt(interface)


def stage_prompt(home: Home, plan: Plan, stage: Stage, *, device: str | None) -> Prompt:
    """The prompt of a stage, without a run. Arguments and errors as in `KnowledgeBase.stage_prompt`."""
    plan = _checked(home, plan)
    interface = _interface(home, plan)
    same = [run for run in home.runs if _begins_as(run.plan, plan) and run.attempts]
    if same:
        run = same[-1]
        return build_prompt(_loop(home, run, device=device).request(interface, stage))
    if stage is not Stage.DRAFT:
        raise RunError(
            f"no run of {plan.task.name} for {plan.target} in {plan.language} has an attempt to {stage}",
            hint="`kb prompt` starts one, and `kb submit` judges its attempts",
        )
    return draft_prompt(home, plan, interface, budget_tokens=home.settings.prompt_tokens, device=device)


def _interface(home: Home, plan: Plan) -> Interface:
    """The interface of a plan's task. While another process describes it, this one reads the facts."""
    with ThreadPoolExecutor(1) as pool:
        pending = pool.submit(interface_of, home, plan.task, plan.target)
        known_facts(home, plan.target)
        return pending.result()


def _begins_as(one: Plan, other: Plan) -> bool:
    return (one.task.digest, one.target, one.language) == (other.task.digest, other.target, other.language)


def draft_prompt(
    home: Home, plan: Plan, interface: Interface, *, budget_tokens: int, device: str | None = None
) -> Prompt:
    """The first prompt of a run that is not started. Arguments and errors as in `KnowledgeBase.draft_prompt`."""
    plan = _checked(home, plan)
    language = written_in(home, plan.target, plan.language)
    skills = fitting_skills(home.skills, plan, need_of(plan, interface, *_reach(home, plan.target)))
    briefing, terms = _brief(home, plan, language, device)(interface, (), Stage.DRAFT, skills)
    return build_prompt(
        Request(
            task=plan.task,
            interface=interface,
            target=plan.target,
            language=language,
            terms=terms,
            briefing=briefing,
            skills=skills,
            budget_tokens=budget_tokens,
        )
    )


def submit(home: Home, run: Run, answer: Candidate | str, *, note: str, on_attempt: OnAttempt | None) -> Submission:
    """Judge an answer to the last prompt. Arguments and errors as in `KnowledgeBase.submit`."""
    run.must_be_by_hand()
    language = written_in(home, run.plan.target, run.plan.language)
    candidate, said = parse_answer(answer, language) if isinstance(answer, str) else (answer, "")
    run.must_take(candidate)
    loop, earlier = _loop(home, run, on_attempt), len(run.published)
    with judge_for(home, run.plan.task, run.plan.target, run.plan.language) as judge:
        evidence = loop.submit(candidate, judge, note=note or said)
        following = None if run.ended else loop.prompt(judge.interface)
    return Submission(evidence=evidence, published=run.published[earlier:], prompt=following, ended=run.ended)


def optimize(home: Home, plan: Plan, *, minutes: float | None, on_start: OnStart | None) -> Run:
    """Start a run and drive it to its end. Arguments and errors as in `KnowledgeBase.optimize`."""
    synthesizer = _synthesizer(plan)
    plan = _checked(home, plan)
    with judge_for(home, plan.task, plan.target, plan.language) as judge:
        run = home.runs.start(plan)
        _loop(home, run, on_start and on_start(run)).optimize(synthesizer, judge, minutes=minutes)
    return run


def resume(home: Home, run: Run, *, minutes: float | None, on_start: OnStart | None) -> None:
    """Continue a run that `optimize` started."""
    synthesizer = _synthesizer(run.plan)
    run.must_be_open()
    with judge_for(home, run.plan.task, run.plan.target, run.plan.language) as judge:
        _loop(home, run, on_start and on_start(run)).optimize(synthesizer, judge, minutes=minutes)


def _loop(home: Home, run: Run, on_attempt: OnAttempt | None = None, *, device: str | None = None) -> Loop:
    target, language = run.plan.target, written_in(home, run.plan.target, run.plan.language)
    scope, siblings = _reach(home, target)
    return Loop(
        run=run,
        language=language,
        skillbook=home.skills,
        scope=scope,
        siblings=siblings,
        brief=_brief(home, run.plan, language, device),
        on_attempt=on_attempt or ignore,
        prompt_tokens=home.settings.prompt_tokens,
    )


def _brief(home: Home, plan: Plan, language: Language, device: str | None) -> Brief:
    """What tells a run of the hardware and the judge; nothing where no prompt is built."""

    def tell(
        interface: Interface, attempts: tuple[Attempt, ...], stage: Stage, skills: tuple[RecalledSkill, ...]
    ) -> tuple[Briefing, Terms]:
        if plan.synthesizer is SynthesizerKind.TUNE:
            return Briefing(), Terms()
        facts = known_facts(home, plan.target)
        terms = terms_of(home, plan.task, interface, plan.target, language, facts, skills, device=device)
        return brief(home, plan.task, interface, language, plan.target, facts, attempts, stage), terms

    return tell


def _reach(home: Home, target: str) -> tuple[frozenset[str], frozenset[str]]:
    """The targets whose skills apply to `target`, and its siblings."""
    scope = home.targets.scope(target)
    return scope, home.targets.family(target) - scope


def _checked(home: Home, plan: Plan) -> Plan:
    """The plan with the target's own name. Prompts are refused for targets without documents.

    Raises:
        TargetError: the target is unknown.
        CandidateError: kernels for it are not written in the plan's language.
        FactError: it has no documents, so a model or a person would have to guess.
        SettingsError: the plan needs a model and names none.
    """
    plan = plan.model_copy(update={"target": home.targets.get(plan.target).name})
    written_in(home, plan.target, plan.language)
    if plan.synthesizer is not SynthesizerKind.EXTERNAL:
        home.toolchains.judges(plan.target)
    if plan.synthesizer is SynthesizerKind.ANTHROPIC:
        chat_model(plan.model)
    if plan.synthesizer is not SynthesizerKind.TUNE:
        with with_sheets(home, plan.target):
            if not home.catalog.count_by_target().keys() & (home.targets.scope(plan.target) - {ROOT}):
                raise FactError(
                    f"there are no documents about {plan.target}, so a kernel for it would be a guess",
                    hint=f"`kb ingest` its manuals, with --target {plan.target} if no folder has that name",
                )
    return plan


def _synthesizer(plan: Plan) -> Synthesizer:
    """The synthesizer of a plan. Raises RunError if candidates come by hand, through `KnowledgeBase.submit`."""
    if plan.synthesizer is SynthesizerKind.TUNE:
        return TuneSynthesizer()
    if plan.synthesizer is SynthesizerKind.ANTHROPIC:
        return ModelSynthesizer(chat_model(plan.model))
    raise RunError("this run is driven by hand", hint="`kb submit RUN FILE` judges an answer")

"""Plans, starts and continues runs. Refuses bad plans before a judge starts."""

from concurrent.futures import ThreadPoolExecutor
from operator import attrgetter

from kb.errors import FactError, RunError
from kb.exports.kernel_file import kernel_file
from kb.runs.journal import KERNEL_FILE, Plan, Run, SynthesizerKind
from kb.runs.loop import NO_LIMIT, Brief, Loop, OnAttempt, OnStart, ignore
from kb.runs.skills import fitting_skills, need_of
from kb.targets import ROOT
from kb.types.base import Frozen
from kb.types.briefing import Briefing
from kb.types.campaign import Amounts
from kb.types.evidence import Evidence
from kb.types.kernels import Candidate, Interface, Language
from kb.types.protocols import Attempt, Judge, RecalledSkill, Request, Stage
from kb.types.terms import Terms
from kb.usecases.authors import AuthorSpec, held_back, must_be_paid, open_to, seats_of
from kb.usecases.briefing import brief
from kb.usecases.devices import judge_of, must_have_devices, named_chip
from kb.usecases.fact_lookup import known_facts
from kb.usecases.home import Home
from kb.usecases.judging import interface_of, kept_interface, written_in
from kb.usecases.sheets import with_sheets
from kb.usecases.terms import terms_of
from synth.authors.asking import Desk, Notes, Seat
from synth.authors.spending import Budget
from synth.authors.synthesizer import Synthesizer
from synth.prompts.answer import answer_in_file, parse_answer
from synth.prompts.prompt import Prompt, build_prompt
from synth.search.moves import Ask

NOT_TIMED = (
    "nothing times it here, so it stays an attempt of the run and becomes no skill; `kb batch pack FOLDER RUN` takes "
    "it to a machine that does. Stop when the verdict names nothing to mend: a run need not be ended"
)


class Submission(Frozen):
    """The outcome of an answer."""

    evidence: Evidence
    published: tuple[str, ...]
    """Names of the skills that the answer became."""
    prompt: Prompt | None
    """The next prompt; None if the run is over."""
    ended: str
    """Why the run is over; empty if it is not."""
    notes: tuple[str, ...]
    """What was asked for and not done, and why."""


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
    return run, loop_of(_open_to(home, plan), run, device=device).prompt(interface)


def next_prompt(home: Home, run: Run) -> Prompt:
    """The prompt that a run by hand waits to have answered. Errors as in `KnowledgeBase.next_prompt`."""
    run.must_be_by_hand()
    run.must_be_open()
    if not (interface := kept_interface(run.plan.task)):  # whoever may only read starts no judge
        told = "the task's code has to run again before its prompt can be built: kb or torch has changed"
        raise RunError(told, hint="kb_roofline or kb_start_run for the same task runs it")
    return build_prompt(loop_of(_open_to(home, run.plan), run).request(interface))


def stage_prompt(home: Home, plan: Plan, stage: Stage, *, device: str | None) -> Prompt:
    """The prompt of a stage, without a run. Arguments and errors as in `KnowledgeBase.stage_prompt`."""
    plan = _checked(home, plan)
    interface = _interface(home, plan)
    begins = attrgetter("task.digest", "target", "language")
    same = [run for run in home.runs if begins(run.plan) == begins(plan) and run.attempts]
    if same:
        run = same[-1]
        return build_prompt(loop_of(_open_to(home, run.plan), run, device=device).request(interface, Ask(stage=stage)))
    if stage is not Stage.DRAFT:
        raise RunError(
            f"no run of {plan.task.name} for {plan.target} in {plan.language} has an attempt to {stage}",
            hint="`kb prompt` starts one, and `kb submit` judges its attempts",
        )
    return draft_prompt(home, plan, interface, budget_tokens=home.settings.prompt_tokens, device=device)


def _interface(home: Home, plan: Plan) -> Interface:
    """The interface of a plan's task. While another process describes it, this one reads what a prompt may say."""
    if known := kept_interface(plan.task):
        return known
    with ThreadPoolExecutor(1) as pool:
        pending = pool.submit(interface_of, plan.task)
        read = _brief(_open_to(home, plan), plan, written_in(home, plan.target, plan.language), None)
        read(Interface(inputs=(), state=(), outputs=(), init=()), (), Stage.DRAFT, ())
        return pending.result()


def draft_prompt(
    home: Home, plan: Plan, interface: Interface, *, budget_tokens: int, device: str | None = None
) -> Prompt:
    """The first prompt of a run that is not started. Arguments and errors as in `KnowledgeBase.draft_prompt`."""
    plan = _checked(home, plan)
    language = written_in(home, plan.target, plan.language)
    seen = _open_to(home, plan)
    skills = fitting_skills(home.skills, plan, need_of(plan, interface, *_reach(home, plan.target)))
    briefing, terms = _brief(seen, plan, language, device)(interface, (), Stage.DRAFT, skills)
    asked = Request(
        task=plan.task, interface=interface, target=plan.target, language=language, terms=terms, briefing=briefing,
        skills=skills, budget_tokens=budget_tokens,
    )  # fmt: skip
    return build_prompt(asked)


def submit(
    home: Home, run: Run, answer: Candidate | str, *, note: str, tune: bool, on_attempt: OnAttempt | None
) -> Submission:
    """Judge an answer to the last prompt. Arguments and errors as in `KnowledgeBase.submit`."""
    language = written_in(home, run.plan.target, run.plan.language)
    said = parse_answer(answer, language) if isinstance(answer, str) else answer_in_file(answer)
    run.must_take(said.candidate)
    seen, tried = _open_to(home, run.plan), run.tried
    loop, earlier = loop_of(seen, run, on_attempt), len(run.published)
    before = next(iter(run.verdicts(loop.same_program(said.candidate)).values()), None)
    with judge_of(seen, run.plan, run) as judge:
        evidence = loop.submit(said.candidate, judge, note=note or said.note, tune=tune)
        following = None if run.ended else loop.prompt(judge.interface)
    kept = "this kernel was judged before: this is its earlier verdict, which counts once"
    again = "submit this kernel again when the machine is less busy: it counts once"
    apart = evidence.untimed and not evidence.disturbed
    notes = [kept] * (before == evidence) + [again] * evidence.disturbed + [NOT_TIMED] * apart
    if tune and run.tried == tried:
        why = "no values or evaluations are left" if evidence.timing else "only a kernel that has a time can be tuned"
        none = "the kernel declares no parameters with `# tune:`"
        notes.append(f"nothing was tuned: {why if said.candidate.parameters else none}")
    new = run.published[earlier:]
    return Submission(evidence=evidence, published=new, prompt=following, ended=run.ended, notes=tuple(notes))


def optimize(
    home: Home, plan: Plan, *, minutes: float | None, on_start: OnStart | None, share: Amounts | None = None
) -> Run:
    """Start a run and drive it to its end. Arguments and errors as in `KnowledgeBase.optimize`.

    Args:
        share: What it may take before it pauses.
    """
    _must_not_be_by_hand(plan)
    plan = _checked(home, plan)
    run = home.runs.start(plan) if plan.pool else None  # its folder has the batches
    with judge_of(_open_to(home, plan), plan, run) as judge:
        run = run or home.runs.start(plan)
        _drive(home, run, plan, judge, minutes, on_start, share)
    return run


def resume(
    home: Home, run: Run, *, minutes: float | None, on_start: OnStart | None, share: Amounts | None = None,
    devices: str = "", pool: str = "",
) -> None:  # fmt: skip
    """Continue a run that `optimize` started. Arguments as there, and as in `KnowledgeBase.resume`."""
    _must_not_be_by_hand(run.plan)
    run.must_be_open()
    if pool and not run.plan.pool:
        raise RunError(f"run {run.id} is judged on its machine, not by a pool", hint="start another run with --pool")
    plan = run.plan.model_copy(update={"devices": devices or run.plan.devices, "pool": pool or run.plan.pool})
    must_have_devices(home, plan)
    with judge_of(_open_to(home, plan), plan, run) as judge:
        _drive(home, run, plan, judge, minutes, on_start, share)


def start_carried(home: Home, plan: Plan) -> Run:
    """Start a run of authors whose candidates wait for their verdicts. Errors as in `KnowledgeBase.optimize`."""
    return home.runs.start(_checked(home, plan))


def carried(home: Home, run: Run, share: Amounts, device: str | None) -> tuple[Loop, Synthesizer | None, Interface]:
    """What asks for the candidates of such a run, to be judged on this device of another machine; None: here.

    Errors as in `KnowledgeBase.optimize`.
    """
    seen = _open_to(home, run.plan)
    interface = interface_of(run.plan.task)
    return loop_of(seen, run, device=device), _synthesizer(home, run, share), interface


def _drive(
    home: Home, run: Run, plan: Plan, judge: Judge, minutes: float | None, on_start: OnStart | None,
    share: Amounts | None,
) -> None:  # fmt: skip
    """Continue a run, and write its best kernel as a file that runs without kb, however the run stops."""
    synthesizer = _synthesizer(home, run, share)
    loop = loop_of(_open_to(home, plan), run, on_start and on_start(run), device=named_chip(home, plan))
    try:
        loop.optimize(synthesizer, judge, minutes=minutes, share=share or NO_LIMIT)
    finally:
        best = run.best
        if best and best.evidence.timing:
            text = kernel_file(run.plan.task, best.candidate, best.evidence, judge.interface)
            if text:
                run.write(KERNEL_FILE, text)


def _open_to(home: Home, plan: Plan) -> Home:
    """The home as the run's authors may read it, and its judge, whose words stand in the next prompt."""
    if plan.synthesizer is SynthesizerKind.TUNE:
        return home
    return open_to(home, [*map(AuthorSpec.parse, plan.authors)] or [AuthorSpec(1, plan.synthesizer, "")])


def loop_of(
    home: Home,
    run: Run,
    on_attempt: OnAttempt | None = None,
    *,
    language: Language | None = None,
    device: str | None = None,
) -> Loop:
    """What drives a run. Its language is looked up among those that are judged here, if it is not given."""
    target, written = run.plan.target, language or written_in(home, run.plan.target, run.plan.language)
    scope, siblings = _reach(home, target)
    return Loop(
        run=run, language=written, skillbook=home.skills, scope=scope, siblings=siblings,
        brief=_brief(home, run.plan, written, device), on_attempt=on_attempt or ignore,
        prompt_tokens=home.settings.prompt_tokens,
    )  # fmt: skip


def _brief(home: Home, plan: Plan, language: Language, device: str | None) -> Brief:
    """What tells a run of the hardware and the judge; nothing where no prompt is built."""

    def tell(
        interface: Interface, attempts: tuple[Attempt, ...], stage: Stage, skills: tuple[RecalledSkill, ...]
    ) -> tuple[Briefing, Terms]:
        if plan.synthesizer is SynthesizerKind.TUNE:
            return Briefing(), Terms()
        facts = known_facts(home, plan.target) if plan.documents else []
        terms = terms_of(home, plan.task, interface, plan.target, language, facts, skills, device=device)
        if not plan.documents:
            return Briefing(), terms
        told = brief(
            home, plan.task, interface, language, plan.target, facts, attempts, stage, terms,
            is_diagnosed="diagnosis" not in plan.without,
        )  # fmt: skip
        return told, terms

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
        SettingsError: an author costs money that no budget allows, or two have the same name.
    """
    plan = plan.model_copy(update={"target": home.targets.get(plan.target).name})
    written_in(home, plan.target, plan.language)
    if plan.synthesizer is not SynthesizerKind.EXTERNAL:
        home.toolchains.judges(plan.target)
    must_have_devices(home, plan)
    must_be_paid(_seats(home, plan), plan.budget)
    if plan.synthesizer is not SynthesizerKind.TUNE and plan.documents:
        with with_sheets(home, plan.target):
            if not home.catalog.count_by_target().keys() & (home.targets.scope(plan.target) - {ROOT}):
                raise FactError(
                    f"there are no documents about {plan.target}, so a kernel for it would be a guess",
                    hint=f"`kb ingest` its manuals, with --target {plan.target} if no folder has that name",
                )
    return plan.model_copy(update={"held_back": held_back(_open_to(home, plan), plan.target)})


def _must_not_be_by_hand(plan: Plan) -> None:
    """Raises RunError if candidates come by hand, through `KnowledgeBase.submit`."""
    if plan.synthesizer is SynthesizerKind.EXTERNAL:
        raise RunError("this run is driven by hand", hint="`kb submit RUN FILE` judges an answer")


def _synthesizer(home: Home, run: Run, share: Amounts | None = None) -> Synthesizer | None:
    """Who writes the kernels of a run; None if they come from skills."""
    if run.plan.synthesizer is SynthesizerKind.TUNE:
        return None
    seats = _seats(home, run.plan, run=run.id)
    must_be_paid(seats, run.plan.budget)  # runs of earlier versions have none
    now = Budget(dollars=share.dollars, tokens=share.tokens) if share else Budget()
    language = written_in(home, run.plan.target, run.plan.language)
    return Synthesizer(Desk(seats, Notes(), run.plan.budget, share=now), language)


def _seats(home: Home, plan: Plan, *, run: str = "") -> list[Seat]:
    return seats_of(home.settings, [*map(AuthorSpec.parse, plan.authors)], run=run)

"""Starts and continues the runs of a campaign. Its state is the runs, and one file that says what the campaign is."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from filelock import FileLock, Timeout
from pydantic import ValidationError

from eval.batch.judge import judge_batch
from eval.batch.pack import read_batch
from kb.campaign.allot import REST, next_slice, slices, standing_of
from kb.campaign.file import Campaign, Cell
from kb.campaign.results import Best, Comparison, Result, Summary, best_baselines, comparisons, result_of, summaries
from kb.catalog import storage_errors
from kb.errors import CampaignError, JudgeError, KbError, RunError, SynthesisError, TaskError
from kb.runs.journal import Plan, Run, SynthesizerKind
from kb.runs.loop import OnStart
from kb.storage import write_whole
from kb.types.base import Frozen
from kb.types.campaign import Amounts, Part
from kb.usecases.authors import AuthorSpec, must_be_paid, seats_of
from kb.usecases.batches import take
from kb.usecases.knowledge_base import KnowledgeBase
from kb.usecases.packing import pack_runs
from kb.usecases.running import carried, optimize, resume, start_carried
from synth.authors.spending import Budget

MOST_FAILURES = 3
"""A campaign stops when so many runs in a row fail by their author or judge: that is no fault of the tasks."""
FAILURES = TaskError, JudgeError, SynthesisError, RunError
"""Errors of one run, without which the others go on."""
OnResult = Callable[[Result], None]


class CampaignReport(Frozen):
    """The table of a campaign as its journals are now."""

    name: str
    authors: tuple[str, ...]
    budget: str
    summaries: tuple[Summary, ...]
    comparisons: tuple[Comparison, ...]
    results: tuple[Result, ...]


def stored(kb: KnowledgeBase, name: str) -> Campaign | None:
    """The campaign of this name in the home; None if there is none. Raises CampaignError if it cannot be read."""
    try:
        return Campaign.model_validate_json((_folder(kb, name) / "campaign.json").read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        raise CampaignError(f"campaign {name} cannot be read: {error}", hint="start it under a new name") from error


def runs_of(kb: KnowledgeBase, campaign: Campaign) -> list[Run | None]:
    """The run of each cell; None if it has not begun."""
    own = [run for run in kb.runs if run.plan.part and run.plan.part.campaign == campaign.name]
    by_key = {(run.plan.task.digest, run.plan.target, run.plan.part.arm): run for run in own if run.plan.part}
    return [by_key.get((cell.task.digest, kb.targets.get(cell.target).name, cell.arm.name)) for cell in campaign.cells]


def report(kb: KnowledgeBase, campaign: Campaign) -> CampaignReport:
    """Its table. A run that goes on or has not begun has a row, too."""
    runs = runs_of(kb, campaign)
    best = best_baselines(filter(None, runs))
    results = tuple(_result(cell, run, best) for cell, run in zip(campaign.cells, runs, strict=True))
    return CampaignReport(
        name=campaign.name,
        authors=campaign.authors,
        budget=str(campaign.budget),
        summaries=summaries(results),
        comparisons=comparisons(results),
        results=results,
    )


def run_campaign(
    kb: KnowledgeBase,
    campaign: Campaign,
    *,
    batches: Path,
    pool: str = "",
    force: bool = False,
    on_start: OnStart | None = None,
    on_result: OnResult = lambda result: None,
) -> str:
    """Go on until the budget is spent, or no run has headroom; the same call continues after a kill.

    Args:
        batches: Where the folders of a carried campaign are written, as `NAME-batch-1` and so on.
        pool: The cluster that judges them, as for `judge_batch`; empty: somebody carries them.
        force: Whether a campaign that has changed since it began goes on as it is now.

    Returns:
        What the user does next, such as judging a batch; empty if nothing is left to do.

    Raises:
        CampaignError: it has changed, or another process runs it.
        KbError: a target, a language or an author is unknown, or authors and judges fail for several tasks in a row.
    """
    said, campaign = campaign, _as_begun(kb, campaign)
    plans = [_plan(kb, campaign, cell) for cell in campaign.cells]
    before = stored(kb, campaign.name)
    if before and not force and (changed := said.differences(before)):
        raise CampaignError(
            f"campaign {campaign.name} has changed since it began: {', '.join(changed)}",
            hint="--force goes on with it as it is now; another `name` in the file begins a new one",
        )
    with _held(kb, campaign):
        write_whole(_folder(kb, campaign.name) / "campaign.json", said.model_dump_json(indent=1))
        if campaign.judge == "carried":
            return _judge_elsewhere(kb, campaign, plans, batches, pool, on_result)
        judge = _judge_in_rounds if campaign.judge == "rounds" else _judge_here
        judge(kb, campaign, plans, on_start, on_result)
    return ""


def _as_begun(kb: KnowledgeBase, campaign: Campaign) -> Campaign:
    """With the limit of evaluations that its first run has, if the file sets none: another kb has another default."""
    limits, begun = campaign.budget, [run.plan for run in runs_of(kb, campaign) if run]
    if not begun or limits.evaluations or limits.task.evaluations:
        return campaign
    first = min(begun, key=lambda plan: plan.created)
    task = limits.task.model_copy(update={"evaluations": first.evaluations})
    return campaign.model_copy(update={"budget": limits.model_copy(update={"task": task})})


def _judge_here(
    kb: KnowledgeBase, campaign: Campaign, plans: list[Plan], on_start: OnStart | None, on_result: OnResult
) -> None:
    runs = runs_of(kb, campaign)
    standings = [standing_of(run) for run in runs]
    aside, failures = dict[int, int](), 0
    while part := next_slice(standings, campaign.budget, campaign.each, aside):
        run, number = runs[part.run], part.run
        before, begun = len(run.entries) if run else 0, list[Run]()
        try:
            if run is None:
                noting = _noting(begun, on_start)
                runs[number] = optimize(kb, plans[number], minutes=None, on_start=noting, share=part.until)
            else:
                resume(kb, run, minutes=None, on_start=on_start, share=part.until)
            failures = 0
        except FAILURES as error:
            failures = _counted(kb, plans[number], error, failures)
            aside[number] = REST
            runs[number] = run or next(iter(begun), None)
        else:
            now = runs[number]
            if now and not now.ended and len(now.entries) == before:
                aside[number] = part.lap  # nothing more fits into its share
        standings[number] = standing_of(runs[number])
        on_result(_result(campaign.cells[number], runs[number]))


def _judge_in_rounds(
    kb: KnowledgeBase, campaign: Campaign, plans: list[Plan], on_start: OnStart | None, on_result: OnResult
) -> None:
    """Ask the authors of all runs for a candidate each, judge these, and so on until a round has no verdict."""
    judged, failures = True, 0
    while judged:
        judged = False
        for cell, run in zip(campaign.cells, _ask_all(kb, campaign, plans), strict=True):
            if not run or not run.pending:
                continue
            until = Amounts(evaluations=len(run.attempts) + 1)
            try:
                resume(kb, run, minutes=None, on_start=on_start, share=until)
                judged, failures = True, 0
            except FAILURES as error:
                failures = _counted(kb, run.plan, error, failures)
            on_result(_result(cell, run))


def _counted(kb: KnowledgeBase, plan: Plan, error: KbError, failures: int) -> int:
    """Tell of an error of one run, and count it with the failures in a row before it. Raises the last of too many."""
    kb.notify(f"{plan.task.name} for {plan.target}: {error.message}")
    failures += not isinstance(error, TaskError | RunError)
    if failures >= MOST_FAILURES:
        raise error
    return failures


def _noting(begun: list[Run], on_start: OnStart | None) -> OnStart:
    """Keeps the run that starts, which is lost to the caller if it fails later."""

    def start(run: Run) -> Callable[..., None]:
        begun.append(run)
        return on_start(run) if on_start else lambda step, attempt: None

    return start


def _judge_elsewhere(
    kb: KnowledgeBase, campaign: Campaign, plans: list[Plan], batches: Path, pool: str, on_result: OnResult
) -> str:
    """Carry once; with a pool, until it has judged all that the authors write."""
    tried = set[Path]()
    while True:
        for folder in _folders(campaign, batches) if pool else ():
            if folder not in tried and take(kb, folder).missing:
                judge_batch(folder, kb.notify, pool=pool)
            tried.add(folder)
        then = _carry(kb, campaign, plans, batches, on_result)
        if not pool or tried.issuperset(_folders(campaign, batches)):
            return then


def _folders(campaign: Campaign, batches: Path) -> list[Path]:
    """In the order in which they were packed."""
    found = batches.glob(f"{campaign.name}-batch-*")
    return sorted(found, key=lambda folder: (len(folder.name), folder.name))


def _carry(kb: KnowledgeBase, campaign: Campaign, plans: list[Plan], batches: Path, on_result: OnResult) -> str:
    """Take the verdicts that came, ask for the next candidate of each run, and pack what waits for a device."""
    folders = _folders(campaign, batches)
    waiting = set[tuple[str, str]]()
    for folder in reversed(folders):  # what is tuned late in an earlier one waits until the last candidate is judged
        taken = take(kb, folder)
        if taken.missing:
            known = {(entry.run, entry.proposal.candidate.digest) for entry in read_batch(folder).entries.values()}
            waiting |= known
    runs, cells = _ask_all(kb, campaign, plans), campaign.cells
    for cell, run in zip(cells, runs, strict=True):
        on_result(_result(cell, run))
    open_runs = [run for run in runs if run and run.untimed]
    fresh = [run for run in open_runs if any((run.id, one.candidate.digest) not in waiting for one in run.untimed)]
    if fresh:
        folder = batches / f"{campaign.name}-batch-{len(folders) + 1}"
        pack_runs(kb, folder, fresh)
        return f"run `python -m eval` in {folder} on a machine with the device, bring it back, and start this again"
    return "a batch is not judged yet" if open_runs else ""


def _ask_all(kb: KnowledgeBase, campaign: Campaign, plans: list[Plan]) -> list[Run | None]:
    """All runs, after the authors of each were asked at once for its next candidate, which waits for its verdict."""
    runs, failures = runs_of(kb, campaign), 0
    with ExitStack() as held:
        asked = []
        for part in [*slices([standing_of(run) for run in runs], campaign.budget, campaign.each)]:
            try:
                asking = runs[part.run] or start_carried(kb, plans[part.run])
                runs[part.run] = asking
                device = asking.plan.target if campaign.judge == "carried" else None
                loop, synthesizer, interface = carried(kb, asking, part.until, device)
                held.enter_context(asking.held())
                question = loop.ask(synthesizer, interface) if synthesizer else None
                failures = 0
            except FAILURES as error:
                failures = _counted(kb, plans[part.run], error, failures)
                continue
            if question:
                asked.append((loop, question))
                held.push(question.finish)  # the answer is paid, and is recorded while the run is held
        for loop, question in asked:
            try:
                loop.keep(question)
                failures = 0
            except SynthesisError as error:
                failures = _counted(kb, loop.run.plan, error, failures)
    return runs


def _plan(kb: KnowledgeBase, campaign: Campaign, cell: Cell) -> Plan:
    """The plan of one run. Raises KbError if a target, a language or an author is unknown, or is not paid."""
    each, whole = campaign.each, campaign.budget
    plan = kb.plan(
        cell.task,
        cell.target,
        authors=campaign.authors,
        budget=Budget(dollars=each.dollars or whole.dollars or None, tokens=each.tokens or whole.tokens or None),
        language=campaign.language,
        evaluations=each.evaluations or 0,
        seed=campaign.seed,
        near_roof=campaign.near_roof,
    )
    must_be_paid(seats_of(kb.settings, [*map(AuthorSpec.parse, plan.authors)]), plan.budget)
    if campaign.judge != "here" and plan.synthesizer is not SynthesizerKind.AUTHORS:
        raise CampaignError(f"a campaign judged {campaign.judge} needs an author", hint='`judge = "here"` needs none')
    part = Part(campaign=campaign.name, group=cell.group, arm=cell.arm.name)
    own = cell.arm.model_dump(exclude={"name"}) | {"part": part, "target": kb.targets.get(plan.target).name}
    return plan.model_copy(update=own)


def _result(cell: Cell, run: Run | None, best: Best | None = None) -> Result:
    if run:
        return result_of(run, best=best)
    task = cell.task
    return Result(group=cell.group, task=task.name, precision=task.precision, target=cell.target, arm=cell.arm.name)


def _folder(kb: KnowledgeBase, name: str) -> Path:
    return kb.settings.home / "campaigns" / name


@contextmanager
def _held(kb: KnowledgeBase, campaign: Campaign) -> Iterator[None]:
    """Keep other processes from continuing this campaign."""
    folder = _folder(kb, campaign.name)
    with storage_errors(kb.settings.home):
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / ".lock", timeout=0)
        try:
            lock.acquire()
        except Timeout:
            message = f"campaign {campaign.name} is in use by another process"
            raise CampaignError(message, hint="wait for it to end") from None
    try:
        yield
    finally:
        lock.release()

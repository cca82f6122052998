"""The commands `kb runs list | show | resume`."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from math import inf
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.interrupts import interruptible
from kb.cli.output import Json, counted, notify, notify_all, open_kb, show, show_result, show_wrapped
from kb.errors import RunError

if TYPE_CHECKING:
    from kb.runs.journal import Run
    from kb.types.protocols import Attempt
    from kb.views.runs import AttemptView, RunView
    from kb.views.verdicts import Verdict
    from synth.authors.asking import Spent

NEEDS_AUTHOR = (
    "somebody has to write one: `--author claude-opus-5-5 --budget 2usd` asks a model, `--author files:FOLDER` you or "
    "an agent (docs/authors.md)"
)
REASON_CHARACTERS = 160

app = typer.Typer(help="Optimisation sessions and their journals.", no_args_is_help=True, rich_markup_mode=None)


@app.command("list")
def list_runs(as_json: Json = False) -> None:
    """List all runs, oldest first.

    Example: kb runs list
    """
    from kb.views.runs import run_view

    with open_kb() as kb:
        runs, problems = [run_view(run) for run in kb.runs], kb.runs.problems()
    notify_all(problems)
    show_result(runs, _show_list, as_json=as_json)


@app.command("show")
def show_run(
    names: Annotated[list[str], typer.Argument(metavar="RUN...", help="Ids or the ends of ids; all share one plot.")],
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the progress as a PNG.")] = None,
    as_json: Json = False,
) -> None:
    """Show the candidates of a run and its outcome.

    Several runs are compared by the time of their kernels.

    Example: kb runs show 3f9c --plot progress.png
    """
    from kb.cli.plot import draw
    from kb.views.runs import run_view

    with open_kb() as kb:
        runs = [run_view(kb.runs.get(name)) for name in names]
    if plot is not None:
        draw(runs, plot)
    show_result(runs, show_runs, as_json=as_json)


@app.command("resume")
def resume_run(
    name: Annotated[str, typer.Argument(metavar="RUN", help="The id of the run or the end of it.")],
    minutes: Annotated[float | None, typer.Option(min=0, metavar="M", help="Stop after M minutes.")] = None,
    devices: Annotated[str, typer.Option(metavar="DEVICES", help="Judge on these instead, of the same kind.")] = "",
    pool: Annotated[str, typer.Option(metavar="POOL", help="Another address of the run's pool.")] = "",
    as_json: Json = False,
) -> None:
    """Continue a run that was interrupted.

    Example: kb runs resume 3f9c

    Exit status: 0 when a candidate passed, 1 when none did.
    """
    with open_kb() as kb, reporting(quiet=as_json) as on_start:
        run = kb.runs.get(name)
        kb.resume(run, minutes=minutes, on_start=on_start, devices=devices, pool=pool)
    finish(run, as_json=as_json)


@contextmanager
def reporting(*, quiet: bool) -> "Iterator[Callable[[Run], Callable[[int, Attempt], None]] | None]":
    """What prints a line for each candidate that a run has judged, and then for each that it judges.

    A run that Ctrl-C or SIGTERM interrupts ends with its outcome, too.
    """
    from kb.views.runs import attempt_view, run_view

    runs: list[Run] = []

    def started(run: "Run") -> "Callable[[int, Attempt], None]":
        runs.append(run)
        _show_table(run_view(run))
        return lambda number, attempt: _show_attempt(attempt_view(number, attempt), _paid(run.spent))

    with interruptible():
        try:
            yield None if quiet else started
        except KeyboardInterrupt:
            for run in runs:
                _show_outcome(run_view(run))
            raise


def finish(run: "Run", *, as_json: bool) -> None:
    """Show the outcome of a run that stopped, and draw its plot. Raises Exit with status 1 when nothing passed."""
    from kb.cli.plot import draw
    from kb.views.runs import run_view

    view, written = run_view(run), "journal and plot"
    try:
        draw([view], run.folder / "progress.png")
    except RunError as error:
        written = "journal"
        notify(error.message)
    show_result(view, _show_outcome, as_json=as_json)
    if not as_json:
        show(f"{written}: {view.folder}; `kb report {run.id}` makes a page of it")
    if view.best is None:
        raise typer.Exit(1)


def _show_list(runs: "Sequence[RunView]") -> None:
    from kb.cli.table import show_table

    rows = [
        (r.id, " and ".join(r.authors) or r.synthesizer, str(len(r.attempts)), _time(r.best_verdict), r.ended or "open")
        for r in runs
    ]
    show_table(("run", "by", "judged", "best in us", "state"), rows, wrap={4})
    if not runs:
        show("no runs yet; `kb optimize` starts one")


def _time(verdict: "Verdict | None") -> str:
    return f"{verdict.time_us.value:,.1f}" if verdict and verdict.time_us else "-"


def show_runs(runs: "Sequence[RunView]") -> None:
    for run in runs:
        _show_table(run)
        _show_outcome(run)
        show()
    if len(runs) > 1:
        _show_comparison(runs)


def _show_table(run: "RunView") -> None:
    control = " (control: only what ships with kb)" if run.control else ""
    by = " and ".join(run.authors) or run.synthesizer
    show_wrapped(f"run {run.id}: {run.task} for {run.target} in {run.language}, by {by}{control}")
    if any("recorded:" in author for author in run.authors):
        show_wrapped("(recorded answers: nobody was asked)")
    if run.synthesizer == "tune":
        show_wrapped("(without an author: kb searches the parameters of the kernels in skills, and writes none)")
    for attempt in run.attempts:
        _show_attempt(attempt)


def _show_attempt(attempt: "AttemptView", paid: str = "") -> None:
    """Show an attempt, and what the run had paid by then."""
    from kb.cli.verdicts import interval

    verdict = attempt.verdict
    decided = "passed; the machine was busy" if verdict.evidence.timing else verdict.evidence.outcome.value
    if verdict.evidence.cycles is not None:
        decided = f"{verdict.evidence.cycles:9,} cycles"
    if verdict.time_us and verdict.speedup:
        time = f"{verdict.time_us.value:9,.1f} us ({interval(verdict.time_us)})"
        limit = verdict.evidence.bottleneck
        roof = f", {limit.reached:.0%} of the roof" if limit and limit.reached else ""
        decided = f"{time:<33} {verdict.speedup.value:5.2f}x {verdict.baseline}{roof}"
    note = f"{attempt.stage}: {attempt.note}" if attempt.stage else attempt.note
    by = "; ".join(filter(None, (attempt.author, paid)))
    note = f"{note} [{by}]" if by else note
    show_wrapped(note, f"{attempt.number:3}  {decided:<50}  ")
    if not verdict.passed and verdict.evidence.detail:
        show_wrapped(shorten(verdict.evidence.detail, REASON_CHARACTERS, placeholder=" ..."), "     ")


def _show_outcome(run: "RunView") -> None:
    from kb.runs.journal import KERNEL_FILE

    if run.best_verdict:
        show_wrapped(f"best: {run.best}, {run.best_verdict.summary}")
    for name in run.published:
        show(f"skill written: {name}  (`kb skills show {name}`)")
    if run.spent.usage.total:
        show_wrapped(_spent(run))
    if run.held_back:
        show_wrapped(f"held back from the authors: {counted(run.held_back, 'private documents')}")
    if (kernel := Path(run.folder) / KERNEL_FILE).exists():
        show(f"the best kernel as a file that runs without kb: {kernel}")
    next_step = f"kb submit {run.id} FILE" if run.synthesizer == "external" else f"kb runs resume {run.id}"
    show(f"ended: {run.ended}" if run.ended else f"open; continue with `{next_step}`")
    if run.ended and not run.attempts and run.synthesizer == "tune" and not run.control:
        show_wrapped(f"no skill has a kernel for {run.task}; {NEEDS_AUTHOR}")


def _paid(spent: "Spent") -> str:
    """What a run has spent, short; nothing where nobody was asked."""
    tokens = f"{spent.usage.total:,} tokens" if spent.usage.total else ""
    return f"{tokens}, ${spent.dollars:.2f}" if spent.dollars else tokens


def _spent(run: "RunView") -> str:
    usage = {name.replace("_", " "): count for name, count in run.spent.usage.model_dump().items() if count}
    unpriced = f"; the price of {run.spent.unpriced:,} is unknown" if run.spent.unpriced else ""
    lost = run.spent.unanswered
    unsure = f"; {counted(lost, 'requests')} without an answer counted with the most that they may cost" if lost else ""
    tokens = ", ".join(f"{count:,} {name}" for name, count in usage.items())
    allowed = f" of {run.budget}," if run.budget.option else ""
    return f"spent: ${run.spent.dollars:.2f}{allowed} for {tokens}{unpriced}{unsure}"


def _show_comparison(runs: "Sequence[RunView]") -> None:
    """Show the time of each run's best kernel, and after each candidate that of the best so far."""
    from kb.cli.table import show_table
    from kb.cli.verdicts import interval

    rows = []
    for run in runs:
        best = run.best_verdict
        of = f"{best.speedup.value:.2f}x {best.baseline}" if best and best.speedup else "-"
        rows.append((run.id, _time(best), interval(best.time_us) if best and best.time_us else "-", of))
    show_table(("best kernel", "us", "95 % interval", "speed-up over"), rows, wrap={0, 3})
    curves = [
        [*accumulate((a.verdict.time_us.value if a.verdict.time_us else inf for a in run.attempts), min)]
        for run in runs
    ]
    steps = range(max(map(len, curves)))
    show("\nbest so far in us, after each candidate:")
    cells = [[f"{c[n]:,.1f}" if n < len(c) and c[n] < inf else "-" for c in curves] for n in steps]
    show_table(("", *(run.id[-4:] for run in runs)), [(str(n + 1), *row) for n, row in enumerate(cells)])

"""Shows runs in a terminal and draws their progress."""

from collections.abc import Sequence
from itertools import accumulate, compress
from pathlib import Path

import typer

from kb.cli.evidence_report import headline
from kb.cli.output import notify, show, show_result, show_wrapped
from kb.cli.table import show_table
from kb.errors import RunError
from kb.runs.credit import Credit, credit_of
from kb.runs.journal import Run, SynthesizerKind
from kb.runs.loop import Tell, say_nothing
from kb.types.protocols import Attempt
from synth.search.tune import NOTICE


def tell(run: Run, *, quiet: bool) -> Tell:
    """Print a line for each candidate judged so far, and return the function that prints the next lines."""
    if quiet:
        return say_nothing
    _show_table(run)
    return _show_attempt


def finish(run: Run, *, as_json: bool) -> None:
    """Show the outcome of a run that stopped, and draw its plot. Raises Exit with status 1 when nothing passed."""
    written = "journal and plot"
    try:
        draw([run], run.folder / "progress.png")
    except RunError as error:
        written = "journal"
        notify(error.message)
    show_result(summary(run), lambda _: _show_outcome(run), as_json=as_json)
    if not as_json:
        show(f"{written}: {run.folder}")
    if run.best is None:
        raise typer.Exit(1)


def show_runs(runs: Sequence[Run]) -> None:
    rows = [(r.id, r.plan.synthesizer, str(len(r.attempts)), _best(r), r.ended or "open") for r in runs]
    show_table(("run", "by", "judged", "best", "state"), rows, wrap={4})
    if not runs:
        show("no runs yet; `kb optimize` starts one")


def _best(run: Run) -> str:
    return f"{run.best.evidence.speedup:.2f}x" if run.best and run.best.evidence.speedup else "-"


def show_journal(run: Run) -> None:
    _show_table(run)
    _show_outcome(run)


def _show_table(run: Run) -> None:
    plan = run.plan
    show_wrapped(
        f"run {run.id}: {plan.task.name} for {plan.target} in {plan.language}, by {plan.synthesizer}"
        f"{' (control: only what ships with kb)' if plan.control else ''}"
    )
    if plan.synthesizer is SynthesizerKind.TUNE:
        show_wrapped(f"({NOTICE})")
    for step, attempt in enumerate(run.attempts, start=1):
        _show_attempt(step, attempt)


def _show_attempt(step: int, attempt: Attempt) -> None:
    show_wrapped(attempt.note, f"{step:3}  {_verdict(attempt)}  ")


def _show_outcome(run: Run) -> None:
    if run.best:
        show_wrapped(f"best: {run.attempts.index(run.best) + 1}, {headline(run.best.evidence)}")
    _show_credit(credit_of(run))
    for name in run.published:
        show(f"skill written: {name}  (`kb skills show {name}`)")
    if run.usage:
        show(f"tokens: {', '.join(f'{kind} {count:,}' for kind, count in run.usage.items())}")
    by_hand = run.plan.synthesizer is SynthesizerKind.EXTERNAL
    next_step = f"kb submit {run.id} FILE" if by_hand else f"kb runs resume {run.id}"
    show(f"ended: {run.ended}" if run.ended else f"open; continue with `{next_step}`")


def _show_credit(credit: Credit) -> None:
    """Show which part of the result skills gave, and which part the run found."""
    recalled, found = credit.recalled, credit.found
    if recalled:
        show_wrapped(f"from skills: {recalled.speedup:.2f}x, candidate {recalled.attempt}, {recalled.skill} as it is")
    if found:
        more = f", {credit.gain:.2f} times the best from skills" if credit.gain else ""
        show_wrapped(f"found by the run: {found.speedup:.2f}x, candidate {found.attempt}{more}")


def show_curves(runs: Sequence[Run]) -> None:
    """Show the best speed-up after each candidate, one line per run."""
    show("best so far, after each candidate:")
    curves = [accumulate((attempt.evidence.speedup or 0.0 for attempt in run.attempts), max) for run in runs]
    shown = ["  ".join(f"{speedup:5.2f}x" if speedup else "     -" for speedup in curve) for curve in curves]
    show_table((), list(zip((run.id for run in runs), shown, strict=True)), wrap={1}, indent=2)


def summary(run: Run) -> dict[str, object]:
    """A run as JSON, without the sources that its folder holds."""
    return {
        "run": run.id,
        "task": run.plan.task.name,
        "target": run.plan.target,
        "language": run.plan.language,
        "synthesizer": run.plan.synthesizer,
        "folder": str(run.folder),
        "ended": run.ended,
        "published": run.published,
        "usage": run.usage,
        "best": run.attempts.index(run.best) + 1 if run.best else None,
        "credit": credit_of(run),
        "attempts": [
            {"note": a.note, "skills_used": a.skills_used, "recalled": a.recalled, "evidence": a.evidence}
            for a in run.attempts
        ],
    }


def draw(runs: Sequence[Run], path: Path) -> None:
    """Draw the speed-up of each judged candidate and of the best so far as a PNG.

    Raises:
        RunError: matplotlib is not installed, or the file cannot be written.
    """
    try:
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator
    except ImportError as error:
        message = "no plot was drawn: matplotlib is not installed"
        raise RunError(message, hint="`pip install 'kb-hardware[plot]'` installs it") from error
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    for run in runs:
        speedups = [attempt.evidence.speedup or 0.0 for attempt in run.attempts]
        steps = range(1, len(speedups) + 1)
        (line,) = axes.step(steps, list(accumulate(speedups, max)), where="post", label=f"{run.id}: best so far")
        for judged, marker in (([s > 0 for s in speedups], "o"), ([s == 0 for s in speedups], "x")):
            at = list(compress(steps, judged))
            axes.plot(at, [speedups[step - 1] for step in at], marker, color=line.get_color())
    axes.axhline(1, color="gray", linestyle=":", label="best baseline")
    axes.set_xlabel("candidates judged (x: refused, or not timed)")
    axes.set_ylabel("speed-up over the best baseline")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(fontsize="small")
    try:
        figure.savefig(path, format="png", dpi=120)
    except OSError as error:
        raise RunError(f"cannot write the plot: {error}", hint="name a file in a folder that you can write") from error


def _verdict(attempt: Attempt) -> str:
    evidence = attempt.evidence
    if evidence.timing is None:
        return f"{evidence.outcome:<36}"
    timing = evidence.timing
    if timing.busy:
        return f"{'passed; the machine was busy':<36}"
    interval = f"({timing.low:.2f} to {timing.high:.2f})"
    return f"{timing.speedup:5.2f}x {interval:<15} {timing.candidate_us:10,.1f} us"

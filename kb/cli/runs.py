"""The commands `kb runs list | show | resume`."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from kb.cli.output import Json, notify, open_kb, print_json, show, show_result

app = typer.Typer(help="Optimisation sessions and their journals.", no_args_is_help=True, rich_markup_mode=None)


@app.command("list")
def list_runs(as_json: Json = False) -> None:
    """List all runs, oldest first.

    Example: kb runs list
    """
    from kb.cli.run_report import show_runs, summary

    with open_kb() as kb:
        runs, problems = list(kb.runs), kb.runs.problems()
    for _, error in problems:
        notify(error.message)
    show_result([summary(run) for run in runs], lambda _: show_runs(runs), as_json=as_json)


@app.command("show")
def show_run(
    names: Annotated[list[str], typer.Argument(metavar="RUN...", help="Ids or the ends of ids; all share one plot.")],
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the progress as a PNG.")] = None,
    as_json: Json = False,
) -> None:
    """Show the candidates of a run and its outcome.

    Example: kb runs show 3f9c --plot progress.png
    """
    from kb.cli.run_report import draw, show_curves, show_journal, summary

    with open_kb() as kb:
        runs = [kb.runs.get(name) for name in names]
    if plot is not None:
        draw(runs, plot)
    if as_json:
        print_json([summary(run) for run in runs])
        return
    for run in runs:
        show_journal(run)
        show()
    if len(runs) > 1:
        show_curves(runs)


@app.command("resume")
def resume_run(
    name: Annotated[str, typer.Argument(metavar="RUN", help="The id of the run or the end of it.")],
    minutes: Annotated[float | None, typer.Option(min=0, metavar="M", help="Stop after M minutes.")] = None,
    as_json: Json = False,
) -> None:
    """Continue a run that was interrupted.

    Example: kb runs resume 3f9c

    Exit status: 0 when a candidate passed, 1 when none did.
    """
    from kb.cli.run_report import finish, tell

    with open_kb() as kb:
        run = kb.runs.get(name)
        kb.resume(run, minutes=minutes, tell=partial(tell, quiet=as_json))
    finish(run, as_json=as_json)

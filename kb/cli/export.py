"""The command `kb export`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.output import Json, counted, notify, open_kb, show, show_result

if TYPE_CHECKING:
    from kb.exports.export import Exported


def export(
    names: Annotated[list[str], typer.Argument(metavar="RUN...", help="Ids of runs or the ends of ids, or campaigns.")],
    form: Annotated[str, typer.Option("--as", metavar="FORM", help="What they are written as; see above.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="A new folder.")],
    held_out: Annotated[
        list[Path] | None,
        typer.Option("--held-out", metavar="PATH", help="A task, or a folder of tasks, to mark as held out for tests."),
    ] = None,
    definition: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="A definition of which a task was made: solutions are for it."),
    ] = None,
    level: Annotated[int | None, typer.Option(min=1, metavar="N", help="The problems' level, for kernelbench.")] = None,
    licence: Annotated[
        str, typer.Option("--license", metavar="ID", help="What you publish the kernels under, for hub: mit.")
    ] = "",
    with_passages: Annotated[
        bool, typer.Option("--with-passages", help="Keep the words of documents in prompts; mind their licences.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Write runs in a form that other tools load.

    `trajectories` is data to train on: attempts with prompts, answers, verdicts and rewards, preference pairs, and the
    path to the best kernel. `failures` are the refused candidates with their causes. Both are JSON Lines, and parquet
    too where pyarrow is installed. `flashinfer` and `sol-execbench` are definitions, solutions and traces.
    `kernelbench` is a folder of generations. `hub` is a package for each best kernel, which the library `kernels`
    loads. docs/exports.md says what is in them.

    What comes from private documents is never written; prompts cite other documents without their words.

    Example: kb export 3f9c --as trajectories --output data
    """
    from kb.campaign.drive import runs_of, stored
    from kb.exports.export import export as export_runs

    with open_kb() as kb:
        runs = []
        for name in names:
            campaign = stored(kb, name)
            runs += [run for run in runs_of(kb, campaign) if run] if campaign else [kb.runs.get(name)]
        done = export_runs(
            kb,
            runs,
            form,
            output,
            held_out=held_out or (),
            with_passages=with_passages,
            definitions=definition or (),
            level=level or 0,
            licence=licence,
        )
    show_result(done, _show, as_json=as_json)


def _show(done: "Exported") -> None:
    for file, count in done.files.items():
        show(f"{count:6,}  {done.folder}/{file}")
    if done.held_back:
        notify(f"held back, because of documents that are private or gone: {counted(done.held_back, 'attempts')}")
    for why, count in done.left_out.items():
        notify(f"left out of {counted(count, 'attempts')}: {why}")

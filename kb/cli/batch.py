"""The commands `kb batch pack | judge | take`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.output import Json, Pool, counted, open_kb, show, show_result, show_wrapped

if TYPE_CHECKING:
    from kb.usecases.batches import Taken

app = typer.Typer(help="Candidates that another machine judges.", no_args_is_help=True, rich_markup_mode=None)
Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder that `kb batch pack` wrote.")]


@app.command()
def pack(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder to write; it must not exist.")],
    what: Annotated[
        list[str] | None,
        typer.Argument(metavar="RUN|FILE", help="Ids of runs (default: all), or candidates for --task."),
    ] = None,
    task: Annotated[Path | None, typer.Option(metavar="TASK", help="The task that the FILEs are for.")] = None,
    target: Annotated[
        str | None, typer.Option("--target", "-t", metavar="TARGET", help="The chip that the FILEs are for.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Pack candidates for a machine that has their device.

    Of runs these are the candidates that passed without being timed, and one that is not judged yet. FILEs become a run
    for each of their languages. What a run would tune is tuned there. The folder holds the judge, too: `python -m eval`
    in it needs only torch, triton, numpy and pydantic.

    Example: kb batch pack for-h100 one.py other.py --task examples/softmax.py --target h100
    """
    from eval.languages.registry import load_candidate
    from eval.oracle.task import load_task
    from kb.types.protocols import Proposal
    from kb.usecases.packing import pack_candidates, pack_runs

    if (task is None) is not (target is None):
        raise typer.BadParameter("--task and --target belong together")
    with open_kb() as kb:
        if task and target:
            files = [Path(name) for name in what or ()]
            given = [Proposal(candidate=load_candidate(file), note=file.name) for file in files]
            batch = pack_candidates(kb, folder, load_task(task), target, given)
        else:
            batch = pack_runs(kb, folder, map(kb.runs.get, what) if what else kb.runs)
    runs = list(dict.fromkeys(entry.run for entry in batch.entries.values()))
    packed = {"batch": batch.id, "folder": str(folder), "candidates": len(batch.entries), "runs": runs}
    done = f"{counted(len(batch.entries), 'candidates')} packed into {folder} for run {', '.join(runs)}"
    then = f"now run `python -m eval` in it on a machine with the device, and here `kb batch take {folder}`"
    show_result(packed, lambda _: show_wrapped(f"{done}; {then}"), as_json=as_json)


@app.command()
def judge(
    folder: Folder,
    devices: Annotated[str, typer.Option(help="Only these: numbers or uuids of GPUs, and cpu (default: all).")] = "",
    pool: Pool = "",
) -> None:
    """Judge a batch on all devices of this machine, or on some.

    It may be stopped at any moment: the next start goes on. Where kb is not installed, `python -m eval` in the folder
    does the same.

    Example: kb batch judge for-h100 --devices 0,2

    Exit status: 0 when every candidate has a final verdict and is tuned to the end, 1 otherwise.
    """
    from eval.batch.judge import judge_batch

    if judge_batch(folder, show, devices, pool):
        raise typer.Exit(1)


@app.command()
def take(folder: Folder, as_json: Json = False) -> None:
    """Take the verdicts of a batch back into the runs.

    Each verdict and each setting that was timed counts once, however often it is taken. A win becomes a skill.

    Example: kb batch take for-h100

    Exit status: 0 when every candidate has a verdict and is tuned to the end, 1 otherwise.
    """
    from kb.cli.runs import show_runs
    from kb.usecases.batches import take
    from kb.views.runs import run_view

    def show_taken(taken: "Taken") -> None:
        for run in runs:
            show_runs([run])
        show(f"{counted(taken.new, 'verdicts')} taken that the runs did not have")
        for what in taken.missing:
            show_wrapped(f"missing: {what}")

    with open_kb() as kb:
        taken = take(kb, folder)
        runs = [run_view(kb.runs.get(name)) for name in taken.runs]
    show_result(taken, show_taken, as_json=as_json, failed=taken.missing)

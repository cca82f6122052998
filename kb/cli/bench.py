"""`kb bench retrieval`."""

from pathlib import Path
from typing import Annotated

import typer

from kb.cli.output import Json, open_kb, print_json, progress_bar

app = typer.Typer(help="Measure this home.", no_args_is_help=True)


@app.callback()
def bench() -> None:
    """Measure this home."""


@app.command()
def retrieval(
    questions: Annotated[Path, typer.Option(metavar="FILE", help="Questions as JSON lines.")],
    phrasings: Annotated[
        bool, typer.Option("--phrasings", help="Ask each question in all its phrasings at once.")
    ] = False,
    baselines: Annotated[
        bool, typer.Option("--baselines", help="Also BM25, dense search, their rank fusion, fixed windows.")
    ] = False,
    tune: Annotated[bool, typer.Option("--tune", help="Fit lexical_weight instead.")] = False,
    export: Annotated[
        Path | None, typer.Option(metavar="RUN.jsonl", help="Write what was found, for another scorer.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Score how well the documents of this home answer a file of questions.

    A line has id, target, query and evidence: [{path, must: [strings that a passage must hold]}], and may have kind,
    phrasings and reject (a sibling's value). What ships with kb takes no part.

    Example: kb bench retrieval --questions questions.jsonl --phrasings --baselines
    """
    from kb.bench.questions import load_questions
    from kb.bench.retrieval import export_run, measure
    from kb.bench.tuning import fit
    from kb.cli.bench_report import show_measured, show_tuning

    asked = load_questions(questions)
    with open_kb() as kb, progress_bar("asking", quiet=as_json) as progress:
        if tune:
            tuning = fit(kb, asked, phrasings=phrasings, progress=progress)
            print_json(tuning) if as_json else show_tuning(tuning)
            return
        report, run = measure(kb, asked, phrasings=phrasings, baselines=baselines, progress=progress)
    if export:
        export_run(export, run)
    print_json(report) if as_json else show_measured(report)

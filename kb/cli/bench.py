"""The command `kb bench retrieval`."""

from pathlib import Path
from typing import Annotated

import typer

from kb.cli.output import Json, open_kb, progress_bar, show_result

app = typer.Typer(no_args_is_help=True)


@app.callback()
def bench() -> None:
    """Measure how well this home answers questions."""


@app.command()
def retrieval(
    questions: Annotated[Path, typer.Option(metavar="FILE", help="Questions as JSON lines.")],
    phrasings: Annotated[bool, typer.Option("--phrasings", help="Search with all phrasings of a question.")] = False,
    baselines: Annotated[
        bool, typer.Option("--baselines", help="Also score BM25, dense search, rank fusion and fixed windows.")
    ] = False,
    tune: Annotated[bool, typer.Option("--tune", help="Fit lexical_weight instead.")] = False,
    export: Annotated[Path | None, typer.Option(metavar="RUN.jsonl", help="Write the hits for another scorer.")] = None,
    as_json: Json = False,
) -> None:
    """Score how well search answers a file of questions from the documents of this home.

    Each line has id, target, query and evidence: [{path, must: [strings that a passage must contain]}]. It may have
    kind, phrasings and reject (a sibling's value). Documents that ship with kb are left out.

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
            show_result(tuning, show_tuning, as_json=as_json)
            return
        report, run = measure(kb, asked, phrasings=phrasings, baselines=baselines, progress=progress)
    if export:
        export_run(export, run)
    show_result(report, show_measured, as_json=as_json)

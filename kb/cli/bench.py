"""The commands `kb bench retrieval | judge`."""

from pathlib import Path
from typing import Annotated

import typer

from kb.cli.output import Json, open_kb, progress_bar, show_result

app = typer.Typer(no_args_is_help=True)


@app.callback()
def bench() -> None:
    """Measure search and the judge."""


@app.command()
def retrieval(
    questions: Annotated[Path, typer.Option(metavar="FILE", help="Questions as JSON lines.")],
    phrasings: Annotated[bool, typer.Option("--phrasings", help="Search with all phrasings of a question.")] = False,
    as_json: Json = False,
) -> None:
    """Score how well search answers a file of questions from the documents of this home.

    Each line has id, target, query and evidence: [{path, must: [strings that a passage must contain]}]. It may have
    kind, phrasings and reject (a sibling's value). Documents that ship with kb are left out.

    Example: kb bench retrieval --questions questions.jsonl --phrasings
    """
    from kb.bench.questions import load_questions
    from kb.bench.retrieval import measure
    from kb.cli.bench_report import show_retrieval

    asked = load_questions(questions)
    with open_kb() as kb, progress_bar("asking", quiet=as_json) as progress:
        report, _ = measure(kb, asked, phrasings=phrasings, progress=progress)
    show_result(report, show_retrieval, as_json=as_json)


@app.command()
def judge(
    target: Annotated[
        str | None, typer.Option("--target", "-t", metavar="TARGET", help="The chip to judge for (default: this CPU).")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Leave out cheats that are caught by timing, and time few sessions.")
    ] = False,
    rounds: Annotated[int, typer.Option(metavar="N", min=1, help="How often each honest kernel is judged.")] = 1,
    out: Annotated[
        typer.FileTextWrite | None,
        typer.Option(metavar="FILE", lazy=False, encoding="utf-8", help="Write the result as JSON."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Test the judge on this machine.

    Judges every known cheat, every honest kernel, and references against themselves, and shows how many got the wrong
    verdict, with 95 % intervals. Other work disturbs times: run it on a machine without any.

    Example: kb bench judge --quick

    Exit status: 0 when every cheat was refused and every honest kernel passed, 1 otherwise.
    """
    from kb.bench.selftest import self_test
    from kb.cli.bench_report import show_self_test, show_verdict

    with open_kb() as kb:
        tell = (lambda verdict: None) if as_json else show_verdict
        found = self_test(kb, target, quick=quick, tell=tell, rounds=rounds)
    if out:
        out.write(found.model_dump_json(indent=2) + "\n")
    show_result(found, show_self_test, as_json=as_json, failed=found.failed)

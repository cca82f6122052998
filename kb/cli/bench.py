"""The commands `kb bench retrieval | kernelbench | judge`."""

import re
from pathlib import Path
from typing import Annotated

import typer

from kb.cli.kernels import Precision
from kb.cli.output import Json, open_kb, progress_bar, show_result

app = typer.Typer(no_args_is_help=True)


@app.callback()
def bench() -> None:
    """Measure search, kernels on a benchmark, and the judge."""


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
def kernelbench(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A folder of KernelBench: level1, level2, ...")],
    level: Annotated[list[int], typer.Option("--level", metavar="L", help="A level; repeat it for several.")] = [1],  # noqa: B006
    problems: Annotated[str, typer.Option(metavar="N,...", help="Numbers of problems, such as 1,2,5-9.")] = "",
    candidates: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            exists=True,
            file_okay=False,
            help="Judge the files named 1_NAME, or the files in folders named so.",
        ),
    ] = None,
    baselines: Annotated[
        bool, typer.Option("--baselines", help="Judge each reference as a candidate, which times the baselines.")
    ] = False,
    target: Annotated[
        str | None, typer.Option("--target", "-t", metavar="TARGET", help="The chip to judge for, by name or alias.")
    ] = None,
    precision: Precision = "default",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.jsonl", help="Add results to this file; what it has is not repeated.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Audit the problems of KernelBench, and judge candidates on those that are usable.

    An audit runs in a process of its own, at smaller sizes if the problem is large. It says whether the problem loads,
    has sizes to change, draws random numbers, is passed by an answer that computes nothing, and fits this machine.

    fast_p is the share of usable problems with a candidate that won and whose whole 95 % interval is above p.

    Example: kb bench kernelbench KernelBench --level 1 --problems 1-20 --candidates mine --target cpu-x86
    """
    from kb.bench.kernelbench import Results, find_problems, report, run_audits, run_judge
    from kb.cli.bench_report import show_fast, show_line

    if (candidates or baselines) and not target:
        raise typer.BadParameter("candidates and baselines need a --target")
    chosen = find_problems(path, level, _numbers(problems))
    results = Results(out)
    tell = (lambda line: None) if as_json else show_line
    run_audits(chosen, results, tell)
    if target and (candidates or baselines):
        with open_kb() as kb:
            name = kb.targets.get(target).name
            run_judge(kb, chosen, results, target=name, candidates=candidates, precision=precision, tell=tell)
    show_result(report(results.lines, [problem.name for problem in chosen], precision), show_fast, as_json=as_json)


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
    show_result(found, show_self_test, as_json=as_json)
    if found.failed:
        raise typer.Exit(1)


def _numbers(text: str) -> frozenset[int] | None:
    """Parse problem numbers such as `1,2,5-9`; None if the text is empty."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", part.strip())
        if not match:
            raise typer.BadParameter(f"{part!r} is not a number or a range such as 5-9")
        found.update(range(int(match[1]), int(match[2] or match[1]) + 1))
    return frozenset(found) if text else None

"""The commands `kb bench retrieval | kernelbench | judge | skills`."""

import re
import time
from pathlib import Path
from typing import Annotated

import typer

from kb.cli.output import Json, open_kb, progress_bar, show_result

app = typer.Typer(no_args_is_help=True)


@app.callback()
def bench() -> None:
    """Measure search, kernels on a benchmark, the judge and skills."""


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


@app.command()
def kernelbench(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A folder of KernelBench: level1, level2, ...")],
    level: Annotated[list[int], typer.Option("--level", metavar="L", help="A level; repeat it for several.")] = [1],  # noqa: B006
    problems: Annotated[str, typer.Option(metavar="N,...", help="Numbers of problems, such as 1,2,5-9.")] = "",
    candidates: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Judge the files named 1_NAME, or the files in folders named so.")
    ] = None,
    baselines: Annotated[
        bool, typer.Option("--baselines", help="Judge each reference as a candidate, which times the baselines.")
    ] = False,
    target: Annotated[
        str | None, typer.Option("--target", "-t", metavar="TARGET", help="The chip to judge for, by name or alias.")
    ] = None,
    shard: Annotated[str, typer.Option(metavar="I/N", help="Only every N-th problem, starting with the I-th.")] = "1/1",
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
    from kb.bench.fast import report
    from kb.bench.kernelbench import Results, find_problems, run_audits, run_judge
    from kb.cli.kernelbench_report import show_line, show_report

    if (candidates or baselines) and not target:
        raise typer.BadParameter("candidates and baselines need a --target")
    first, every = _shard(shard)
    chosen = find_problems(path, level, _numbers(problems))[first - 1 :: every]
    results = Results(out)
    tell = (lambda line: None) if as_json else show_line
    run_audits(chosen, results, tell)
    if target and (candidates or baselines):
        with open_kb() as kb:
            name = kb.targets.get(target).name
            run_judge(kb, chosen, results, target=name, candidates=candidates, tell=tell)
    show_result(report(results.lines, [problem.name for problem in chosen]), show_report, as_json=as_json)


@app.command()
def judge(
    target: Annotated[
        str | None, typer.Option("--target", "-t", metavar="TARGET", help="The chip to judge for (default: this CPU).")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Leave out cheats that are caught by timing, and time few sessions.")
    ] = False,
    rounds: Annotated[int, typer.Option(metavar="N", min=1, help="How often each honest kernel is judged.")] = 1,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the result as JSON.")] = None,
    as_json: Json = False,
) -> None:
    """Test the judge on this machine.

    Judges every known cheat, every honest kernel, and references against themselves, and shows how many got the wrong
    verdict, with 95 % intervals. Other work disturbs times: run it on a machine without any.

    Example: kb bench judge --quick

    Exit status: 0 when every cheat was refused and every honest kernel passed, 1 otherwise.
    """
    from kb.bench.selftest import self_test
    from kb.cli.selftest_report import show_self_test, show_verdict

    with open_kb() as kb:
        tell = (lambda verdict: None) if as_json else show_verdict
        found = self_test(kb, target, quick=quick, tell=tell, rounds=rounds)
    if out:
        out.write_text(found.model_dump_json(indent=2) + "\n", encoding="utf-8")
    show_result(found, show_self_test, as_json=as_json)
    if found.failed:
        raise typer.Exit(1)


@app.command()
def skills(
    tasks: Annotated[list[str], typer.Argument(metavar="TASK...", help="FILE, or FILE@NAME=SIZE,... for other sizes.")],
    target: Annotated[str, typer.Option("--target", "-t", metavar="TARGET", help="The chip, by name or alias.")],
    evaluations: Annotated[int, typer.Option(metavar="N", min=1, help="Candidates that a run may judge.")] = 12,
    seeds: Annotated[int, typer.Option(metavar="N", min=1, help="Runs of each arm on each task.")] = 3,
    minutes: Annotated[float | None, typer.Option(metavar="M", help="Judge nothing new after so long.")] = None,
    verdicts: Annotated[
        Path | None, typer.Option(metavar="FILE.jsonl", help="Add verdicts to this file; what it has is not repeated.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the result as JSON.")] = None,
    as_json: Json = False,
) -> None:
    """Measure what skills are worth to `tune`: how soon runs with and without them come near the best known kernel.

    Each run on a task has the same templates, budget and seed, and one of these libraries: nothing else (cold), the
    wins of the cold runs on the other tasks (warm), these with random parameter values (random), or these as wins on
    another target (wrong target). A run that gets the task's own win (replay) is reported apart.

    The tasks should be of few operations at several sizes, because each learns from the others. Other work disturbs
    times: run it on a machine without any.

    Example: kb bench skills softmax.py softmax.py@ROWS=64 --target cpu-x86
    """
    from kb.bench.skills import SkillsBench, Verdicts, sized_task
    from kb.cli.skills_bench_report import show_skills_report, show_trial

    deadline = None if minutes is None else time.monotonic() + 60 * minutes
    chosen, known = [sized_task(text) for text in tasks], Verdicts(verdicts)
    with open_kb() as kb:
        bench = SkillsBench(kb, chosen, known, target=target, evaluations=evaluations, deadline=deadline)
        found = bench.measure(seeds, tell=(lambda trial: None) if as_json else show_trial)
    if out:
        out.write_text(found.model_dump_json(indent=2) + "\n", encoding="utf-8")
    show_result(found, show_skills_report, as_json=as_json)


def _numbers(text: str) -> frozenset[int] | None:
    """Parse problem numbers such as `1,2,5-9`; None if the text is empty."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", part.strip())
        if not match:
            raise typer.BadParameter(f"{part!r} is not a number or a range such as 5-9")
        found.update(range(int(match[1]), int(match[2] or match[1]) + 1))
    return frozenset(found) if text else None


def _shard(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise typer.BadParameter(f"{text!r} is not a shard such as 1/4")
    return int(match[1]), int(match[2])

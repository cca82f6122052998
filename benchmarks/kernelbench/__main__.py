"""Audit the problems of KernelBench as tasks, and judge candidates on those that are usable.

python -m benchmarks.kernelbench KernelBench --level 1 --level 2 --level 3 --audits kernelbench-audit.json
"""

import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.kernelbench.audit import Audit
from benchmarks.kernelbench.suite import (
    Audited,
    Judged,
    Problem,
    Report,
    Results,
    find_problems,
    report,
    run_audits,
    run_judge,
)
from benchmarks.origin import write_result
from kb.cli.kernels import Precision
from kb.cli.output import Json, open_kb, show, show_result, show_wrapped
from kb.cli.table import show_table
from kb.errors import KbError

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


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
    audits: Annotated[
        Path | None, typer.Option(metavar="FILE.json", help="Write the audits with their origin to this file.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Audit the problems of KernelBench, and judge candidates on those that are usable.

    An audit runs in a process of its own, at smaller sizes if the problem is large. It says whether the problem loads,
    has sizes to change, draws random numbers, is passed by an answer that computes nothing, and fits this machine.

    fast_p is the share of usable problems with a candidate that won and whose whole 95 % interval is above p.

    Example: python -m benchmarks.kernelbench KernelBench --level 1 --problems 1-20 --candidates mine --target cpu-x86
    """
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
    if audits:
        write_result(audits, summary(results, chosen))
    show_result(report(results.lines, [problem.name for problem in chosen], precision), show_fast, as_json=as_json)


def summary(results: Results, problems: Sequence[Problem]) -> dict:
    """What the audits found, counted by level and listed by problem."""
    audits = {line.problem: line.audit for line in results.lines if isinstance(line, Audited)}
    found = {problem: audits[problem.name] for problem in problems}
    verdicts: dict[str, Counter] = {}
    for problem, audit in found.items():
        verdicts.setdefault(f"level {problem.level}", Counter())[audit.verdict] += 1
    return {
        "seconds of all audits": round(sum(audit.seconds for audit in found.values())),
        "verdicts": verdicts,
        "with sizes to change": sum(bool(audit.sizes) for audit in found.values()),
        "random": sorted(problem.name for problem, audit in found.items() if audit.random),
        "degenerate": {problem.name: audit.degenerate for problem, audit in found.items() if audit.degenerate},
        "problems": [
            {"problem": problem.name} | {name: value for name, value in _fields(audit).items() if value}
            for problem, audit in found.items()
        ],
    }


def _fields(audit: Audit) -> dict:
    return audit.model_dump(mode="json", exclude={"task", "task_digest"})


def show_line(line: Audited | Judged) -> None:
    """Show one result in the moment when it is known."""
    if line.kind == "audited":
        sizes = f"sizes: {', '.join(line.audit.sizes)}" if line.audit.sizes else "no sizes to change"
        show_wrapped(f"{line.problem}: {line.audit.verdict}: {line.audit.reason or sizes}")
        return
    outcome = line.outcome or "no verdict"
    fast = (
        f" {line.speedup:.2f}x ({line.low:.2f} to {line.high:.2f})" if line.speedup and line.low and line.high else ""
    )
    times = ", ".join(f"{name} {us:,.0f} us" for name, us in line.baselines_us.items())
    show_wrapped(f"{line.problem}: {line.file}: {outcome}{fast}: {times or line.detail}")


def show_fast(report: Report) -> None:
    show()
    show_wrapped("problems: " + ", ".join(f"{count} {verdict}" for verdict, count in report.audits.items()))
    if not report.fast:
        return
    show_wrapped("candidates: " + ", ".join(f"{count} {outcome}" for outcome, count in report.outcomes.items()))
    show_wrapped(f"precision: {report.precision}")
    show_wrapped(
        f"of {report.problems} usable problems {report.correct} have a correct candidate,"
        f" {report.without_candidate} have none"
    )
    rows = [(f"fast_{f.speedup:g}", f"{f.share:.3f}", f"{f.low:.3f} to {f.high:.3f}") for f in report.fast]
    show_table(("measure", "value", "95 % interval"), rows, indent=2)


def _numbers(text: str) -> frozenset[int] | None:
    """Parse problem numbers such as `1,2,5-9`; None if the text is empty."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", part.strip())
        if not match:
            raise typer.BadParameter(f"{part!r} is not a number or a range such as 5-9")
        found.update(range(int(match[1]), int(match[2] or match[1]) + 1))
    return frozenset(found) if text else None


def main() -> None:
    try:
        app()
    except KbError as error:
        sys.exit(f"error: {error.message}\nhint: {error.hint}")


if __name__ == "__main__":
    main()

"""Measures what kb does with a chip that nobody has seen: `python -m benchmarks.unseen --help`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.origin import origin
from benchmarks.unseen import arms, score
from benchmarks.unseen import make as making
from benchmarks.unseen import report as reporting
from benchmarks.unseen.arms import Arm

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)
Seeds = Annotated[str, typer.Argument(help="Seeds, such as `3`, `1,2,5` or `0-19`.")]
Out = Annotated[Path | None, typer.Option(help="File for the result, as JSON.")]
MISSES_SHOWN = 20
TASKS = ["softmax", "transpose", "matmul", "gather"]
"""Of `run`, if none are named."""


@app.command()
def make(seed: int, folder: Path) -> None:
    """Write the documents, questions and facts of a seed into FOLDER."""
    made = making.make(seed, folder)
    pages = round(sum(document.pages for document in made.documents))
    print(
        f"{made.chip.names.chip} of the {made.chip.names.family} family: {len(made.documents)} documents, {pages} pages"
    )


@app.command()
def retrieval(seeds: Seeds, out: Out = None, *, phrasings: bool = False) -> None:
    """Ask kb the questions of each seed, alone or with their other phrasings."""
    _show(seeds, lambda seed: score.retrieval(seed, phrasings=phrasings), out)


@app.command()
def facts(
    seeds: Seeds,
    out: Out = None,
    home: Annotated[Path | None, typer.Option(help="A home with the documents, where a reader answered.")] = None,
) -> None:
    """See which facts of each seed kb finds by its rules, and which hold after simulated readers answered."""
    _show(seeds, score.facts if home is None else lambda seed: score.facts_of(home, seed), out)


@app.command()
def run(
    seeds: Seeds,
    out: Path,
    arm: Annotated[list[Arm] | None, typer.Option(help="Arms (default: all).")] = None,
    task: Annotated[list[str] | None, typer.Option(help="Tasks, such as softmax (default: four).")] = None,
    repetitions: int = 2,
    author: Annotated[
        str,
        typer.Option(help="A command that reads {prompt} and writes {answer}. Without it, others write the answers."),
    ] = "",
) -> None:
    """Let an author write kernels, in the folder OUT. The same command goes on where it stopped.

    Without --author it writes each prompt and ends; run it again when the answers are there.
    """
    waiting = []
    for trial in arms.trials(out, list(_numbers(seeds)), arm or list(Arm), task or TASKS, repetitions):
        over = arms.advance(trial, out, author)
        said = [verdict["outcome"] for verdict in trial.verdicts()]
        print(f"{trial.folder.relative_to(out)}: {', '.join(said) or 'not judged'}")
        if not over:
            waiting.append(trial.file("answer", len(said) + 1))
    for file in waiting:
        print(f"waits for {file}")


@app.command()
def report(out: Path) -> None:
    """Compare the arms of a folder that `run` wrote: a table here, and report.json and report.svg there."""
    trials = reporting.collected(out)
    result = reporting.compared(trials)
    print(reporting.table(result))
    (out / "report.json").write_text(json.dumps(origin() | {"arms": result}, indent=1) + "\n", encoding="utf-8")
    reporting.plot(trials, out / "report.svg")


def _show(seeds: str, measure: Callable[[int], score.Scored], out: Path | None) -> None:
    result = origin() | score.over(list(_numbers(seeds)), measure)
    for name, value in result["scores"].items():
        print(f"{name:42} {value['mean']:8.3f}  [{value['interval'][0]:.3f}, {value['interval'][1]:.3f}]")
    for miss in [miss for misses in result["misses"].values() for miss in misses][:MISSES_SHOWN]:
        print(json.dumps(miss, ensure_ascii=False))
    if out:
        out.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _numbers(seeds: str) -> list[int]:
    found: list[int] = []
    for part in seeds.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


if __name__ == "__main__":
    app()

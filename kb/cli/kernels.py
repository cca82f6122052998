"""`kb verify`, `roofline`, `prompt`, `submit`, `optimize`."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from kb.cli.output import Json, notify, open_kb, print_json, show

TaskFile = Annotated[
    Path,
    typer.Argument(metavar="TASK", help="A Python file in KernelBench's form: Model, get_inputs, get_init_inputs."),
]
For = Annotated[str, typer.Option("--target", "-t", metavar="TARGET", help="The chip to write for, by name or alias.")]
In = Annotated[
    str | None,
    typer.Option(
        "--language", metavar="LANGUAGE", help="triton, cpp or torch. By default cpp for CPUs, triton for all others."
    ),
]
Evaluations = Annotated[int, typer.Option(min=1, metavar="N", help="Most candidates to judge.")]


def add_to(app: typer.Typer) -> None:
    for command in (verify, roofline, prompt, submit, optimize):
        app.command()(command)


def verify(
    task: TaskFile,
    candidate: Annotated[
        Path, typer.Argument(metavar="CANDIDATE", help="A .py file with ModelNew, or a .cpp file with model_new.")
    ],
    target: For,
    as_json: Json = False,
) -> None:
    """Judge one kernel.

    It is compared with the reference on other values and sizes than the task's own. For a target that is this
    machine's CPU it is then timed beside the best of eager and torch.compile; for any other it is compiled for that
    chip and held against its documented limits, and no speed is claimed.

    Example: kb verify examples/softmax.py my_softmax.py --target mi300x

    Exit status: 0 only when it passed.
    """
    from eval.languages.registry import load_candidate
    from eval.task import load_task
    from kb.cli.evidence_report import show_evidence

    loaded, handed_in = load_task(task), load_candidate(candidate)
    with open_kb() as kb:
        evidence = kb.verify(loaded, handed_in, target)
    if as_json:
        print_json(evidence)
    else:
        show_evidence(evidence)
    if not evidence.passed:
        raise typer.Exit(1)


def roofline(task: TaskFile, target: For, as_json: Json = False) -> None:
    """Show how fast a task can be at best on a chip.

    The times are those of its bytes and operations at the chip's cited rates; measured ones go before stated ones.

    Example: kb roofline examples/softmax.py --target mi300x

    Exit status: 0 when the rates that it needs are known, 1 when one is not.
    """
    from eval.task import load_task

    loaded = load_task(task)
    with open_kb() as kb:
        found = kb.roofline(loaded, target)
    if as_json:
        print_json(found)
        return
    from kb.cli.evidence_report import show_roofline

    show(f"{loaded.name} on {target}: at best {found.seconds * 1e6:,.1f} us")
    show_roofline(found)


def prompt(
    task: TaskFile, target: For, language: In = None, evaluations: Evaluations = 8, as_json: Json = False
) -> None:
    """Start a run that is answered by hand.

    Prints what is asked of you, or of an agent of yours. Answer with `kb submit RUN FILE`, which judges the answer and
    prints the next prompt.

    Example: kb prompt examples/softmax.py --target mi300x
    """
    from eval.task import load_task

    loaded = load_task(task)
    with open_kb() as kb:
        plan = kb.plan(loaded, target, language=language, synthesizer="external", evaluations=evaluations)
        run, asked = kb.prompt(plan)
    if as_json:
        print_json({"run": run.id, "prompt": asked.text, "tokens": asked.tokens, "left_out": asked.left_out})
        return
    show(asked.text)
    for item in asked.left_out:
        notify(f"left out: {item}")
    notify(f"this is run {run.id}; answer with `kb submit {run.id} FILE`")


def submit(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run that `kb prompt` started; its end is enough.")],
    answer: Annotated[
        Path, typer.Argument(metavar="FILE", help="A kernel (.py, .cpp), or a model's whole answer (.md, .txt).")
    ],
    note: Annotated[str, typer.Option(metavar="TEXT", help="In a line: what it is, or what it changes.")] = "",
    as_json: Json = False,
) -> None:
    """Judge an answer to the last prompt.

    A win is written back as a skill. Then the next prompt is printed.

    Example: kb submit softmax-mi300x-20261121-101500-3f9c my_softmax.py

    Exit status: 0 when the kernel passed, 1 when it was refused.
    """
    from eval.languages.registry import load_candidate
    from eval.task import read_source
    from kb.cli.evidence_report import show_evidence
    from kb.errors import CandidateError

    with open_kb() as kb:
        going = kb.runs.get(run)
        whole = answer.suffix in (".md", ".txt")
        given = read_source(answer, CandidateError) if whole else load_candidate(answer)
        done = kb.submit(
            going, given, note=note, tell=None if as_json else lambda step, attempt: show_evidence(attempt.evidence)
        )
    for name in done.published:
        notify(f"skill written: {name}")
    if as_json:
        following = done.prompt and done.prompt.text
        print_json({"evidence": done.evidence, "published": going.published, "prompt": following, "ended": done.ended})
    else:
        show()
        show(done.prompt.text if done.prompt else f"The run is over: {done.ended}.")
    if not done.evidence.passed:
        raise typer.Exit(1)


def optimize(
    task: TaskFile,
    target: For,
    synthesizer: Annotated[
        str, typer.Option(metavar="NAME", help="tune: searches kernels that skills hold; anthropic: asks a model.")
    ] = "tune",
    language: In = None,
    evaluations: Evaluations = 8,
    minutes: Annotated[float | None, typer.Option(min=0, metavar="M", help="Stop after so long; resume later.")] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Of the search.")] = 0,
    control: Annotated[
        bool,
        typer.Option("--control", help="Use no skill that has evidence and write none, to see what they are worth."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Search for a faster kernel.

    Retrieve, propose, judge, diagnose, and again; what wins becomes a skill. Everything is journaled: `kb runs resume`
    goes on after an interruption, and judges and pays for nothing twice.

    Example: kb optimize examples/int8_matvec.py --target cpu-x86

    Exit status: 0 when a candidate passed, 1 when none did.
    """
    from eval.task import load_task
    from kb.cli.run_report import finish, tell

    loaded = load_task(task)
    with open_kb() as kb:
        plan = kb.plan(
            loaded,
            target,
            synthesizer=synthesizer,
            language=language,
            evaluations=evaluations,
            seed=seed,
            control=control,
        )
        run = kb.optimize(plan, minutes=minutes, tell=partial(tell, quiet=as_json))
    finish(run, as_json=as_json)

"""The commands `kb verify | roofline | prompt | submit | optimize`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from kb.cli.authors import Allowed, Authors, allowed_authors
from kb.cli.output import Json, Pool, notify, open_kb, show, show_result

if TYPE_CHECKING:
    from kb.types.protocols import Attempt
    from kb.views.prompts import ExplainedPrompt

TaskFile = Annotated[
    Path,
    typer.Argument(metavar="TASK", help="A Python file in KernelBench's form: Model, get_inputs, get_init_inputs."),
]
For = Annotated[str, typer.Option("--target", "-t", metavar="TARGET", help="The chip to write for, by name or alias.")]
In = Annotated[
    str | None,
    typer.Option(
        "--language",
        metavar="LANGUAGE",
        help="triton, cuda, cpp, torch or a toolchain's (default: the target's usual one).",
    ),
]
Precision = Annotated[
    Literal["default", "ieee"],
    typer.Option(
        "--precision",
        metavar="CLASS",
        help="default: as PyTorch does, which on a GPU may use TF32 in convolutions; ieee: never in TF32.",
    ),
]


def verify(
    task: TaskFile,
    candidate: Annotated[
        Path,
        typer.Argument(
            metavar="CANDIDATE", help="A .py file with ModelNew, a .cpp or .cu file with model_new, or a toolchain's."
        ),
    ],
    target: For,
    precision: Precision = "default",
    as_json: Json = False,
) -> None:
    """Judge one kernel.

    The judge compares the kernel with the reference on new values and sizes. If the target is this machine's CPU or
    GPU, the judge times it against the fastest PyTorch baseline. For any other target, it compiles the kernel for that
    chip, runs it in a simulator if there is one (`kb toolchains list`), and claims no speed.

    Example: kb verify examples/softmax.py my_softmax.py --target mi300x

    Exit status: 0 when the kernel passed, 1 when it did not.
    """
    from eval.languages.registry import load_candidate
    from eval.oracle.task import load_task
    from kb.cli.verdicts import show_verdict
    from kb.usecases.briefing import defined
    from kb.views.verdicts import verdict

    loaded = load_task(task, precision)
    with open_kb() as kb:
        handed_in = load_candidate(candidate, kb.toolchains.judges(target).values())
        evidence = kb.verify(loaded, handed_in, target)
        show_result(verdict(evidence), show_verdict, as_json=as_json)
        if evidence.passed:
            return
        for said in defined(kb, evidence, handed_in.source):
            notify(f"the documents on it: {said.citation.place} [kb cite {said.citation.id}]")
    raise typer.Exit(1)


def roofline(task: TaskFile, target: For, as_json: Json = False) -> None:
    """Show the shortest time that a task can take on a chip.

    The bounds follow from the bytes and operations of the task and the chip's cited rates. A measured rate takes
    precedence over a stated one.

    Example: kb roofline examples/softmax.py --target mi300x

    Exit status: 0 when a required rate is known, 1 otherwise.
    """
    from eval.oracle.task import load_task
    from kb.cli.verdicts import show_roofline
    from kb.views import verdicts

    loaded = load_task(task)
    with open_kb() as kb:
        found = verdicts.roofline(kb, loaded, target)
    show_result(found, show_roofline, as_json=as_json)


def prompt(
    task: TaskFile,
    target: For,
    language: In = None,
    precision: Precision = "default",
    device: Annotated[
        str | None,
        typer.Option(metavar="CHIP", help="The chip that will judge the kernels (default: what this machine has)."),
    ] = None,
    stage: Annotated[
        str | None,
        typer.Option(
            metavar="STAGE", help="Start no run; print the prompt to draft, fix, improve or rethink for the last run."
        ),
    ] = None,
    why: Annotated[
        bool, typer.Option("--why", help="Start no run; print the prompt's items, their tokens, and what each answers.")
    ] = False,
    evaluations: Annotated[int, typer.Option(min=1, metavar="N", help="Most candidates to judge.")] = 8,
    as_json: Json = False,
) -> None:
    """Start a run that is driven by hand.

    Prints the first prompt, for you or an agent. Answer with `kb submit RUN FILE`, which judges the answer and prints
    the next prompt.

    Example: kb prompt examples/softmax.py --target mi300x
    """
    from eval.oracle.task import load_task
    from kb.views.prompts import first_prompt, stage_prompt

    loaded = load_task(task, precision)
    with open_kb() as kb:
        plan = kb.plan(loaded, target, language=language, synthesizer="external", evaluations=evaluations)
        stage = stage or ("draft" if why else None)
        asked = stage_prompt(kb, plan, stage, device) if stage else first_prompt(kb, plan, device)
    show_result(asked, _show_items if why else lambda prompt: show(prompt.text), as_json=as_json)
    for item in asked.left_out:
        notify(f"left out: {item}")
    for note in asked.notes:
        notify(note)
    if asked.run:
        notify(f"run {asked.run} is waiting; answer with `kb submit {asked.run} FILE`")


def _show_items(asked: "ExplainedPrompt") -> None:
    from kb.cli.table import show_table

    show(f"{asked.stage}: {asked.tokens:,} tokens")
    show_table(("tokens", "item", "question"), [(f"{i.tokens:,}", i.what, i.why) for i in asked.items], wrap={2})


def submit(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The id of a run from `kb prompt`, or the end of the id.")],
    answer: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="A kernel (.py, .cpp, .cu or a toolchain's), or a model's whole answer (.md, .txt)."
        ),
    ],
    note: Annotated[str, typer.Option(metavar="TEXT", help="One line that describes the kernel or the change.")] = "",
    tune: Annotated[
        bool, typer.Option("--tune", help="Search the values of its `# tune:` parameters, and judge the best two.")
    ] = False,
    brief: Annotated[bool, typer.Option("--brief", help="Leave task and contract out of the next prompt.")] = False,
    as_json: Json = False,
) -> None:
    """Judge an answer to the last prompt.

    Saves a winning kernel as a skill, and prints the next prompt.

    Example: kb submit softmax-mi300x-20261121-101500-3f9c my_softmax.py

    Exit status: 0 when the kernel passed, 1 when it was refused.
    """
    from eval.languages.registry import load_candidate
    from eval.oracle.task import read_source
    from kb.cli.verdicts import show_verdict
    from kb.errors import CandidateError
    from kb.views.runs import submission_view
    from kb.views.verdicts import verdict

    with open_kb() as kb:
        going = kb.runs.get(run)
        is_text, languages = answer.suffix in (".md", ".txt"), kb.toolchains.judges(going.plan.target).values()
        given = read_source(answer, CandidateError) if is_text else load_candidate(answer, languages)

        def shown(step: int, attempt: "Attempt") -> None:
            if attempt.is_tuned:
                show(f"\n{step}: {attempt.note}")
            show_verdict(verdict(attempt.evidence))

        told = None if as_json else shown
        done = submission_view(going, kb.submit(going, given, note=note, tune=tune, on_attempt=told), brief=brief)
    for said in (*(f"skill written: {name}" for name in done.published), *done.notes):
        notify(said)
    following = done.prompt.text if done.prompt else f"The run is over: {done.ended}."
    show_result(done, lambda _: show(f"\n{following}"), as_json=as_json, failed=not done.verdict.passed)


def optimize(
    task: TaskFile,
    target: For,
    author: Authors = None,
    budget: Allowed = None,
    language: In = None,
    precision: Precision = "default",
    evaluations: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Most candidates to judge (default: 24 with authors, else 8)."),
    ] = None,
    near_roof: Annotated[
        float, typer.Option(min=0, metavar="SHARE", help="Stop at this share of the reachable roof.")
    ] = 0.9,
    minutes: Annotated[
        float | None, typer.Option(min=0, metavar="M", help="Stop after M minutes; `kb runs resume` continues.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the search.")] = 0,
    control: Annotated[
        bool, typer.Option("--control", help="Control run: use only the kernels that ship with kb, and write no skill.")
    ] = False,
    rules: Annotated[
        Literal["none", "learnt", "random"],
        typer.Option(metavar="WHICH", help="Rules that authors get: none, learnt, or as many at random, to compare."),
    ] = "learnt",
    devices: Annotated[
        str,
        typer.Option(metavar="DEVICES", help="Judge on these: numbers or uuids of GPUs, cpu, or all (default: one)."),
    ] = "",
    pool: Pool = "",
    as_json: Json = False,
) -> None:
    """Search for a faster kernel.

    Each round retrieves, proposes, judges and diagnoses; a winning kernel becomes a skill. Authors write the kernels;
    without one, the tuner searches the kernels of skills, which is free. The run is journaled: after an interruption
    `kb runs resume` continues it: nothing is judged twice, and only requests under way are made and paid for again.

    Example: kb optimize examples/int8_matvec.py --target cpu-x86

    Exit status: 0 when a candidate passed, 1 when none did.
    """
    from eval.oracle.task import load_task
    from kb.cli.runs import finish, reporting
    from kb.usecases.authors import requests_for

    loaded = load_task(task, precision)
    with open_kb() as kb:
        authors, limit = allowed_authors(kb.settings, author or (), budget, requests=requests_for(evaluations))
        plan = kb.plan(
            loaded, target, authors=authors, budget=limit, language=language, evaluations=evaluations, seed=seed,
            control=control, rules=rules, near_roof=near_roof, devices=devices, pool=pool,
        )  # fmt: skip
        with reporting(quiet=as_json) as on_start:
            run = kb.optimize(plan, minutes=minutes, on_start=on_start)
    finish(run, as_json=as_json)

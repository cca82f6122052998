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
    from eval.task import load_candidate, load_task
    from kb.cli.evidence_report import show_evidence

    loaded, handed_in = load_task(task), load_candidate(candidate)
    with open_kb() as kb, kb.judge(loaded, target) as judge:
        evidence = judge.verify(handed_in)
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
    from eval.roofline import task_roofline
    from eval.task import load_task

    loaded = load_task(task)
    with open_kb() as kb:
        facts = kb.facts(target)
        with kb.judge(loaded, target) as judge:
            found = task_roofline(judge.interface, facts)
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
    from kb.model.kernels import Language
    from kb.runs.journal import SynthesizerKind

    loaded, chosen = load_task(task), Language.named(language) if language else None
    with open_kb() as kb:
        plan = kb.plan(loaded, target, language=chosen, synthesizer=SynthesizerKind.EXTERNAL, evaluations=evaluations)
        with kb.judge(loaded, target) as judge:
            run = kb.start_run(plan)
            asked = kb.loop(run).prompt(judge.interface)
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
    from eval.task import load_candidate, read_source
    from kb.cli.evidence_report import show_evidence
    from kb.errors import CandidateError
    from synth.prompts.answer import parse_answer

    with open_kb() as kb:
        going = kb.runs.get(run)
        if answer.suffix in (".md", ".txt"):
            candidate, said = parse_answer(read_source(answer, CandidateError), going.plan.language)
        else:
            candidate, said = load_candidate(answer), ""
        with kb.judge(going.plan.task, going.plan.target) as judge:
            loop = kb.loop(going)
            before = going.published
            evidence = loop.submit(candidate, judge, note=note or said)
            if not as_json:
                show_evidence(evidence)
            for name in going.published[len(before) :]:
                notify(f"skill written: {name}")
            asked = None if going.ended else loop.prompt(judge.interface)
    if as_json:
        following = asked.text if asked else None
        print_json({"evidence": evidence, "published": going.published, "prompt": following, "ended": going.ended})
    else:
        show()
        show(asked.text if asked else f"The run is over: {going.ended}.")
    if not evidence.passed:
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
    from kb.model.kernels import Language
    from kb.runs.journal import SynthesizerKind

    loaded, chosen = load_task(task), Language.named(language) if language else None
    with open_kb() as kb:
        plan = kb.plan(
            loaded,
            target,
            language=chosen,
            synthesizer=SynthesizerKind.named(synthesizer),
            evaluations=evaluations,
            seed=seed,
            control=control,
        )
        run = kb.optimize(plan, minutes=minutes, tell=partial(tell, quiet=as_json))
    finish(run, as_json=as_json)

"""The commands `kb skills queue | accept | reject | retire | reverify | export | import`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.output import Json, Target, open_kb, print_json, show, show_result, show_wrapped

if TYPE_CHECKING:
    from kb.usecases.curating import Decision, Verb

Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of a skill or a proposal.")]
Reason = Annotated[str, typer.Option(metavar="TEXT", help="The reason; it is stored with the decision.")]
By = Annotated[str, typer.Option(metavar="PERSON", help="Who decides (default: the name of this account).")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would change; write nothing.")]


def add_to(app: typer.Typer) -> None:
    for command in (queue, accept, reject, retire, reverify, export):
        app.command(command.__name__)(command)
    app.command("import")(import_)


def queue(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="A proposal or a skill (default: the first proposal).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show the proposals that wait for a decision.

    Each fits one screen: the claim, the evidence with intervals and environment, the text, what looks wrong, and the
    cited passages. JSON holds all proposals.

    Example: kb skills queue
    """
    from kb.cli.skills_report import show_review, show_waiting
    from kb.usecases.curating import review

    with open_kb() as kb:
        proposals = kb.skills.proposals()
        chosen = [kb.skills.find(name)] if name else proposals if as_json else proposals[:1]
        reviews = [review(kb, skill) for skill in chosen]
    if as_json:
        print_json(reviews)
        return
    for one in reviews:
        show_review(one)
        show()
    if not name:
        show_waiting([skill.name for skill in proposals], shown=len(reviews))


def accept(
    name: Name,
    reason: Reason = "",
    by: By = "",
    anyway: Annotated[bool, typer.Option("--anyway", help="Accept it although `kb skills lint` finds errors.")] = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Accept a proposal, or take back that a skill was retired or rejected.

    Runs use an accepted text at once, and an accepted kernel once it won when it was measured here.

    Example: kb skills accept softmax-wide-rows --reason "the guard is right"
    """
    _decide("accept", name, as_json=as_json, by=by, reason=reason, anyway=anyway, dry_run=dry_run)


def reject(name: Name, reason: Reason, by: By = "", dry_run: DryRun = False, as_json: Json = False) -> None:
    """Keep a proposal out of use; it is kept, with the reason.

    Example: kb skills reject softmax-wide-rows --reason "the guard is wrong"
    """
    _decide("reject", name, as_json=as_json, by=by, reason=reason, dry_run=dry_run)


def retire(name: Name, reason: Reason, by: By = "", dry_run: DryRun = False, as_json: Json = False) -> None:
    """Take a skill out of use.

    Nothing is deleted, `accept` takes it back, and skills that were made from it stay.

    Example: kb skills retire softmax-triton --reason slow
    """
    _decide("retire", name, as_json=as_json, by=by, reason=reason, dry_run=dry_run)


def reverify(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME...]", help="Skills or proposals (default: all).")
    ] = None,
    stale: Annotated[bool, typer.Option("--stale", help="Limit to skills whose evidence is out of date.")] = False,
    target: Target = None,
    minutes: Annotated[
        float | None, typer.Option(min=0, metavar="M", help="Start no further judgement after M minutes.")
    ] = None,
    tasks: Annotated[
        list[Path] | None,
        typer.Option("--task", metavar="FILE", help="A task of their evidence, or any for named skills."),
    ] = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Judge the kernels of skills again.

    What is measured is added to their evidence. The tasks are those of their evidence, if a run of this home had them
    or --task names their files; named skills are also judged on other tasks of --task.

    Example: kb skills reverify --stale --target cpu-x86 --minutes 30

    Exit status: 0 when every kernel that was judged passed, 1 otherwise.
    """
    from eval.oracle.task import load_task
    from kb.cli.skills_report import show_reverified
    from kb.usecases.reverifying import reverify

    loaded = [load_task(file) for file in tasks or ()]
    done = []
    with open_kb() as kb:
        for one in reverify(
            kb, names or (), stale=stale, target=target, minutes=minutes, tasks=loaded, dry_run=dry_run
        ):
            done.append(one)
            if not as_json:
                show_reverified(one)
    if as_json:
        print_json(done)
    elif not done:
        show("nothing to judge")
    if any(one.evidence and not one.evidence.passed for one in done):
        raise typer.Exit(1)


def export(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Where an agent's host looks for skills: .claude/skills.")
    ],
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Write a skill that tells agents how to ask kb.

    It lists the verified skills. An earlier export is replaced.

    Example: kb skills export .claude/skills
    """
    from kb.usecases.skill_exchange import export_skills

    with open_kb() as kb:
        written = export_skills(kb, folder, dry_run=dry_run)
    head = "would write" if dry_run else "written"
    paths = [str(path) for path in written]
    show_result(paths, lambda _: show("\n".join(f"{head}: {path}" for path in paths)), as_json=as_json)


def import_(
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="A folder of skills, or an archive: .zip, .tar.gz or .tgz.")
    ],
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Take over others' skills as proposals.

    Nothing is used before you accept it, and no kernel before it won here: their evidence only claims. Decisions of
    others are left out.

    Example: kb skills import team-skills.zip --dry-run

    Exit status: 0 when all were taken over or are here already, 1 otherwise.
    """
    from kb.cli.skills_report import show_imported
    from kb.usecases.skill_exchange import import_skills

    with open_kb() as kb:
        done = import_skills(kb, path, dry_run=dry_run)
    show_result(done, lambda all_: show_imported(all_, dry_run=dry_run), as_json=as_json)
    if any(one.reason and not one.held for one in done):
        raise typer.Exit(1)


def _decide(
    verb: "Verb", name: str, *, as_json: bool, by: str, reason: str, dry_run: bool, anyway: bool = False
) -> None:
    from kb.usecases.curating import decide

    with open_kb() as kb:
        done = decide(kb, verb, name, by=by, reason=reason, anyway=anyway, dry_run=dry_run)
    show_result(done, _show_decision, as_json=as_json)


def _show_decision(done: "Decision") -> None:
    decided = {"accept": "accepted", "reject": "rejected", "retire": "retired"}[done.verb]
    show(f"{'' if done.recorded else 'would be '}{decided}: {done.name} ({done.before} -> {done.after})")
    if done.note:
        show_wrapped(done.note, "  ")

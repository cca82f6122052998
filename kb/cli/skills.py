"""The commands `kb skills`."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.output import Json, Target, notify, notify_all, open_kb, print_json, show, show_result, show_wrapped

if TYPE_CHECKING:
    from kb.usecases.curating import Decided, Decision

app = typer.Typer(
    help="Kernels, techniques and pitfalls, with their evidence.", no_args_is_help=True, rich_markup_mode=None
)
Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of a skill or a proposal.")]
Reason = Annotated[str, typer.Option(metavar="TEXT", help="The reason; it is stored with the decision.")]
By = Annotated[str, typer.Option(metavar="PERSON", help="Who decides (default: the name of this account).")]


@app.command("list")
def list_skills(
    target: Target = None,
    everything: Annotated[bool, typer.Option("--all", help="Also list those that are retired.")] = False,
    as_json: Json = False,
) -> None:
    """List the skills.

    A kernel is verified once it won here, and prose once a person accepted it.

    Example: kb skills list --target mi300x
    """
    from kb.cli.skills_report import show_list
    from kb.views.skills import listed

    with open_kb() as kb:
        shown = listed(kb, kb.skills.skills(scope=kb.targets.scope(target) if target else None))
        problems, proposals = kb.skills.problems(), len(kb.skills.proposals())
    notify_all(problems)
    if proposals and not as_json:
        notify(f"{proposals} waiting for a decision: `kb skills queue`")
    if not everything:
        shown = [one for one in shown if one.standing != "retired"]
    show_result(shown, show_list, as_json=as_json)


@app.command("queue")
def queue(as_json: Json = False) -> None:
    """List the proposals that wait for a decision.

    `kb skills show NAME` shows one, with what speaks for it and against it.

    Example: kb skills queue
    """
    from kb.cli.skills_report import show_list
    from kb.views.skills import listed

    with open_kb() as kb:
        shown = listed(kb, kb.skills.proposals())
    show_result(shown, partial(show_list, none="no proposal waits"), as_json=as_json)


@app.command("show")
def show_skill(
    name: Name,
    code: Annotated[bool, typer.Option("--code", help="Print only the kernel.")] = False,
    evidence: Annotated[bool, typer.Option("--evidence", help="Show each measurement whole.")] = False,
    as_json: Json = False,
) -> None:
    """Show one skill: what its kernel gained, what was measured and decided, what to doubt, and its text.

    Example: kb skills show softmax-triton --code

    Exit status: 0 when it is shown, 1 when it is unknown or malformed, or has no kernel.
    """
    from kb.cli.skills_report import show_whole
    from kb.cli.verdicts import show_verdict
    from kb.errors import SkillError
    from kb.usecases.curating import review
    from kb.usecases.skill_gains import gains_of
    from kb.views.skills import listed
    from kb.views.verdicts import verdict

    with open_kb() as kb:
        skill = kb.skills.find(name)
        [about], found, gains = listed(kb, [skill]), review(kb, skill), gains_of(kb, skill)
    if code:
        if skill.candidate is None:
            raise SkillError(f"{name} has no kernel", hint=f"`kb skills show {name}` shows its text")
        if as_json:
            print_json({"name": name, "language": skill.language, "code": skill.candidate.source})
        else:
            print(skill.candidate.source, end="")
    elif as_json:
        print_json(skill.model_dump(mode="json") | about.model_dump() | {"gains": gains, "doubts": found.doubts})
    else:
        show_whole(found, about, gains)
        for one in skill.evidence if evidence else ():
            show()
            show_verdict(verdict(one))


@app.command("search")
def search_skills(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="Words that describe the kernel, or an identifier.")],
    target: Target = None,
    language: Annotated[
        str | None, typer.Option(metavar="LANGUAGE", help="triton, cuda, cpp, torch or a toolchain's.")
    ] = None,
    why: Annotated[
        bool, typer.Option("--why", help="Show the reasons for each rank, and why others are left out.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Find the skills that a run may use for a kernel, best first.

    Example: kb skills search "row softmax" --target mi300x --language triton

    Exit status: 0 when a skill was found, 1 when there is none for this target and language.
    """
    from eval.languages.registry import language_named
    from kb.cli.skills_report import show_list, show_selection
    from kb.views.skills import listed, selected

    with open_kb() as kb:
        found = selected(kb, query, target, language_named(language).name if language else None)
        shown = listed(kb, [recalled.skill for recalled in found.offered])
        problems = kb.skills.problems()
    notify_all(problems)
    if why:
        show_result(found, show_selection, as_json=as_json, failed=not found.offered)
    else:
        show_result(shown, show_list, as_json=as_json, failed=not found.offered)


@app.command("diff")
def diff(
    first: Annotated[str, typer.Argument(metavar="A", help="The name of a skill or a proposal.")],
    second: Annotated[str, typer.Argument(metavar="B", help="The name of another.")],
    as_json: Json = False,
) -> None:
    """Show how two skills differ in text and code.

    Example: kb skills diff softmax-triton softmax-cpp
    """
    from kb.cli.skills_report import show_difference
    from kb.usecases.curating import compare

    with open_kb() as kb:
        found = compare(kb, first, second)
    show_result(found, show_difference, as_json=as_json)


@app.command("lint")
def lint_skills(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME|FOLDER...]", help="Skills, folders or archives of skills (default: all in use or waiting)."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check skills before people and agents read them.

    Looks at form and size, secrets, characters that cannot be seen, phrases that steer agents, licence and links.

    Example: kb skills lint softmax-triton

    Exit status: 0 when there is no error, 1 when there is one; warnings do not count.
    """
    from kb.cli.skills_report import show_findings
    from kb.skillbook.lint import Finding, lint
    from kb.usecases.skill_exchange import lint_skills as lint_path

    found: dict[str, list[Finding]] = {}
    with open_kb() as kb:
        held = [kb.skills.find(name).folder for name in names or () if not Path(name).exists()]
        if not names:
            held = [
                *(skill.folder for skill in kb.skills.known() if not skill.is_retired),
                *(folder for folder, _ in kb.skills.problems()),
            ]
        for path in (Path(name) for name in names or () if Path(name).exists()):
            found |= lint_path(kb, path)
    found |= {str(folder): lint(folder) for folder in held if folder}
    errors = [finding for findings in found.values() for finding in findings if finding.severity == "error"]
    show_result(found, show_findings, as_json=as_json, failed=errors)


@app.command()
def accept(
    name: Name,
    reason: Reason = "",
    by: By = "",
    anyway: Annotated[bool, typer.Option("--anyway", help="Accept it although `kb skills lint` finds errors.")] = False,
    as_json: Json = False,
) -> None:
    """Accept a proposal, or take back that a skill was retired or rejected.

    Runs use an accepted text at once, and an accepted kernel once it won when it was measured here.

    Example: kb skills accept softmax-wide-rows --reason "the guard is right"
    """
    _decide("accept", name, as_json=as_json, by=by, reason=reason, anyway=anyway)


@app.command()
def reject(name: Name, reason: Reason, by: By = "", as_json: Json = False) -> None:
    """Keep a proposal out of use; it is kept, with the reason.

    Example: kb skills reject softmax-wide-rows --reason "the guard is wrong"
    """
    _decide("reject", name, as_json=as_json, by=by, reason=reason)


@app.command()
def retire(name: Name, reason: Reason, by: By = "", as_json: Json = False) -> None:
    """Take a skill out of use.

    Nothing is deleted, `accept` takes it back, and skills that were made from it stay.

    Example: kb skills retire softmax-triton --reason slow
    """
    _decide("retire", name, as_json=as_json, by=by, reason=reason)


@app.command()
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
        for one in reverify(kb, names or (), stale=stale, target=target, minutes=minutes, tasks=loaded):
            done.append(one)
            if not as_json:
                show_reverified(one)
    if as_json:
        print_json(done)
    elif not done:
        show(
            "nothing to judge; `kb skills reverify NAME --target TARGET --task FILE` judges a kernel on a task of yours"
        )
    if any(one.evidence and not one.evidence.passed for one in done):
        raise typer.Exit(1)


@app.command()
def export(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Where an agent's host looks for skills: .claude/skills.")
    ],
    as_json: Json = False,
) -> None:
    """Write a skill that tells agents how to ask kb; an earlier export is replaced.

    Example: kb skills export .claude/skills
    """
    from kb.usecases.skill_exchange import export_skill

    file = str(export_skill(folder))
    show_result([file], lambda _: show(f"written: {file}"), as_json=as_json)


@app.command("import")
def import_(
    path: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="A skill, or a folder or an archive that holds skills.")
    ],
    target: Annotated[
        str | None, typer.Option(metavar="TARGET", help="The target of skills that name none (default: any).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Take over others' skills as proposals.

    Any skill in the Agent Skills format will do: one without kb's entries becomes a playbook, or a kernel if it holds
    one. The texts in its `references/` and `assets/` come with it. Nothing is used before you accept it, and no kernel
    before it won here: their evidence only claims. Decisions of others are left out.

    Example: kb skills import team-skills

    Exit status: 0 when all were taken over or are here already, 1 otherwise.
    """
    from kb.cli.skills_report import show_imported
    from kb.usecases.skill_exchange import import_skills

    with open_kb() as kb:
        done = import_skills(kb, path, target=target)
    show_result(done, show_imported, as_json=as_json, failed=any(one.reason and not one.held for one in done))


def _decide(verb: "Decided", name: str, *, as_json: bool, by: str, reason: str, anyway: bool = False) -> None:
    from kb.usecases.curating import decide

    with open_kb() as kb:
        done = decide(kb, verb, name, by=by, reason=reason, anyway=anyway)
    show_result(done, _show_decision, as_json=as_json)


def _show_decision(done: "Decision") -> None:
    decided = {"accept": "accepted", "reject": "rejected", "retire": "retired"}[done.verb]
    show(f"{decided}: {done.name} ({done.before} -> {done.after})")
    if done.note:
        show_wrapped(done.note, "  ")

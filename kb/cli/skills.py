"""The commands `kb skills list | show | search | diff | lint`, and those of kb.cli.curation."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kb.cli import curation
from kb.cli.output import Json, Target, notify, open_kb, print_json, show, show_result

if TYPE_CHECKING:
    from kb.errors import SkillError
    from kb.types.skill import Skill
    from kb.usecases.knowledge_base import KnowledgeBase

app = typer.Typer(
    help="Kernels, techniques and pitfalls, with their evidence.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
curation.add_to(app)


@app.command("list")
def list_skills(
    target: Target = None,
    kind: Annotated[
        str | None, typer.Option(metavar="KIND", help="Limit to a kind: kernel, technique, pitfall or playbook.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Also list those that are retired.")] = False,
    as_json: Json = False,
) -> None:
    """List the skills.

    A kernel is verified once it won here, and prose once a person accepted it.

    Example: kb skills list --target mi300x
    """
    from kb.errors import SkillError
    from kb.types.skill import SkillKind

    if kind and kind not in list(SkillKind):
        raise SkillError(f"unknown kind {kind!r}", hint=f"the kinds are {', '.join(SkillKind)}")
    with open_kb() as kb:
        skills = kb.skills.skills(scope=kb.targets.scope(target) if target else None)
        summaries = _summaries(kb, [skill for skill in skills if kind in (None, skill.kind)])
        problems, proposals = kb.skills.problems(), len(kb.skills.proposals())
    _tell(problems)
    if proposals and not as_json:
        notify(f"{proposals} waiting for a decision: `kb skills queue`")
    if not everything:
        summaries = [one for one in summaries if one["standing"] != "retired"]
    _show_skills(summaries, as_json=as_json)


@app.command("show")
def show_skill(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of a skill or a proposal.")],
    code: Annotated[bool, typer.Option("--code", help="Print only the kernel.")] = False,
    evidence: Annotated[bool, typer.Option("--evidence", help="Show each measurement whole.")] = False,
    as_json: Json = False,
) -> None:
    """Show one skill: what its kernel gained, what was measured, what was decided, and its text.

    Example: kb skills show softmax-triton --code

    Exit status: 0 when it is shown, 1 when it is unknown or malformed, or has no kernel.
    """
    from kb.cli.skills_report import show_whole
    from kb.cli.verdicts import show_verdict
    from kb.errors import SkillError
    from kb.usecases.curating import measured
    from kb.usecases.skill_gains import gains_of
    from kb.views.verdicts import verdict

    with open_kb() as kb:
        skill = kb.skills.find(name)
        about, all_measured, gains = _summaries(kb, [skill])[0], measured(kb, skill), gains_of(kb, skill)
    if code:
        if skill.candidate is None:
            raise SkillError(f"{name} has no kernel", hint=f"`kb skills show {name}` shows its text")
        if as_json:
            print_json({"name": name, "language": skill.language, "code": skill.candidate.source})
        else:
            print(skill.candidate.source, end="")
    elif as_json:
        print_json(skill.model_dump(mode="json") | about | {"gains": gains})
    else:
        show_whole(skill, about, gains, all_measured)
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
    from kb.cli.skills_report import show_selection
    from kb.skillbook.select import Need

    with open_kb() as kb:
        found = kb.skills.select(
            Need(
                words=query,
                target=kb.targets.get(target).name if target else "",
                scope=kb.targets.scope(target) if target else None,
                language=language_named(language).name if language else None,
            )
        )
        summaries = _summaries(kb, [recalled.skill for recalled in found.offered])
        problems = kb.skills.problems(proposals=False)
    _tell(problems)
    if why:
        show_result(found, show_selection, as_json=as_json)
    else:
        _show_skills(summaries, as_json=as_json)
    if not found.offered:
        raise typer.Exit(1)


@app.command("diff")
def diff(
    first: Annotated[str, typer.Argument(metavar="A", help="The name of a skill or a proposal.")],
    second: Annotated[str, typer.Argument(metavar="B", help="The name of another.")],
    as_json: Json = False,
) -> None:
    """Show how two skills differ in text, code and evidence.

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
        list[str] | None, typer.Argument(metavar="[NAME|FOLDER...]", help="Skills or folders (default: all).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Check skills before people and agents read them.

    Looks at form and size, secrets, characters that cannot be seen, phrases that steer agents, licence and links.

    Example: kb skills lint softmax-triton

    Exit status: 0 when there is no error, 1 when there is one; warnings do not count.
    """
    from kb.cli.skills_report import show_findings
    from kb.skillbook.lint import lint

    with open_kb() as kb:
        if names:
            folders = [Path(n) if Path(n).is_dir() else kb.skills.find(n).folder for n in names]
        else:
            held = (*kb.skills.skills(), *kb.skills.proposals())
            folders = [*(skill.folder for skill in held), *(folder for folder, _ in kb.skills.problems())]
    found = {str(folder): lint(folder) for folder in folders if folder}
    show_result(found, show_findings, as_json=as_json)
    if any(finding.severity == "error" for findings in found.values() for finding in findings):
        raise typer.Exit(1)


def _tell(problems: "Sequence[tuple[Path, SkillError]]") -> None:
    """Tell the user which skills kb leaves out because their directories are damaged."""
    for _, error in problems:
        notify(error.message)


def _summaries(kb: "KnowledgeBase", skills: Sequence["Skill"]) -> list[dict[str, Any]]:
    """What each skill is, in JSON; `speedup` is its best win that was measured here."""
    standings = kb.skills.standings(skills)
    return [
        {
            "name": skill.name,
            "kind": skill.kind.value,
            "standing": standings[skill.name].value,
            "target": skill.target,
            "language": skill.language,
            "speedup": best.speedup if not skill.is_prose and (best := kb.skills.measured(skill).best) else None,
            "description": skill.description,
            "digest": skill.candidate.digest if skill.candidate else None,
            "folder": str(skill.folder),
        }
        for skill in skills
    ]


def _show_skills(summaries: list[dict[str, Any]], *, as_json: bool) -> None:
    from kb.cli.skills_report import show_list

    if summaries or as_json:
        show_result(summaries, show_list, as_json=as_json)
    else:
        show("no skills")

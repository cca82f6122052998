"""The commands `kb skills list | show | search`."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kb.cli.output import Json, Target, notify, open_kb, print_json, show, show_result, show_wrapped

if TYPE_CHECKING:
    from kb.model.skill import Skill, SkillStanding

app = typer.Typer(help="Kernels that worked, with their measurements.", no_args_is_help=True, rich_markup_mode=None)


@app.command("list")
def list_skills(target: Target = None, as_json: Json = False) -> None:
    """List the skills.

    Example: kb skills list --target mi300x
    """
    with open_kb() as kb:
        skills = kb.skills.skills(scope=kb.targets.scope(target) if target else None)
        problems, standings = kb.skills.problems(), kb.skills.standings()
    for _, error in problems:
        notify(error.message)
    _show_skills(skills, standings, as_json=as_json)


@app.command("show")
def show_skill(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the skill in `kb skills list`.")],
    code: Annotated[bool, typer.Option("--code", help="Print only the kernel.")] = False,
    as_json: Json = False,
) -> None:
    """Show one skill.

    Example: kb skills show softmax-online --code

    Exit status: 0 when it is shown, 1 when it is unknown or malformed.
    """
    with open_kb() as kb:
        skill = kb.skills.get(name)
        summary = _summary(skill, kb.skills.standing(skill))
    if as_json:
        print_json(skill.model_dump(mode="json") | summary)
    elif code:
        print(skill.candidate.source if skill.candidate else "", end="")
    else:
        for key, value in summary.items():
            show_wrapped(_figure(value) if key == "speedup" else str(value), f"{key + ':':<13}")
        for record in skill.evidence:
            show(f"{'evidence:':<13}{record.id[:12]} {record.target} {record.outcome} {_figure(record.speedup)}")
        show()
        show(skill.body)


@app.command("search")
def search_skills(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="Words that describe the kernel, or an identifier.")],
    target: Target = None,
    language: Annotated[str | None, typer.Option(metavar="LANGUAGE", help="triton, cpp or torch.")] = None,
    as_json: Json = False,
) -> None:
    """Find the skills that fit a kernel, best first.

    Example: kb skills search "row softmax" --target mi300x --language triton

    Exit status: 0 when a skill was found, 1 when there is none for this target and language.
    """
    from eval.languages.registry import language_named

    with open_kb() as kb:
        scope = kb.targets.scope(target) if target else None
        found = kb.skills.search(query, scope=scope, language=language_named(language).name if language else None)
        standings = kb.skills.standings()
    _show_skills(found, standings, as_json=as_json)
    if not found:
        raise typer.Exit(1)


def _summary(skill: "Skill", standing: "SkillStanding") -> dict[str, Any]:
    return {
        "name": skill.name,
        "kind": skill.kind.value,
        "standing": standing.value,
        "target": skill.target,
        "language": skill.language,
        "speedup": skill.best.speedup if skill.best else None,
        "description": skill.description,
        "digest": skill.candidate.digest if skill.candidate else None,
        "folder": str(skill.folder),
    }


def _show_skills(skills: Sequence["Skill"], standings: Mapping[str, "SkillStanding"], *, as_json: bool) -> None:
    from kb.cli.table import show_table

    summaries = [_summary(skill, standings[skill.name]) for skill in skills]
    keys = ("name", "standing", "target", "language")
    rows = [(*(skill[key] or "any" for key in keys), _figure(skill["speedup"])) for skill in summaries]
    if rows or as_json:
        show_result(summaries, lambda _: show_table((*keys, "speed-up"), rows, wrap={0}), as_json=as_json)
    else:
        show("no skills")


def _figure(speedup: float | None) -> str:
    return "-" if speedup is None else f"{speedup:.2f}"

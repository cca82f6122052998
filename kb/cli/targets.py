"""The commands `kb targets list | show | add | alias | move | remove`."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.output import Json, confirm_removal, open_kb, show, show_result

if TYPE_CHECKING:
    from kb.types.target import Dependents, TargetDetails
    from kb.views.targets import KnownTargets

app = typer.Typer(help="The chips and families that kb knows.", no_args_is_help=True, rich_markup_mode=None)

NAMES_SHOWN = 6
"""Most skills or runs to name; --json lists all."""

Name = Annotated[str, typer.Argument(metavar="TARGET", help="A target, by name or alias.")]
Own = Annotated[str, typer.Argument(metavar="TARGET", help="A target that was added to this home.")]


@app.command("list")
def list_targets(as_json: Json = False) -> None:
    """List all targets as a tree.

    Example: kb targets list
    """
    from kb.views.targets import targets

    with open_kb() as kb:
        known = targets(kb)
    show_result(known, _show_tree, as_json=as_json)


def _show_tree(known: "KnownTargets") -> None:
    from kb.cli.table import show_table

    def branch(parent: str | None, depth: int) -> Iterator[tuple[str, ...]]:
        for target in known.targets:
            if target.parent == parent:
                title = target.title if parent else "every target"
                yield "  " * depth + target.name, title, str(target.documents or "")
                yield from branch(target.name, depth + 1)

    show_table(("target", "title", "documents"), list(branch(None, 0)), wrap={1})


@app.command("show")
def show_target(name: Name, as_json: Json = False) -> None:
    """Show one target, its lineage and its documents.

    Example: kb targets show mi300x
    """
    with open_kb() as kb:
        details = kb.target_tree.details(name)
    show_result(details, _show_details, as_json=as_json)


def _show_details(target: "TargetDetails") -> None:
    show(f"{target.name}: {target.title}" if target.title else target.name)
    show(f"lineage:     {' → '.join(target.lineage)}")
    show(f"descendants: {', '.join(target.descendants) or 'none'}")
    show(f"aliases:     {', '.join(target.aliases) or 'none'}")
    show(f"documents:   {', '.join(f'{n} of {t}' for t, n in target.documents.items()) or 'none in scope'}")


@app.command("add")
def add_target(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A lower-case name, such as mi400x.")],
    parent: Annotated[str, typer.Option(metavar="TARGET", help="The family of the target.")] = "any",
    title: Annotated[str, typer.Option(metavar="TEXT", help="The full name of the chip or family.")] = "",
    alias: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Another name (repeatable).")] = None,
) -> None:
    """Add a target to this home.

    Example: kb targets add mi400x --parent cdna --alias mi400
    """
    with open_kb() as kb:
        kb.target_tree.add(name, parent=parent, title=title, aliases=alias or [])
        show(f"added {' → '.join(kb.targets.lineage(name))}")


@app.command("alias")
def alias_target(
    name: Own, aliases: Annotated[list[str], typer.Argument(metavar="NAME...", help="Other names of the target.")]
) -> None:
    """Give a target other names.

    Example: kb targets alias mi400x "instinct mi400"
    """
    with open_kb() as kb:
        kb.target_tree.add_aliases(name, aliases)
        target = kb.targets.get(name)
    show(f"{target.name} is also called {', '.join(target.aliases)}")


@app.command("move")
def move_target(
    name: Own, parent: Annotated[str, typer.Argument(metavar="PARENT", help="The new family, or any.")]
) -> None:
    """Give a target another parent.

    Its documents and descendants follow.

    Example: kb targets move mi400x cdna
    """
    with open_kb() as kb:
        kb.target_tree.move(name, parent)
        show(f"moved {' → '.join(kb.targets.lineage(name))}")


@app.command("remove")
def remove_target(
    name: Own,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Remove without asking.")] = False,
    as_json: Json = False,
) -> None:
    """Remove a target with its documents.

    The facts about it are removed too; the files are not touched. A target with children cannot be removed, nor one
    that ships with kb.

    Example: kb targets remove mi400x --yes

    Exit status: 0 when it is removed, 1 when nothing was removed.
    """
    with open_kb() as kb:
        dependents = kb.target_tree.dependents(name)
        if not (yes or dependents.children):
            print("\n".join(_lost(dependents)), file=sys.stderr)
            confirm_removal(dependents.target)
        removed = kb.target_tree.remove(name)
    show_result(removed, lambda it: show("\n".join([f"removed {it.target}", *_lost(it)])), as_json=as_json)


def _lost(it: "Dependents") -> Iterator[str]:
    lost = {"documents": it.documents, "passages": it.passages, "facts": it.facts, "verdicts": it.verdicts}
    yield f"  lost: {', '.join(f'{kind} {number:,}' for kind, number in lost.items())}"
    for kind, names in (("skills", it.skills), ("runs", it.runs)):
        if names:
            yield f"  kept without a target: {len(names)} {kind}: {', '.join(names[:NAMES_SHOWN])}"

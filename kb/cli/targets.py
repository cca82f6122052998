"""The commands `kb targets list | show | add`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.output import Json, open_kb, print_json, show

if TYPE_CHECKING:
    from kb.model.target import Target

app = typer.Typer(help="The chips and families that kb knows.", no_args_is_help=True, rich_markup_mode=None)


@app.command("list")
def list_targets(as_json: Json = False) -> None:
    """List all targets as a tree.

    Example: kb targets list
    """
    with open_kb() as kb:
        known, counts = list(kb.targets), kb.catalog.count_by_target()
    if as_json:
        print_json([t.model_dump() | {"documents": counts.get(t.name, 0)} for t in known])
        return

    from kb.cli.table import show_table

    def branch(parent: str | None, depth: int) -> Iterator[tuple[str, ...]]:
        for target in known:
            if target.parent == parent:
                yield "  " * depth + target.name, _title(target), str(counts.get(target.name, ""))
                yield from branch(target.name, depth + 1)

    show_table(("target", "title", "documents"), list(branch(None, 0)), wrap={1})


@app.command("show")
def show_target(
    name: Annotated[str, typer.Argument(metavar="TARGET", help="A target, by name or alias.")], as_json: Json = False
) -> None:
    """Show one target, its lineage and its documents.

    Example: kb targets show mi300x
    """
    with open_kb() as kb:
        target = kb.targets.get(name)
        lineage, scope, counts = kb.targets.lineage(name), kb.targets.scope(name), kb.catalog.count_by_target()
    descendants = sorted(scope - set(lineage))
    documents = {t: counts[t] for t in sorted(scope) if t in counts}
    if as_json:
        print_json(target.model_dump() | {"lineage": lineage, "descendants": descendants, "documents": documents})
        return
    show(f"{target.name}: {_title(target)}" if target.title else target.name)
    show(f"lineage:     {' → '.join(lineage)}")
    show(f"descendants: {', '.join(descendants) or 'none'}")
    show(f"aliases:     {', '.join(target.aliases) or 'none'}")
    show(f"documents:   {', '.join(f'{n} of {t}' for t, n in documents.items()) or 'none in scope'}")


def _title(target: "Target") -> str:
    return target.title if target.parent else "every target"


@app.command("add")
def add_target(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A lower-case name, such as mi400x.")],
    parent: Annotated[str, typer.Option(metavar="TARGET", help="The family of the target.")] = "any",
    alias: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Another name (repeatable).")] = None,
) -> None:
    """Add a target to this home.

    Example: kb targets add mi400x --parent cdna --alias mi400
    """
    with open_kb() as kb:
        kb.add_target(name, parent=parent, aliases=alias or [])
        lineage = kb.targets.lineage(name)
    show(f"added {' → '.join(lineage)}")

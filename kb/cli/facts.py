"""`kb facts [show] | conflicts | accept | reject | reopen | diff`."""

from typing import Annotated

import typer
from typer.core import TyperGroup

from kb.cli.output import Json, open_kb, print_json, show
from kb.errors import FactError

TargetName = Annotated[str, typer.Argument(metavar="TARGET", help="A chip or family, by name or alias.")]
FactId = Annotated[str, typer.Argument(metavar="ID", help="The id that `kb facts` shows.")]
Reason = Annotated[str, typer.Option(help="Why; it is kept.")]


class _ShowByDefault(TyperGroup):
    """`kb facts mi300x` is `kb facts show mi300x`."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        named = [arg for arg in args if not arg.startswith("-")]
        return super().parse_args(ctx, ["show", *args] if named and named[0] not in self.commands else args)


app = typer.Typer(
    cls=_ShowByDefault,
    help="The hardware facts that documents state. `kb facts mi300x` is short for `kb facts show mi300x`.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("show")
def show_target(
    target: TargetName,
    quantity: Annotated[
        str | None, typer.Argument(metavar="QUANTITY", help="By kb's name or a vendor's: lds_size, LDS.")
    ] = None,
    dtype: Annotated[str | None, typer.Option(metavar="TYPE", help="Only for this data type: float16.")] = None,
    dense: Annotated[bool | None, typer.Option("--dense/--sparse", help="Only rates of that kind.")] = None,
    per: Annotated[str | None, typer.Option(metavar="PART", help="Only per this: device, die, 'compute unit'.")] = None,
    unit: Annotated[
        str | None, typer.Option(metavar="UNIT", help="In this unit in place of the documents': GB/s.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Also what does not hold, and why.")] = False,
    as_json: Json = False,
) -> None:
    """Show what holds of a target.

    What is not stated is refused, never guessed; a sibling's value is never shown; an inherited one says of which
    ancestor it is.

    Example: kb facts show h200 peak_flops --dtype float16 --dense

    Exit status: 0 when something is known, 1 when it is not.
    """
    wanted = [dtype, None if dense is None else "dense" if dense else "sparse", per and f"per {per}"]
    phrases = [phrase for phrase in wanted if phrase]
    if quantity is None and (phrases or unit):
        raise FactError("a condition or a unit is of one quantity", hint="name the quantity: kb facts h200 peak_flops")
    if everything and (phrases or unit):
        raise FactError(
            "--all shows every condition, in the units of the documents", hint="leave the other options out"
        )
    from kb.cli.facts_table import show_facts, show_standings

    with open_kb() as kb:
        own = kb.targets.get(target).name
        standings = kb.standings(target, quantity) if everything else []
        facts = [] if everything else kb.facts(target, quantity, *phrases, unit=unit)
    if as_json:
        print_json(standings or facts)
    elif everything:
        show_standings(standings, own=own)
    else:
        show_facts(facts, own=own)


@app.command()
def conflicts(
    target: Annotated[str | None, typer.Argument(metavar="[TARGET]", help="Of it alone; of all when left out.")] = None,
    as_json: Json = False,
) -> None:
    """Show where documents contradict each other.

    Open conflicts first: neither value belongs to the profile until one is accepted or rejected. Then those that a
    rule settles, with the rule.

    Example: kb facts conflicts mi355x
    """
    with open_kb() as kb:
        found = kb.conflicts(target)
    if as_json:
        print_json(found)
    else:
        from kb.cli.facts_table import show_conflicts

        show_conflicts(found)


@app.command()
def accept(key: FactId, reason: Reason = "") -> None:
    """Let a fact hold, whatever others say.

    Example: kb facts accept aa1ca5474da1 --reason "measured it"
    """
    _decide(key, "accepted", reason)


@app.command()
def reject(key: FactId, reason: Reason = "") -> None:
    """Keep a fact out of the profile.

    Example: kb facts reject aa1ca5474da1 --reason "of the sparse rate"
    """
    _decide(key, "rejected", reason)


@app.command()
def reopen(key: FactId) -> None:
    """Take back what was decided about a fact.

    Example: kb facts reopen aa1ca5474da1
    """
    _decide(key, None, "")


def _decide(key: str, verdict: str | None, reason: str) -> None:
    from kb.cli.facts_table import amount
    from kb.facts.profile import Verdict

    with open_kb() as kb:
        fact = kb.factbook.decide(key, Verdict(verdict) if verdict else None, reason=reason)
    show(f"{verdict or 'open again'}: {fact.target} {fact.quantity} = {amount(fact)} {fact.citation}")


@app.command()
def propose(
    document: Annotated[str, typer.Argument(metavar="DOCUMENT", help="Its path, or the end of it.")],
    as_json: Json = False,
) -> None:
    """Have a model read a document for more facts.

    The model that the settings name only points: a fact is stored when the quoted words stand in the document and hold
    the number. Like a sentence, it holds once a table says the same or you accept it.

    Example: kb facts propose mi300.md
    """
    with open_kb() as kb:
        found = kb.propose_facts(document)
    if as_json:
        print_json(found)
    else:
        from kb.cli.facts_table import amount

        for fact in found:
            show(f"{fact.target} {fact.quantity} = {amount(fact)} {fact.condition}  {fact.citation}")
        show(f"{len(found)} facts proposed")


@app.command()
def diff(first: TargetName, second: TargetName, as_json: Json = False) -> None:
    """Show what differs between two targets.

    Example: kb facts diff mi300x mi355x
    """
    with open_kb() as kb:
        names = [kb.targets.get(target).name for target in (first, second)]
        found = kb.differences(*names)
    if as_json:
        print_json(found)
    else:
        from kb.cli.facts_table import show_differences

        show_differences(found, names)

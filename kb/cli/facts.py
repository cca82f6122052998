"""The commands `kb facts [show] | conflicts | accept | reject | reopen | diff`, and those of kb.cli.worksheet."""

from typing import Annotated

import typer
from typer.core import TyperGroup

from kb.cli import worksheet
from kb.cli.output import Json, TargetName, open_kb, show, show_result
from kb.errors import FactError

FactId = Annotated[str, typer.Argument(metavar="ID", help="The id that `kb facts` shows.")]
Reason = Annotated[str, typer.Option(help="The reason; it is stored with the decision.")]


class _ShowByDefault(TyperGroup):
    """`kb facts mi300x` is `kb facts show mi300x`."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        named = [arg for arg in args if not arg.startswith("-")]
        return super().parse_args(ctx, ["show", *args] if named and named[0] not in self.commands else args)


app = typer.Typer(
    cls=_ShowByDefault,
    help="Hardware facts from the documents. `kb facts mi300x` is short for `kb facts show mi300x`.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
worksheet.add_to(app)


@app.command("show")
def show_target(
    target: TargetName,
    quantity: Annotated[
        str | None, typer.Argument(metavar="QUANTITY", help="kb's or the vendor's name: lds_size, LDS.")
    ] = None,
    dtype: Annotated[str | None, typer.Option(metavar="TYPE", help="Limit to this data type: float16.")] = None,
    dense: Annotated[bool | None, typer.Option("--dense/--sparse", help="Limit to dense or to sparse rates.")] = None,
    per: Annotated[
        str | None, typer.Option(metavar="PART", help="Limit to values per device, die, 'compute unit' ...")
    ] = None,
    unit: Annotated[str | None, typer.Option(metavar="UNIT", help="Convert the values to this unit: GB/s.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Also show facts that do not hold, and why.")] = False,
    as_json: Json = False,
) -> None:
    """Show the facts that hold for a target.

    kb never guesses a value and never shows a sibling's. An inherited value names the ancestor it comes from. If no
    fact holds yet, the worksheet is shown: what was read, and what to ask.

    Example: kb facts show h200 peak_flops --dtype float16 --dense

    Exit status: 0 when a fact is found, 1 when none is.
    """
    from kb.cli.facts_table import show_facts, show_standings, show_worksheet

    wanted = [dtype, None if dense is None else "dense" if dense else "sparse", per and f"per {per}"]
    phrases = [phrase for phrase in wanted if phrase]
    if quantity is None and (phrases or unit):
        raise FactError("a condition or a unit needs a quantity", hint="name the quantity: kb facts h200 peak_flops")
    if everything and (phrases or unit):
        raise FactError("--all shows all conditions, in the documents' units", hint="leave the other options out")
    with open_kb() as kb:
        own = kb.targets.get(target).name
        if everything:
            standings = kb.standings(target, quantity)
            show_result(standings, lambda found: show_standings(found, own=own), as_json=as_json)
        else:
            try:
                facts = kb.facts(target, quantity, *phrases, unit=unit)
            except FactError:
                if quantity or own not in kb.catalog.count_by_target():
                    raise
                show_result(kb.worksheet(target), lambda found: show_worksheet(found, own=own), as_json=as_json)
                raise typer.Exit(1) from None
            unsure = len(kb.factbook.unconfirmed(target, quantity))
            show_result(facts, lambda found: show_facts(found, own=own, unconfirmed=unsure), as_json=as_json)


@app.command()
def conflicts(
    target: Annotated[
        str | None, typer.Argument(metavar="[TARGET]", help="Limit to this target (default: all).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show where documents contradict each other.

    Open conflicts come first: neither value holds until you accept or reject one. Conflicts that a rule settles
    follow, with the rule.

    Example: kb facts conflicts mi355x
    """
    from kb.cli.facts_table import show_conflicts

    with open_kb() as kb:
        found = kb.conflicts(target)
    show_result(found, show_conflicts, as_json=as_json)


@app.command()
def accept(
    key: Annotated[
        str, typer.Argument(metavar="ID|TARGET", help="The id that `kb facts` shows; with --all, a target.")
    ],
    reason: Reason = "",
    condition: Annotated[
        str, typer.Option(help="What tells this value from another accepted one, such as 'per cluster'.")
    ] = "",
    everything: Annotated[
        bool, typer.Option("--all", help="Accept all that readers answered about the target, and nothing contradicts.")
    ] = False,
) -> None:
    """Let a fact hold, whatever other documents say.

    Example: kb facts accept aa1ca5474da1 --reason "measured it"
    """
    if not everything:
        _decide(key, "accepted", reason, condition)
        return
    with open_kb() as kb:
        accepted = kb.factbook.accept_answers(key, reason=reason)
    show(f"accepted: {len(accepted)} facts of {key}")


@app.command()
def reject(key: FactId, reason: Reason = "") -> None:
    """Keep a fact out of the target's profile.

    Example: kb facts reject aa1ca5474da1 --reason "this is the sparse rate"
    """
    _decide(key, "rejected", reason)


@app.command()
def reopen(key: FactId) -> None:
    """Withdraw the decision about a fact.

    Example: kb facts reopen aa1ca5474da1
    """
    _decide(key, None, "")


def _decide(key: str, verdict: str | None, reason: str, condition: str = "") -> None:
    from kb.cli.facts_table import amount
    from kb.facts.resolution import FactDecision

    with open_kb() as kb:
        fact = kb.factbook.decide(key, FactDecision(verdict) if verdict else None, reason=reason, condition=condition)
    show(f"{verdict or 'open again'}: {fact.target} {fact.quantity} = {amount(fact)} {fact.citation}")


@app.command()
def diff(first: TargetName, second: TargetName, as_json: Json = False) -> None:
    """Show the facts that differ between two targets.

    Example: kb facts diff mi300x mi355x
    """
    from kb.cli.facts_table import show_differences

    with open_kb() as kb:
        names = [kb.targets.get(target).name for target in (first, second)]
        found = kb.differences(*names)
    show_result(found, lambda it: show_differences(it, names), as_json=as_json)

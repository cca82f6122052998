"""How facts look in a terminal."""

from collections.abc import Iterable, Sequence

from kb.facts.book import Conflict, Difference
from kb.facts.profile import FactStanding, StandingFact
from kb.model.fact import Fact

SHOWN_UNSURE = 3
"""Of the statements that nothing confirms, how many stand beside those that a conflict is about."""


def show_facts(facts: Sequence[Fact], *, own: str) -> None:
    """`own`: the target asked for; a column names those of which the others are inherited."""
    columns: dict[str, list[str]] = {
        "quantity": [fact.quantity for fact in facts],
        "value": [fact.value for fact in facts],
        "unit": [fact.unit for fact in facts],
        "condition": [fact.condition for fact in facts],
        "class": [fact.trust for fact in facts],
        "inherited from": [_not(own, fact) for fact in facts] if any(fact.target != own for fact in facts) else [],
        "id": [fact.citation.id for fact in facts],
    }
    shown = {name: cells for name, cells in columns.items() if cells}
    _table(tuple(shown), zip(*shown.values(), strict=True))
    for source in dict.fromkeys(fact.citation.path for fact in facts):
        _line(f"stated in {source}")
    _line("`kb cite ID` opens the place, `--json` has each source")


def show_standings(standings: Sequence[StandingFact], *, own: str) -> None:
    """Each quantity with all that is said of it, also of the ancestors of `own`, and how it stands."""
    by_quantity: dict[str, list[StandingFact]] = {}
    for standing in standings:
        by_quantity.setdefault(standing.fact.quantity, []).append(standing)
    for quantity, sides in by_quantity.items():
        _line(quantity)
        _show_sides(sides, own=own)


def show_conflicts(found: Sequence[Conflict]) -> None:
    """Each with what is said, and how it stands."""
    for conflict in found:
        _line(f"{conflict.target} {conflict.quantity}: {_state(conflict)}")
        unsure = [side for side in conflict.sides if side.standing is FactStanding.UNCONFIRMED]
        _show_sides([side for side in conflict.sides if side not in unsure], own=conflict.target)
        if more := _show_sides(unsure, own=conflict.target, at_most=SHOWN_UNSURE):
            _line(f"  {more} more not confirmed: `kb facts {conflict.target} {conflict.quantity} --all`")
    _line("")
    count = sum(conflict.is_open for conflict in found)
    _line(f"{count} open, {len(found) - count} settled by a rule or not confirmed by a table")
    if count:
        _line(
            "`kb facts accept ID` lets one hold, `kb facts reject ID` keeps one out, `kb facts reopen ID` takes it back"
        )


def _state(conflict: Conflict) -> str:
    if conflict.is_open:
        return "open"
    return "settled" if any(side.standing is FactStanding.HOLDS for side in conflict.sides) else "not confirmed"


def _show_sides(sides: Sequence[StandingFact], *, own: str, at_most: int | None = None) -> int:
    """What several documents say stands once, with the first of them. Returns how many statements were left out."""
    said: dict[tuple[str, str, str], list[Fact]] = {}
    for side in sides:
        said.setdefault((_said(side.fact), _standing(side), _not(own, side.fact)), []).append(side.fact)
    shown = list(said.items())[:at_most]
    for (words, standing, of), facts in shown:
        about = "; ".join(filter(None, (standing, facts[0].trust, of and f"of {of}")))
        others = f" and {len(facts) - 1} more" if len(facts) > 1 else ""
        _line(f"  {words}  [{about}]")
        _line(f"    {facts[0].citation.id}  {facts[0].citation.place}{others}")
    return len(said) - len(shown)


def show_differences(found: Sequence[Difference], names: Sequence[str]) -> None:
    _table(
        ("quantity", "condition", *names),
        [(d.quantity, d.condition, _values(d.first), _values(d.second)) for d in found],
    )


def _values(facts: Sequence[Fact]) -> str:
    return ", ".join(dict.fromkeys(f"{fact.value} {fact.unit}" for fact in facts)) or "-"


def _said(fact: Fact) -> str:
    return " ".join(part for part in (fact.value, fact.unit, f"({fact.condition})" if fact.condition else "") if part)


def _standing(standing: StandingFact) -> str:
    return f"{standing.standing}: {standing.why}" if standing.why else standing.standing


def _not(own: str, fact: Fact) -> str:
    return "" if fact.target == own else fact.target


def _table(names: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in names:
        table.add_column(name, overflow="fold", no_wrap=name in ("quantity", "id"))
    for row in rows:
        table.add_row(*row)
    Console(markup=False, highlight=False).print(table)
    _line("")


def _line(text: str) -> None:
    from kb.cli.output import show

    show(text)

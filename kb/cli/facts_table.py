"""How facts look in a terminal."""

from collections.abc import Sequence

from kb.model import Fact


def show_facts(facts: Sequence[Fact], *, own: str) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in ("quantity", "value", "unit", "condition", "id"):
        table.add_column(name, overflow="fold", no_wrap=name == "id")
    if any(f.target != own for f in facts):
        table.add_column("inherited from")
    for fact in facts:
        inherited = [fact.target if fact.target != own else ""] if len(table.columns) > 5 else []
        table.add_row(fact.quantity, fact.value, fact.unit, fact.condition, fact.citation.id, *inherited)
    console = Console(markup=False, highlight=False)
    console.print(table)
    console.print()
    for source in dict.fromkeys(f.citation.path for f in facts):
        console.print(f"stated in {source}; `kb cite ID` opens the row, `--json` has each source")

"""Shows facts, their standings, conflicts and differences in a terminal."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from kb.cli.output import show, show_wrapped
from kb.cli.table import Rows, show_table
from kb.facts.book import Conflict, Difference
from kb.facts.quantities import NAME, SHAPE
from kb.facts.resolution import FactStanding, StandingFact
from kb.facts.worksheet import Entry, line_of, topics
from kb.types.fact import Fact
from kb.types.records import Trust

SHOWN_READ = 4
"""Most facts to be confirmed to show for each question."""
SHOWN_UNSURE = 3
"""Most unconfirmed statements to show for each conflict."""


def amount(fact: Fact) -> str:
    """The value with its unit; counts and shapes have no unit."""
    return fact.value if fact.unit in ("", "1", SHAPE, NAME) else f"{fact.value} {fact.unit}"


def show_facts(facts: Sequence[Fact], *, own: str, unconfirmed: int) -> None:
    """Show the facts that hold for the target `own`, including inherited ones, and how many are not confirmed."""
    rows = [(f.quantity, amount(f), _marked(f.condition, f, own), f.citation.id) for f in facts]
    show_table(("quantity", "value", "condition", "id"), _grouped(rows), wrap={2})
    show()
    for ancestor in dict.fromkeys(fact.target for fact in facts if fact.target != own):
        show(f"[{ancestor}]: inherited from {ancestor}")
    for source in dict.fromkeys(fact.citation.path for fact in facts):
        show(f"stated in {source}")
    if unconfirmed:
        show(f"{unconfirmed} more read, unconfirmed: --all shows them")
    show("`kb cite ID` opens the cited place, `--json` shows each source")


def show_stored(facts: Sequence[Fact]) -> None:
    """Show facts one a line, each with its place."""
    for fact in facts:
        show(f"{fact.target} {fact.quantity} = {amount(fact)} {fact.condition}  {fact.citation}")


def show_worksheet(entries: Sequence[Entry], *, own: str) -> None:
    """Show each question with the facts that hold and those to be confirmed, or the words to ask with."""
    for entry in entries:
        show_wrapped(f"{entry.line.topic}: {entry.line.asks}")
        for fact in entry.holds:
            show_wrapped(f"holds  {_stated(fact, own)}", "  ")
        for fact in entry.read[:SHOWN_READ]:
            show_wrapped(f'read   {_stated(fact, own)}: "{" ".join(fact.quote.split())}"', "  ")
        if (more := len(entry.read) - SHOWN_READ) > 0:
            show(f"  read   {more} more")
        if not (entry.holds or entry.read):
            show_wrapped(f"open, ask with: {'; '.join(entry.line.phrasings[1:])}", "  ")
    held, read = (sum(len(getattr(entry, kind)) for entry in entries) for kind in ("holds", "read"))
    still = sum(not (entry.holds or entry.read) for entry in entries)
    show(f"\n{held} facts hold, {read} were read and have to be confirmed, {still} questions are open")
    show_wrapped(
        f"`kb facts ask {own}` prints the open questions with passages for a reader; `kb facts review {own}` confirms"
    )


def _stated(fact: Fact, own: str) -> str:
    condition = _marked(fact.condition, fact, own)
    return f"{fact.quantity} = {amount(fact)}{f', {condition}' if condition else ''} ({fact.citation.id})"


def show_standings(standings: Sequence[StandingFact], *, own: str) -> None:
    """Show every statement about `own` and its ancestors, by quantity, with its standing."""
    ordered = sorted(standings, key=lambda standing: _place(standing.fact.quantity))
    by_quantity = groupby(ordered, key=lambda standing: standing.fact.quantity)
    _show_sides({quantity: _sides(list(sides), own=own) for quantity, sides in by_quantity})


def show_conflicts(found: Sequence[Conflict]) -> None:
    """Show the statements of each conflict with their standings, and how many are open."""
    show_statements(found)
    show()
    count = sum(conflict.is_open for conflict in found)
    show(f"{count} open, {len(found) - count} settled by a rule or not confirmed by a table")
    if count:
        show_wrapped("decide with `kb facts accept ID` or `kb facts reject ID`; `kb facts reopen ID` undoes a decision")


def show_statements(found: Sequence[Conflict]) -> None:
    """Show the statements of each conflict with their standings."""
    groups: dict[str, Rows] = {}
    for conflict in found:
        unsure = [side for side in conflict.sides if side.standing is FactStanding.UNCONFIRMED]
        doubtful = _sides(unsure, own=conflict.target)
        heading = f"{conflict.target} {conflict.quantity}: {_state(conflict)}"
        if (more := len(doubtful) - SHOWN_UNSURE) > 0:
            heading += f" ({more} more unconfirmed: `kb facts {conflict.target} {conflict.quantity} --all`)"
        sure = _sides([side for side in conflict.sides if side not in unsure], own=conflict.target)
        groups[heading] = [*sure, *doubtful[:SHOWN_UNSURE]]
    _show_sides(groups)


def _state(conflict: Conflict) -> str:
    if conflict.is_open:
        return "open"
    return "settled" if any(side.standing is FactStanding.HOLDS for side in conflict.sides) else "not confirmed"


def _show_sides(groups: Mapping[str, Rows]) -> None:
    """Show rows of `_sides`; `+2` after a place means that two more documents state the same."""
    show_table(("value", "condition", "standing", "id", "stated in"), groups, wrap={1, 2}, cut_front={4})


def _sides(sides: Iterable[StandingFact], *, own: str) -> list[tuple[str, ...]]:
    """Rows of equal statements; each row shows the first document and how many more there are."""
    said: dict[tuple[str, str, str], list[Fact]] = {}
    for side in sides:
        fact = side.fact
        standing = f"{side.standing}: {side.why}" if side.why else side.standing.value
        said.setdefault((amount(fact), fact.condition, _marked(standing, fact, own)), []).append(fact)
    return [
        (*words, facts[0].citation.id, facts[0].citation.place + f" +{len(facts) - 1}" * (len(facts) > 1))
        for words, facts in said.items()
    ]


def show_differences(found: Sequence[Difference], names: Sequence[str]) -> None:
    rows = [(d.quantity, d.condition, _values(d.first), _values(d.second)) for d in found]
    show_table(("quantity", "condition", *names), _grouped(rows), wrap={1, 2, 3})


def _values(facts: Sequence[Fact]) -> str:
    return ", ".join(dict.fromkeys(map(amount, facts))) or "-"


def _grouped(rows: Sequence[tuple[str, ...]]) -> Rows | Mapping[str, Rows]:
    """Rows that begin with a quantity, under the topics of the worksheet if there are several."""
    ordered = sorted(rows, key=lambda row: _place(row[0]))
    groups = {topic: list(of) for topic, of in groupby(ordered, key=lambda row: line_of(row[0]).topic)}
    return groups if len(groups) > 1 else ordered


def _place(quantity: str) -> tuple[int, str]:
    return topics().index(line_of(quantity).topic), quantity


def _marked(text: str, fact: Fact, own: str) -> str:
    """`text`, with the fact's target if it is not `own` and its trust if it is not the vendor's."""
    marks = [fact.target] * (fact.target != own) + [fact.trust.value] * (fact.trust is not Trust.VENDOR)
    return " ".join(filter(None, (text, f"[{', '.join(marks)}]" if marks else "")))

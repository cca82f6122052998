"""Writes the worksheet of a target as a fact table, for a person to edit and ingest."""

from collections.abc import Iterator, Sequence

from kb.facts.worksheet import Entry
from kb.types.fact import Fact

HEADER = "| quantity | value | unit | condition | source |"


def draft(entries: Sequence[Entry], *, target: str) -> str:
    """Markdown with a fact table for each line of the worksheet.

    The rows are the facts to be confirmed, each with its place and quote; a question without facts gets an empty table.
    """
    return "\n".join(_lines(entries, target)) + "\n"


def _lines(entries: Sequence[Entry], target: str) -> Iterator[str]:
    yield from ("---", f"title: Facts of {target}, read and to be confirmed", f"facts: {target}", "---", "")
    yield f"# Facts of {target}"
    yield from ("", "Correct the rows, delete the wrong ones and add those that are missing. Keep the tables' headers.")
    yield f"Then `kb ingest FILE --target {target}` makes every row hold."
    for entry in entries:
        yield from ("", f"## {entry.line.asks}", "")
        if entry.holds:
            yield from (f"Known already: {', '.join(map(_said, entry.holds))}.", "")
        yield from (HEADER, "|" + "---|" * HEADER.count(" | ") + "---|")
        yield from (_row(fact) for fact in dict.fromkeys(entry.read))


def _said(fact: Fact) -> str:
    condition = f" ({fact.condition})" if fact.condition else ""
    return f"{fact.quantity} = {fact.value} {fact.unit}{condition}"


def _row(fact: Fact) -> str:
    quote = " ".join(fact.quote.replace("|", " ").split())
    cells = (fact.quantity, fact.value, fact.unit, fact.condition, f'{fact.citation.place}: "{quote}"')
    return f"| {' | '.join(cell.replace('|', ' ') for cell in cells)} |"

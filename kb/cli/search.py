"""The commands `kb search | context | symbol | cite`."""

import re
import textwrap
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.output import (
    Json,
    Target,
    named,
    open_kb,
    screen_width,
    show,
    show_notes,
    show_result,
    show_text,
    show_wrapped,
)

if TYPE_CHECKING:
    from kb.types.passages import SearchFilter
    from kb.views.documents import CitedText
    from kb.views.hits import Answer, FoundPassage, FoundPassages, PackedContext
    from kb.views.symbols import NamedPlaces

Query = Annotated[str, typer.Argument(metavar="QUERY", help="A question, keywords or an identifier.")]
Also = Annotated[
    list[str] | None,
    typer.Option("--also", metavar="PHRASING", help="The same question in other words, searched with it (repeatable)."),
]
Compare = Annotated[
    bool, typer.Option("--compare", help="Also search the target's siblings; each hit names its target.")
]
Within = Annotated[
    list[str] | None, typer.Option("--in", metavar="PATH", help="Search only this document or folder (repeatable).")
]
Numbers = Annotated[bool, typer.Option("--numbers", help="Search only tables and passages that state an amount.")]
Seen = Annotated[
    list[str] | None, typer.Option("--seen", metavar="ID,...", help="Leave out these passages (repeatable).")
]
Budget = Annotated[int | None, typer.Option(min=1, metavar="TOKENS", help="Most tokens to show (4 characters each).")]

PLACES, LINES_AROUND = 15, 3
INDENT = "   "
IDS_SHOWN = 5
LEAST_TITLE = 20
"""Fewest columns for the title of a hit in one line."""


def search(
    query: Query,
    also: Also = None,
    target: Target = None,
    compare: Compare = False,
    within: Within = None,
    numbers: Numbers = False,
    seen: Seen = None,
    budget: Budget = None,
    why: Annotated[bool, typer.Option("--why", help="Show how each hit was scored.")] = False,
    as_json: Json = False,
) -> None:
    """Find the passages that answer a question.

    Example: kb search "LDS size per compute unit" --target mi300x

    Exit status: 0 when a passage was found, 1 when the documents in scope do not answer.
    """
    from kb.views.hits import found_passages
    from kb.views.response import fitted

    with open_kb() as kb:
        asked, only = [query, *(also or ())], _only(within, numbers, seen)
        found = found_passages(kb.search(asked, target=target, compare=compare, only=only), why=why)
    if budget is not None:
        found = fitted(found, budget, "a larger --budget shows what was left out")
    show_result(found, _show_hits, as_json=as_json, failed=not found.passages)


def context(
    query: Query,
    also: Also = None,
    target: Target = None,
    compare: Compare = False,
    within: Within = None,
    numbers: Numbers = False,
    seen: Seen = None,
    budget: Budget = None,
    page: Annotated[int, typer.Option(min=1, max=20, metavar="N", help="Go on where the page before stopped.")] = 1,
    paths: Annotated[bool, typer.Option("--paths", help="Cite paths and lines, not ids.")] = False,
    whole: Annotated[bool, typer.Option("--whole", help="Whole passages, as many as fit the budget.")] = False,
    as_json: Json = False,
) -> None:
    """Show the lines that answer a question, for a prompt.

    Shows the likeliest lines, each passage's below its id for `kb cite`, and stops: --page 2 shows twice as many of the
    next. --whole packs whole passages instead, up to --budget tokens, which may also stand alone.

    Example: kb context "avoid LDS bank conflicts" --target mi300x --budget 2000

    Exit status: 0 when a passage was found, 1 when the documents in scope do not answer.
    """
    from kb.views.hits import answer, packed_context

    with open_kb() as kb:
        asked, only = [query, *(also or ())], _only(within, numbers, seen)
        if whole or budget is not None:
            if page > 1 or paths:
                raise typer.BadParameter("--page and --paths show lines: leave out --whole and --budget")
            packed = packed_context(kb.context(asked, target=target, compare=compare, only=only, budget_tokens=budget))
            show_result(packed, _show_context, as_json=as_json, failed=not (packed.text or packed.left_out))
        else:
            hits = kb.answers(asked, target=target, compare=compare, only=only, page=page)
            found = answer(hits, target=target and kb.targets.name_of(target), paths=paths)
            show_result(found, partial(_show_answer, page=page), as_json=as_json, failed=not found.text)


def symbol(
    name: Annotated[str, typer.Argument(metavar="NAME", help="An identifier as code writes it: nl.load, vadd.vv.")],
    target: Target = None,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Most places to show.")] = PLACES,
    as_json: Json = False,
) -> None:
    """Show where an identifier is defined and used.

    Each line has the kind of place, the id for `kb cite`, the place, the version or date that the document states, and
    the text. Definitions come first, and newer documents before older ones. Notes say where documents disagree.

    Example: kb symbol v_mfma_f32_32x32x8_f16 --target mi300x

    Exit status: 0 when a document has the name, 1 when none has it (the hint gives similar names).
    """
    from kb.views.symbols import named_places

    with open_kb() as kb:
        places = named_places(kb.symbol(name, target=target, limit=limit))
    show_result(places, _show_places, as_json=as_json)


def _only(within: list[str] | None, numbers: bool, seen: list[str] | None) -> "SearchFilter | None":
    from kb.types.passages import SearchFilter

    ids = frozenset(re.findall(r"\w+", " ".join(seen or ())))
    only = SearchFilter(within=tuple(within or ()), numbers=numbers, seen=ids)
    return None if only == SearchFilter() else only


def cite(
    citation_id: Annotated[str, typer.Argument(metavar="ID", help="As search, context and facts show, or PATH:LINE.")],
    around: Annotated[
        int, typer.Option(min=0, metavar="N", help="Lines to add before and after the cited ones.")
    ] = LINES_AROUND,
    as_json: Json = False,
) -> None:
    """Show the place that a citation refers to.

    Shows the file and its lines as they were when ingested. `ID.N` shows the Nth cell of a table row.

    Example: kb cite aefeba3145ed

    Exit status: 0 when the citation holds, 1 when the id is unknown or the stored text was altered.
    """
    from kb.views import documents

    with open_kb() as kb:
        cited = documents.cited(kb, citation_id, around=around)
    show_result(cited, _show_cited, as_json=as_json)


def _show_hits(found: "FoundPassages") -> None:
    show_notes(found, label=found.status)
    for rank, passage in enumerate(found.passages, 1):
        _show_hit(rank, passage)
    if found.left_out:
        show_wrapped(f"left out: {', '.join(found.left_out)}")


def _show_hit(rank: int, passage: "FoundPassage") -> None:
    """The passage with its excerpt and a blank line, or without them in one line."""
    label = f" [{', '.join(passage.marks)}]"
    place = f"{INDENT}{passage.id}  {passage.place}"
    room = (screen_width() or 0) - len(label) - (0 if passage.text else len(place))
    title = f"{rank} {passage.title}"
    if screen_width() and (passage.text or room >= LEAST_TITLE):
        title = textwrap.shorten(title, room, placeholder=" ...")
    if passage.text or (screen_width() and room < LEAST_TITLE):
        show(title + label)
        for line in passage.text.splitlines():
            show_wrapped(line, INDENT)
        show(place)
    else:
        show(title + label + place)
    if passage.also_in:
        show_wrapped(f"also in {', '.join(passage.also_in)}", INDENT)
    if passage.why:
        show(INDENT + passage.why)
    if passage.text:
        show()


def _show_context(context: "PackedContext") -> None:
    show_notes(context, label=context.status)
    if not context.text and not context.left_out:
        return
    left_out = "nothing relevant was left out"
    if context.left_out:
        first = ", ".join(named(context.left_out, IDS_SHOWN))
        left_out = f"{len(context.left_out)} relevant passages did not fit: {first}"
    less = f"{context.less_relevant} passages found are far less relevant"
    if context.text:
        show_text(f"{context.text}\n")
    show_wrapped(f"({context.tokens} of {context.budget_tokens} tokens; {left_out}; {less})")


def _show_answer(found: "Answer", *, page: int) -> None:
    show_notes(found, label=found.status)
    if found.text:
        show_text(f"{found.text}\n(more: --page {page + 1})")


def _show_places(found: "NamedPlaces") -> None:
    show_notes(found)
    for place in found.places:
        marks = ", ".join(filter(None, (place.edition, "" if place.trust == "vendor" else place.trust)))
        marks = f" ({marks})" if marks else ""
        show_wrapped(f"{place.kind:<10} {place.id}  {place.place}{marks}: {place.text}")
    left = {kind: count - sum(place.kind == kind for place in found.places) for kind, count in found.found.items()}
    if any(left.values()):
        show(", ".join(f"+{n} {kind}s ({found.found[kind]} in all)" for kind, n in left.items() if n))


def _show_cited(cited: "CitedText") -> None:
    show(cited.citation)
    show(cited.file)
    if cited.stated:
        show_wrapped(cited.stated)
    show_notes(cited)
    show()
    show(cited.text)

"""Shows search hits and packed context in a terminal."""

import textwrap
from collections.abc import Sequence

from kb.cli.output import screen_width, show, show_text, show_wrapped
from kb.types.passages import Context, Hit, SearchResult, Status

INDENT = "   "
IDS_SHOWN = 5
LEAST_TITLE = 20
"""Fewest columns for the title of a hit in one line."""


def show_hits(result: SearchResult, *, why: bool) -> None:
    _show_notes(result.status, result.notes)
    for rank, hit in enumerate(result.hits, 1):
        _show_hit(rank, hit, why=why)


def show_context(context: Context) -> None:
    _show_notes(context.status, context.notes)
    if context.passages:
        show_text(context.text)
        show()
        show_wrapped(f"({context.tokens} of {context.budget_tokens} tokens; {_left_out(context)})")


def _left_out(context: Context) -> str:
    """Why a context ends where it does."""
    less = f"{context.less_relevant} passages found are far less relevant"
    if not context.left_out:
        return f"nothing relevant was left out; {less}"
    ids = ", ".join(citation.id for citation in context.left_out[:IDS_SHOWN])
    more = ", ..." if len(context.left_out) > IDS_SHOWN else ""
    return f"{len(context.left_out)} relevant passages did not fit: {ids}{more}; {less}"


def _show_notes(status: Status, notes: Sequence[str]) -> None:
    for note in notes:
        show_wrapped(f"{'note' if status is Status.OK else status}: {note}")


def _show_hit(rank: int, hit: Hit, *, why: bool) -> None:
    """The hit with its excerpt and a blank line, or without them in one line."""
    passage = hit.passage
    label = f" [{', '.join((passage.target, *passage.marks))}]"
    place = f"{INDENT}{passage.citation.id}  {passage.citation.place}"
    room = (screen_width() or 0) - len(label) - (0 if hit.excerpt else len(place))
    title = f"{rank} {passage.trail}"
    if screen_width() and (hit.excerpt or room >= LEAST_TITLE):
        title = textwrap.shorten(title, room, placeholder=" ...")
    if hit.excerpt or (screen_width() and room < LEAST_TITLE):
        show(title + label)
        for line in hit.excerpt:
            show_wrapped(line, INDENT)
        show(place)
    else:
        show(title + label + place)
    if hit.also_in:
        show_wrapped(f"also in {', '.join(c.place for c in hit.also_in)}", INDENT)
    if why:
        parts = (("lexical", hit.why.lexical), ("dense", hit.why.dense))
        scores = [f"{name} {z:+.2f}" for name, z in parts if z is not None]
        scores += [f"states {', '.join(hit.why.states)}"] if hit.why.states else []
        show(f"{INDENT}score {hit.score:+.3f} ({', '.join(scores)}; found by {hit.why.phrasings} phrasing(s))")
    if hit.excerpt:
        show()
